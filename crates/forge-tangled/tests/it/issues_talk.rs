//! Comments on issues, deletion, history, order of lists, and files of a branch.

use forge_core::{
    Error, Ingestion, Issues, PageReq, Repos, Reviews,
    limits::MAX_REPO_FILE,
    model::{
        EditIssue, Issue, IssueFields, IssueFilter, IssueQuery, IssueState, NewIssue, PathContent,
        SetChange, SetIssueState, StatusEventKind,
    },
};
use forge_tangled::Tangled;
use serde_json::json;

use crate::{
    issues_fields::field,
    stage::{PASSWORD, Stage},
};

const COMMENTS: IssueFields = IssueFields::COMMENTS;
const OP: &str = "sh.tangled.label.op";

async fn open(stage: &Stage, forge: &Tangled, title: &str) -> Issue {
    let new = NewIssue::new(title, "");
    let made = forge.create_issue(stage.repo_id(), &new).await;
    made.unwrap().value
}

#[tokio::test]
async fn own_comment_is_edited_and_deleted() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let bob = stage.tangled(&stage.bob);
    let issue = open(&stage, &forge, "One").await;
    let other = open(&stage, &forge, "Other").await;
    let comment = bob
        .create_issue_comment(&issue.id, "Nice")
        .await
        .unwrap()
        .value;
    let edited = bob.edit_issue_comment(&issue.id, &comment.id, "Nicer", Some(&issue.version));
    let edited = edited.await.unwrap();
    assert_eq!(
        (edited.value.body.as_str(), edited.ingestion.word()),
        ("Nicer", "confirmed")
    );
    let e = bob
        .edit_issue_comment(&issue.id, &comment.id, "x", Some("bafyreistale"))
        .await;
    assert_eq!(e.unwrap_err().code(), "conflict");
    let e = forge
        .edit_issue_comment(&issue.id, &comment.id, "x", None)
        .await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    let e = forge.delete_issue_comment(&issue.id, &comment.id).await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    for (id, key) in [(&other.id, comment.id.as_str()), (&issue.id, "7")] {
        let e = bob
            .edit_issue_comment(id, key, "x", None)
            .await
            .unwrap_err();
        assert_eq!(e.code(), "not_found", "{e}");
    }
    let deleted = bob
        .delete_issue_comment(&issue.id, &comment.id)
        .await
        .unwrap();
    assert_eq!(deleted.ingestion.word(), "confirmed");
    let view = bob.issue(&issue.id, &COMMENTS).await.unwrap();
    assert!(view.comments.unwrap().is_empty());
    let e = bob.delete_issue_comment(&issue.id, &comment.id).await;
    assert_eq!(e.unwrap_err().code(), "not_found");
}

#[tokio::test]
async fn comment_has_role_of_author() {
    let stage = Stage::new();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let alice = stage.tangled(&stage.alice);
    let issue = open(&stage, &alice, "One").await;
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    for account in [&stage.alice, &stage.bob, &carol] {
        let forge = stage.tangled(account);
        forge
            .create_issue_comment(&issue.id, &account.handle)
            .await
            .unwrap();
        forge
            .comment(&pull.id, &account.handle, None)
            .await
            .unwrap();
    }
    let on_issue = alice
        .issue(&issue.id, &COMMENTS)
        .await
        .unwrap()
        .comments
        .unwrap();
    let on_pull = alice
        .comments(&pull.id, PageReq::first(9))
        .await
        .unwrap()
        .items;
    for comments in [&on_issue, &on_pull] {
        let roles: Vec<_> = comments
            .iter()
            .map(|c| c.author_association.as_deref())
            .collect();
        assert_eq!(roles, [Some("OWNER"), Some("COLLABORATOR"), Some("NONE")]);
    }
    // While collaborators are unknown, no author is shown as a stranger.
    stage.world.knot().host().set_down(true);
    let forge = stage.tangled(&carol);
    let comments = forge
        .issue(&issue.id, &COMMENTS)
        .await
        .unwrap()
        .comments
        .unwrap();
    assert_eq!(comments[0].author_association.as_deref(), Some("OWNER"));
    assert_eq!(comments[2].author_association, None);
}

