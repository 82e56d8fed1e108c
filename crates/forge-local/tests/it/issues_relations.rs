//! Parents, sub-issues and dependencies of issues.

use forge_core::{
    Issues, RepoId,
    model::{
        EditIssue, Issue, IssueFields, IssueId, IssueRelations, IssueSet, IssueState, NewIssue,
        RelatedIssue, SetChange, SetIssueState,
    },
};
use forge_local::Local;

use crate::{
    issues::{id, open},
    repo::Repo,
};

const RELATIONS: IssueFields = IssueFields::RELATIONS;

fn parent(id: Option<IssueId>) -> EditIssue {
    let mut edit = EditIssue::default();
    edit.parent = Some(id);
    edit
}

fn blocked_by(add: Vec<IssueId>, remove: Vec<IssueId>) -> EditIssue {
    let mut edit = EditIssue::default();
    edit.blocked_by = SetChange { add, remove };
    edit
}

async fn relations(local: &Local, number: u64) -> IssueRelations {
    let read = local.issue(&id(local, number), &RELATIONS).await.unwrap();
    read.relations.unwrap()
}

fn numbers(all: &[RelatedIssue]) -> Vec<String> {
    all.iter().map(|r| r.id.key.to_string()).collect()
}

#[tokio::test]
async fn issue_relations_are_seen_from_both_ends() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["Goal", "Blocker"] {
        open(&local, title).await;
    }
    let mut new = NewIssue::new("Part", "");
    new.parent = Some(id(&local, 1));
    new.blocked_by = vec![id(&local, 2), id(&local, 2)];
    local.create_issue(local.id(), &new).await.unwrap();
    let close = SetIssueState::to(IssueState::Closed);
    local.set_issue_state(&id(&local, 2), &close).await.unwrap();
    let part = relations(&local, 3).await;
    assert_eq!(part.parent.unwrap().title, "Goal");
    assert_eq!(numbers(&part.blocked_by), ["2"]);
    assert_eq!(part.blocked_by[0].state, IssueState::Closed);
    assert_eq!(numbers(&relations(&local, 1).await.sub_issues), ["3"]);
    assert_eq!(numbers(&relations(&local, 2).await.blocking), ["3"]);
    let mut undo = blocked_by(Vec::new(), vec![id(&local, 2), id(&local, 9)]);
    undo.parent = Some(None);
    local.edit_issue(&id(&local, 3), &undo).await.unwrap();
    for number in 1..=3 {
        assert_eq!(relations(&local, number).await, IssueRelations::default());
    }
}

#[tokio::test]
async fn invalid_issue_relations_are_refused() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two", "Three"] {
        open(&local, title).await;
    }
    let of = |n| id(&local, n);
    for (child, above) in [(2, 1), (3, 2)] {
        let edit = parent(Some(of(above)));
        local.edit_issue(&of(child), &edit).await.unwrap();
    }
    let elsewhere = IssueId::number(RepoId::local("/elsewhere"), 1);
    let record = IssueId {
        repo: local.id().clone(),
        key: forge_core::PrKey::Record("at://x".into()),
    };
    for (edit, why) in [
        (parent(Some(of(1))), "its own parent"),
        (parent(Some(of(2))), "a sub-issue of #1"),
        (parent(Some(of(3))), "a sub-issue of #1"),
        (parent(Some(of(9))), "was not found"),
        (
            parent(Some(elsewhere.clone())),
            "relates only its own issues",
        ),
        (parent(Some(record)), "relates only its own issues"),
        (blocked_by(vec![of(1)], vec![]), "blocked by itself"),
        (blocked_by(vec![of(9)], vec![]), "was not found"),
        (
            blocked_by(vec![elsewhere], vec![]),
            "relates only its own issues",
        ),
    ] {
        let e = local.edit_issue(&of(1), &edit).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{why}: {e}");
        assert!(e.message().contains(why), "{why}: {e}");
    }
    // A cycle of two blocking issues is allowed, because people can see and resolve it.
    for (a, b) in [(1, 3), (3, 1)] {
        let edit = blocked_by(vec![of(b)], vec![]);
        local.edit_issue(&of(a), &edit).await.unwrap();
    }
    assert_eq!(numbers(&relations(&local, 1).await.blocking), ["3"]);
}

/// Each of the two edits is valid, but both together would create a cycle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_issue_parents_make_no_cycle() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two"] {
        open(&local, title).await;
    }
    // Without the lock of the writers, both edits are checked before either is written.
    let turn = repo.path.join(".git/forge.turn");
    std::fs::remove_file(&turn).unwrap();
    std::fs::create_dir(&turn).unwrap();
    for _ in 0..5 {
        let set = |child, above| {
            let local = local.clone();
            tokio::spawn(async move {
                let edit = parent(Some(id(&local, above)));
                local.edit_issue(&id(&local, child), &edit).await.is_ok()
            })
        };
        let (a, b) = tokio::join!(set(1, 2), set(2, 1));
        assert_ne!(a.unwrap(), b.unwrap());
        for number in [1, 2] {
            local
                .edit_issue(&id(&local, number), &parent(None))
                .await
                .unwrap();
        }
    }
}

