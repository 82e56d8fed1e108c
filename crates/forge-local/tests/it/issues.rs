//! Issues in a git repository: refs, concurrent writers, damage, and closing keywords.

use std::{collections::BTreeSet, sync::Arc};

use forge_core::{
    Issues, PageReq, PullRequests, Warning,
    model::{
        CreatePull, EditIssue, EditPull, Issue, IssueFields, IssueFilter, IssueId, IssueQuery,
        IssueState, NewIssue, PrFields, SetIssueState,
    },
};
use forge_local::Local;

use crate::repo::Repo;

pub async fn open(local: &Local, title: &str) -> Issue {
    let new = NewIssue::new(title, "");
    let made = local.create_issue(local.id(), &new).await.unwrap();
    assert_eq!(made.ingestion.word(), "immediate");
    made.value
}

pub fn id(local: &Local, number: u64) -> IssueId {
    IssueId::number(local.id().clone(), number)
}

pub async fn all(local: &Local) -> forge_core::Page<Issue> {
    let mut query = IssueQuery::default();
    query.state = IssueFilter::All;
    let page = local.issues(local.id(), &query, PageReq::first(50)).await;
    page.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_issue_creates_and_comments_lose_nothing() {
    let repo = Repo::new();
    let local: Arc<Local> = repo.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let local = local.clone();
        tasks.spawn(async move {
            let made = open(&local, &format!("Issue {n}")).await;
            made.number.unwrap()
        });
    }
    let mut numbers = BTreeSet::new();
    while let Some(number) = tasks.join_next().await {
        numbers.insert(number.unwrap());
    }
    assert_eq!(numbers, (1..=12).collect());
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let local = local.clone();
        tasks.spawn(async move {
            let id = id(&local, 1);
            local
                .create_issue_comment(&id, &format!("{n}"))
                .await
                .unwrap();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let fields = IssueFields::COMMENTS;
    let read = local.issue(&id(&local, 1), &fields).await.unwrap();
    assert_eq!(
        (read.comments_count, read.comments.unwrap().len()),
        (12, 12)
    );
    let events = repo.git(&[
        "rev-list",
        "--first-parent",
        "--count",
        "refs/forge/issues/1",
    ]);
    assert_eq!(events, "14", "the root, the opening and the comments");
}

#[tokio::test]
async fn issue_history_matches_ref_history() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    let close = SetIssueState::to(IssueState::Closed).with_comment("Done.");
    local.set_issue_state(&id(&local, 1), &close).await.unwrap();
    let log = repo.git(&[
        "log",
        "--first-parent",
        "--format=%s",
        "refs/forge/issues/1",
    ]);
    let subjects: Vec<&str> = log.lines().take(2).collect();
    assert_eq!(subjects, ["close: alice", "open: alice"]);
    let file = repo.git(&["show", "refs/forge/issues/1:issue.json"]);
    assert!(file.contains("\"state_reason\": \"completed\""), "{file}");
}

#[tokio::test]
async fn damaged_issue_leaves_others_and_keeps_number() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two"] {
        open(&local, title).await;
    }
    let blob = repo.git(&["rev-parse", "main:base.txt"]);
    for bad in [blob, "1".repeat(40), "garbage".to_owned()] {
        let file = repo.path.join(".git/refs/forge/issues/2");
        std::fs::write(file, format!("{bad}\n")).unwrap();
        let e = local.issue(&id(&local, 2), &IssueFields::default()).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "protocol", "{bad}: {e}");
        assert!(e.message().contains("refs/forge/issues/2"), "{e}");
        let page = all(&local).await;
        assert!(page.items.iter().any(|i| i.title == "One"), "{bad}");
        assert!(page.items.iter().all(|i| i.title != "Two"), "{bad}");
    }
    assert_eq!(open(&local, "Three").await.number, Some(3));
}

#[tokio::test]
async fn closing_words_link_issues() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two", "Three", "Four", "Five"] {
        open(&local, title).await;
    }
    let close = SetIssueState::to(IssueState::Closed);
    local.set_issue_state(&id(&local, 3), &close).await.unwrap();
    let mut label = EditIssue::default();
    label.labels.add = vec!["bug".to_owned()];
    local.edit_issue(&id(&local, 4), &label).await.unwrap();
    repo.branch("topic", "new.txt", "new\n");
    let mut req = CreatePull::new("topic", "T");
    req.description = format!(
        "Fixes #3, see #2.\n\nCloses: #1, resolves #9. Also fixes {0}#4, fixes {0}#issue-5.",
        local.id()
    );
    let made = local.create(local.id(), &req).await.unwrap().value;
    let view = local.view(&made.id, PrFields::LINKED_ISSUES).await.unwrap();
    let linked: Vec<_> = view.linked_issues.unwrap();
    let labels = linked.iter().flat_map(|i| i.labels.iter().flatten());
    assert_eq!(labels.collect::<Vec<_>>(), ["bug"]);
    let linked: Vec<_> = linked.iter().map(|i| (i.number, i.open)).collect();
    assert_eq!(linked, [(3, false), (1, true), (4, true), (5, true)]);
    let said = |warnings: &[Warning]| -> Vec<String> {
        let of = warnings
            .iter()
            .filter(|w| w.section == Some("linked_issues"));
        of.map(|w| w.message.clone()).collect()
    };
    let gone = ["the description closes issues that do not exist: #9"];
    assert_eq!(said(&view.warnings), gone);
    // Number 1 is now only a pull request. Numbers above the limit lead to a warning.
    repo.git(&["update-ref", "-d", "refs/forge/issues/1"]);
    let mut edit = EditPull::default();
    edit.description = Some((1..=101).map(|n| format!("Fixes #{n}. ")).collect());
    local.edit(&made.id, &edit).await.unwrap();
    let view = local.view(&made.id, PrFields::LINKED_ISSUES).await.unwrap();
    let said = said(&view.warnings);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("101 issues; the first 100"), "{said:?}");
    assert!(said[1].contains(" exist: #6, ") && said[1].ends_with(", #100"));
    let plain = local.view(&made.id, PrFields::NONE).await.unwrap();
    assert!(plain.linked_issues.is_none());
}