#[tokio::test]
async fn issue_is_deleted_by_author_only() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let bob = stage.tangled(&stage.bob);
    let issue = open(&stage, &forge, "One").await;
    bob.create_issue_comment(&issue.id, "Nice").await.unwrap();
    let e = bob.delete_issue(&issue.id).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let deleted = forge.delete_issue(&issue.id).await.unwrap();
    assert!(matches!(deleted.ingestion, Ingestion::Confirmed { .. }));
    assert!(deleted.warnings[0].message.contains("stay in the accounts"));
    assert!(stage.world.pds().record(&issue.node_id).is_none());
    let comments = stage
        .world
        .pds()
        .records(&stage.bob.did, "sh.tangled.feed.comment");
    assert_eq!(comments.len(), 1);
    let e = forge.delete_issue(&issue.id).await.unwrap_err();
    assert_eq!(e.code(), "not_found");
}

#[tokio::test]
async fn history_has_states_labels_and_comments_in_order() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    for wanted in [field("state", &["Todo", "Done"]), field("parent", &[])] {
        let defined = forge.define_issue_field(stage.repo_id(), None, &wanted);
        defined.await.unwrap();
    }
    let issue = open(&stage, &forge, "One").await;
    let mut edit = EditIssue::default();
    edit.values = [("state".to_owned(), Some("Done".to_owned()))].into();
    edit.assignees = SetChange {
        add: vec!["bob.test".to_owned()],
        ..SetChange::default()
    };
    forge.edit_issue(&issue.id, &edit).await.unwrap();
    let bob = stage.tangled(&stage.bob);
    bob.create_issue_comment(&issue.id, "Nice").await.unwrap();
    bob.set_issue_state(&issue.id, &SetIssueState::to(IssueState::Closed))
        .await
        .unwrap();
    forge
        .set_issue_state(&issue.id, &SetIssueState::to(IssueState::Open))
        .await
        .unwrap();
    // A stranger's operation, of the year 2999, with more operands than are read.
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let add: Vec<_> = (0..300)
        .map(|n| json!({"key": format!("k{n}\n"), "value": "v"}))
        .collect();
    let op = json!({
        "subject": issue.node_id, "performedAt": "2999-01-01T00:00:00Z", "add": add, "delete": [],
    });
    stage.world.pds().put(&carol.did, OP, "3mkuuamwfj322", op);
    let page = forge
        .issue_history(&issue.id, PageReq::first(20))
        .await
        .unwrap();
    let events: Vec<_> = page
        .items
        .iter()
        .map(|e| {
            (
                e.kind,
                e.actor.login.as_str(),
                e.authority.as_deref().unwrap(),
            )
        })
        .collect();
    use StatusEventKind::*;
    assert_eq!(
        events,
        [
            // The time comes from the record key, which dates from May.
            (Labeled, "carol.test", "none"),
            (Opened, "alice.test", "author"),
            (Assigned, "alice.test", "owner"),
            (Related, "alice.test", "owner"),
            (Commented, "bob.test", "collaborator"),
            (Closed, "bob.test", "collaborator"),
            (Reopened, "alice.test", "owner"),
        ]
    );
    let details: Vec<_> = page
        .items
        .iter()
        .filter_map(|e| e.detail.as_deref())
        .collect();
    assert!(details[0].ends_with("and 280 more; does not count: the account may not push"));
    assert!(details[0].len() < 1_000 && !details[0].contains('\n'));
    assert_eq!(details[1..], ["+@bob.test", "+state:Done"]);
    let ids: std::collections::BTreeSet<_> = page.items.iter().map(|e| &e.id).collect();
    assert_eq!(ids.len(), 7);
    let first = forge
        .issue_history(&issue.id, PageReq::first(2))
        .await
        .unwrap();
    let rest = PageReq::after(first.next.unwrap(), 9);
    let rest = forge.issue_history(&issue.id, rest).await.unwrap();
    assert_eq!(rest.items[0].kind, Assigned);
}