fn related(set: &IssueSet, number: u64) -> &Issue {
    let mut issues = set.issues.iter();
    issues.find(|i| i.number == Some(number)).unwrap()
}

#[tokio::test]
async fn related_issues_include_neighbours() {
    let repo = Repo::new();
    let local = repo.open().await;
    for n in 1..=6 {
        open(&local, &format!("Issue {n}")).await;
    }
    let of = |n| id(&local, n);
    for (child, above) in [(2, 1), (3, 2)] {
        let edit = parent(Some(of(above)));
        local.edit_issue(&of(child), &edit).await.unwrap();
    }
    let edit = blocked_by(vec![of(5)], vec![]);
    local.edit_issue(&of(2), &edit).await.unwrap();
    local.create_issue_comment(&of(2), "Hi.").await.unwrap();
    let fields = IssueFields::COMMENTS;
    let elsewhere = IssueId::number(RepoId::local("/elsewhere"), 1);
    let asked = [of(2), of(2), of(9), elsewhere.clone()];
    let set = local.related_issues(&asked, &fields).await.unwrap();
    let mut found: Vec<_> = set.issues.iter().map(|i| i.number.unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 5]);
    let two = related(&set, 2);
    assert_eq!(two.comments.as_ref().unwrap().len(), 1);
    let relations = two.relations.as_ref().unwrap();
    assert_eq!(relations.parent.as_ref().unwrap().id, of(1));
    assert_eq!(numbers(&relations.sub_issues), ["3"]);
    let near = related(&set, 5).relations.as_ref().unwrap();
    assert_eq!(numbers(&near.blocking), ["2"]);
    let failed: Vec<_> = set.failed.iter().map(|(id, e)| (id, e.code())).collect();
    assert!(failed.contains(&(&of(9), "not_found")), "{failed:?}");
    assert!(
        failed.contains(&(&elsewhere, "invalid_input")),
        "{failed:?}"
    );
    let none = local.related_issues(&[of(9)], &fields).await;
    assert_eq!(none.unwrap_err().code(), "not_found");
    let none = local.related_issues(&[], &fields).await.unwrap();
    assert!(none.issues.is_empty() && none.failed.is_empty());
}

#[tokio::test]
async fn unreadable_related_issue_counts_as_open() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two", "Three"] {
        open(&local, title).await;
    }
    let of = |n| id(&local, n);
    let mut edit = blocked_by(vec![of(2), of(3)], vec![]);
    edit.parent = Some(Some(of(3)));
    local.edit_issue(&of(1), &edit).await.unwrap();
    let file = repo.path.join(".git/refs/forge/issues/2");
    std::fs::write(&file, format!("{}\n", "1".repeat(40))).unwrap();
    local.delete_issue(&of(3)).await.unwrap();
    let read = local.issue(&of(1), &RELATIONS).await.unwrap();
    let relations = read.relations.unwrap();
    // A deleted issue has no relations.
    assert_eq!(
        (numbers(&relations.blocked_by), relations.parent),
        (vec!["2".to_owned()], None)
    );
    assert_eq!(relations.blocked_by[0].state, IssueState::Open);
    assert_eq!(relations.blocked_by[0].title, "(cannot be read)");
}

#[tokio::test]
async fn stored_parent_cycle_terminates() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two", "Three"] {
        open(&local, title).await;
    }
    // Another program writes a cycle that forge would refuse: each of 1 and 2 is the parent of the
    // other.
    let edit = parent(Some(id(&local, 2)));
    local.edit_issue(&id(&local, 1), &edit).await.unwrap();
    let file = repo.git(&["show", "refs/forge/issues/1:issue.json"]);
    let file = file
        .replace("\"number\": 1", "\"number\": 2")
        .replace("\"parent\": 2", "\"parent\": 1");
    repo.store_issue(2, &file);
    let set = local.related_issues(&[id(&local, 1)], &RELATIONS).await;
    assert_eq!(set.unwrap().issues.len(), 2);
    let edit = parent(Some(id(&local, 1)));
    let e = local.edit_issue(&id(&local, 3), &edit).await.unwrap_err();
    assert!(e.message().contains("form a circle"), "{e}");
    // The cycle can still be removed.
    let out = parent(None);
    local.edit_issue(&id(&local, 1), &out).await.unwrap();
    local.edit_issue(&id(&local, 3), &edit).await.unwrap();
}