#[tokio::test]
async fn oldest_first_list_is_paged() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    for title in ["First", "Second", "Third"] {
        open(&stage, &forge, title).await;
    }
    let mut query = IssueQuery::default();
    query.oldest_first = true;
    query.state = IssueFilter::All;
    for down in [false, true] {
        stage.world.index().host().set_down(down);
        let (mut titles, mut request) = (Vec::new(), PageReq::first(2));
        loop {
            let page = forge
                .issues(stage.repo_id(), &query, request)
                .await
                .unwrap();
            titles.extend(page.items.into_iter().map(|issue| issue.title));
            let Some(next) = page.next else { break };
            request = PageReq::after(next, 2);
        }
        assert_eq!(titles, ["First", "Second", "Third"], "down: {down}");
    }
}

#[tokio::test]
async fn rows_have_comments_on_request() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let issue = open(&stage, &forge, "One").await;
    forge.create_issue_comment(&issue.id, "Nice").await.unwrap();
    let mut query = IssueQuery::default();
    query.fields = COMMENTS;
    let page = forge
        .issues(stage.repo_id(), &query, PageReq::first(9))
        .await
        .unwrap();
    assert_eq!(page.items[0].comments.as_ref().unwrap()[0].body, "Nice");
    let page = forge
        .issues(stage.repo_id(), &IssueQuery::default(), PageReq::first(9))
        .await;
    assert!(page.unwrap().items[0].comments.is_none());
}

#[tokio::test]
async fn file_of_branch_is_read_within_bounds() {
    let stage = Stage::new();
    let large = "x".repeat(MAX_REPO_FILE + 1);
    let whole = "y".repeat(MAX_REPO_FILE);
    stage.repo.git.commit(
        "topic",
        "Add files",
        &[
            ("docs/a.toml", Some("a = 1\n")),
            ("large", Some(&large)),
            ("whole", Some(&whole)),
        ],
    );
    let forge = stage.tangled(&stage.bob);
    let find =
        async |path: &str, at: Option<&str>| forge.repo_file(stage.repo_id(), path, at).await;
    let read = async |path: &str, at: Option<&str>| {
        let found = find(path, at).await?;
        Ok::<_, Error>(found.map(|found| match found {
            PathContent::File(bytes) => bytes,
            PathContent::Directory(entries) => panic!("{path}: {entries:?}"),
        }))
    };
    for (path, name, is_directory) in [("docs", "a.toml", false), ("", "docs", true)] {
        let listed = find(path, Some("topic")).await.unwrap().unwrap();
        let PathContent::Directory(entries) = listed else {
            panic!("{path} is a file");
        };
        let found = entries.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!(found.is_directory, is_directory, "{path}");
    }
    assert_eq!(
        read("docs/a.toml", Some("topic")).await.unwrap().unwrap(),
        b"a = 1\n"
    );
    assert_eq!(
        read("whole", Some("topic")).await.unwrap().unwrap().len(),
        MAX_REPO_FILE
    );
    assert_eq!(read("docs/a.toml", None).await.unwrap(), None);
    assert_eq!(read("docs/b.toml", Some("topic")).await.unwrap(), None);
    for (path, at, code, why) in [
        ("large", Some("topic"), "invalid_input", "has more than"),
        ("../a", None, "invalid_input", "no path of a file"),
        ("/a", None, "invalid_input", "no path of a file"),
        ("a", Some("nowhere"), "not_found", "there is no 'nowhere'"),
    ] {
        let e = read(path, at).await.unwrap_err();
        assert_eq!(e.code(), code, "{e}");
        assert!(e.message().contains(why), "{e}");
    }
    let (_, id) = stage.repo_1_0();
    let e = forge.repo_file(&id, "a", None).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
}
