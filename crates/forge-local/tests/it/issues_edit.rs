//! An edit of an issue is one event and one compare-and-swap, for every combination of fields.

use std::sync::Arc;

use forge_core::{
    Issues, PageReq,
    model::{
        BoardId, EditIssue, IssueField, IssueFields, IssueFilter, IssueQuery, IssueReason,
        IssueState, NewIssue, SetChange, SetIssueState,
    },
};
use forge_local::Local;

use crate::{
    issues::{all, id, open},
    repo::Repo,
};

fn values(name: &str, value: Option<&str>) -> EditIssue {
    let mut edit = EditIssue::default();
    edit.values = [(name.to_owned(), value.map(str::to_owned))].into();
    edit
}

fn events(repo: &Repo, number: u64) -> usize {
    let name = format!("refs/forge/issues/{number}");
    let count = repo.git(&["rev-list", "--first-parent", "--count", &name]);
    count.parse::<usize>().unwrap() - 1
}

#[tokio::test]
async fn issue_edit_of_all_fields_is_one_event() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two", "Three"] {
        open(&local, title).await;
    }
    let mut edit = values("Status", Some("Done"));
    edit.title = Some("Another".into());
    edit.body = Some("Text".into());
    edit.labels = SetChange {
        add: vec!["bug".into()],
        remove: Vec::new(),
    };
    edit.assignees = SetChange {
        add: vec!["@me".into(), "bob".into()],
        remove: Vec::new(),
    };
    edit.parent = Some(Some(id(&local, 2)));
    edit.blocked_by = SetChange {
        add: vec![id(&local, 3)],
        remove: Vec::new(),
    };
    edit.state = Some(IssueState::Closed);
    edit.reason = Some(IssueReason::NotPlanned);
    edit.comment = Some("Why not.".into());
    let made = local.edit_issue(&id(&local, 1), &edit).await.unwrap();
    assert_eq!(made.ingestion.word(), "immediate");
    assert_eq!(events(&repo, 1), 2);
    let mut fields = IssueFields::COMMENTS;
    fields.relations = true;
    let read = local.issue(&id(&local, 1), &fields).await.unwrap();
    assert_eq!(
        (read.title.as_str(), read.body.as_str()),
        ("Another", "Text")
    );
    assert_eq!(read.labels[0].name, "bug");
    let logins: Vec<_> = read.assignees.iter().map(|a| a.login.as_str()).collect();
    assert_eq!(logins, ["alice", "bob"]);
    assert_eq!(read.values["Status"], "Done");
    assert_eq!(read.state_reason, Some(IssueReason::NotPlanned));
    assert!(read.state == IssueState::Closed && read.closed_at.is_some());
    let comments = read.comments.unwrap();
    assert_eq!((read.comments_count, comments.len()), (1, 1));
    assert_eq!(
        (comments[0].id.as_str(), comments[0].body.as_str()),
        ("c2", "Why not.")
    );
    let relations = read.relations.unwrap();
    assert_eq!(relations.parent.unwrap().id, id(&local, 2));
    assert_eq!(relations.blocked_by[0].id, id(&local, 3));
    // A repeated edit adds its comment again. A repeated edit without a comment changes nothing.
    edit.comment = None;
    let same = local.edit_issue(&id(&local, 1), &edit).await.unwrap();
    assert!(
        same.warnings[0].message.contains("already as requested"),
        "{:?}",
        same.warnings
    );
    assert_eq!(events(&repo, 1), 2);
}

#[tokio::test]
async fn issue_state_and_reason_of_edit_must_agree() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    let one = id(&local, 1);
    let of = |state, reason| {
        let mut edit = EditIssue::default();
        edit.state = state;
        edit.reason = reason;
        edit
    };
    for (state, reason) in [
        (None, IssueReason::Completed),
        (Some(IssueState::Open), IssueReason::Duplicate),
        (Some(IssueState::Closed), IssueReason::Reopened),
    ] {
        let e = local.edit_issue(&one, &of(state, Some(reason))).await;
        assert_eq!(e.unwrap_err().code(), "invalid_input", "{reason:?}");
    }
    let closed = Some(IssueState::Closed);
    local.edit_issue(&one, &of(closed, None)).await.unwrap();
    // The reason of a closed issue can be changed.
    let other = of(None, Some(IssueReason::Duplicate));
    let other = local.edit_issue(&one, &other).await.unwrap().value;
    assert_eq!(other.state_reason, Some(IssueReason::Duplicate));
    let open = of(Some(IssueState::Open), None);
    let open = local.edit_issue(&one, &open).await.unwrap().value;
    assert_eq!(open.state_reason, Some(IssueReason::Reopened));
    assert!(open.closed_at.is_none());
    let closed = SetIssueState::to(IssueState::Open).with_comment("No.");
    let same = local.set_issue_state(&one, &closed).await.unwrap();
    assert_eq!((same.value.comments_count, same.warnings.len()), (0, 2));
}

#[tokio::test]
async fn issue_edit_of_stale_version_is_refused() {
    let repo = Repo::new();
    let local = repo.open().await;
    let read = open(&local, "One").await;
    local
        .create_issue_comment(&read.id, "First.")
        .await
        .unwrap();
    let mut edit = values("Owner", Some("a"));
    edit.expected_version = Some(read.version);
    let e = local.edit_issue(&read.id, &edit).await.unwrap_err();
    assert_eq!(e.code(), "conflict");
    assert_eq!(events(&repo, 1), 2);
}

async fn race(local: &Arc<Local>, writers: usize) -> usize {
    let read = local
        .issue(&id(local, 1), &IssueFields::NONE)
        .await
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..writers {
        let (local, read) = (local.clone(), read.clone());
        tasks.spawn(async move {
            let mut edit = values("Owner", Some(&format!("{n} of {writers}")));
            edit.expected_version = Some(read.version);
            match local.edit_issue(&read.id, &edit).await {
                Ok(made) => {
                    assert_eq!(made.value.values["Owner"], format!("{n} of {writers}"));
                    1
                }
                Err(e) => {
                    assert_eq!(e.code(), "conflict", "{e:?}");
                    0
                }
            }
        });
    }
    tasks.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_edits_at_one_version_have_one_winner() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    assert_eq!(race(&local, 2).await, 1);
    assert_eq!(events(&repo, 1), 2);
    assert_eq!(race(&local, 20).await, 1);
    assert_eq!(events(&repo, 1), 3);
}

/// Without the lock of the writers, git's transaction keeps the data correct.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_edits_without_turn_file_have_one_winner() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    let turn = repo.path.join(".git/forge.turn");
    std::fs::remove_file(&turn).unwrap();
    std::fs::create_dir(&turn).unwrap();
    assert_eq!(race(&local, 8).await, 1);
    assert_eq!(events(&repo, 1), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identical_edits_at_one_version_have_one_winner() {
    let repo = Repo::new();
    let local = repo.open().await;
    let read = open(&local, "One").await;
    let mut edit = values("Owner", Some("the same"));
    edit.expected_version = Some(read.version);
    let (a, b) = tokio::join!(
        local.edit_issue(&read.id, &edit),
        local.edit_issue(&read.id, &edit)
    );
    assert_ne!(a.is_ok(), b.is_ok());
}

#[tokio::test]
async fn issue_values_in_any_script_are_kept() {
    let repo = Repo::new();
    let local = repo.open().await;
    let long = "ü".repeat(4096);
    let mut new = NewIssue::new("T", "");
    new.values = [
        ("Größe".to_owned(), long.clone()),
        ("状態".to_owned(), "\u{1f600} \"x\" \\".to_owned()),
    ]
    .into();
    let made = local.create_issue(local.id(), &new).await.unwrap().value;
    assert_eq!(made.values, new.values);
    let listed = all(&local).await.items;
    assert_eq!(listed[0].values, new.values);
    local
        .edit_issue(&made.id, &values("状態", None))
        .await
        .unwrap();
    let read = local.issue(&made.id, &IssueFields::NONE).await.unwrap();
    assert_eq!(read.values, [("Größe".to_owned(), long)].into());
}

#[tokio::test]
async fn invalid_issue_values_are_refused() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    let one = id(&local, 1);
    let long = "x".repeat(4097);
    for (name, value) in [
        ("", "v"),
        (" a", "v"),
        ("a\nb", "v"),
        (&"n".repeat(51), "v"),
        ("a", &long),
        ("a", ""),
        ("a", "b\u{1b}[31m"),
    ] {
        let e = local.edit_issue(&one, &values(name, Some(value))).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{name:?}");
        assert!(e.message().len() < 400, "{e}");
    }
    let mut many = EditIssue::default();
    many.values = (0..101)
        .map(|n| (format!("f{n}"), Some("v".to_owned())))
        .collect();
    let e = local.edit_issue(&one, &many).await.unwrap_err();
    assert!(e.message().contains("the maximum is 100"), "{e}");
    let mut board = values("a", Some("b"));
    board.board = Some(BoardId {
        owner: "o".into(),
        number: 1,
    });
    let e = local.edit_issue(&one, &board).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    let field = IssueField::new("a", Vec::new());
    let e = local.define_issue_field(local.id(), None, &field).await;
    assert_eq!(e.unwrap_err().code(), "unsupported");
    let e = local.issue_fields(local.id(), None).await;
    assert_eq!(e.unwrap_err().code(), "unsupported");
    assert_eq!(events(&repo, 1), 1);
}

fn format(repo: &Repo, number: u64) -> u64 {
    let file = repo.git(&["show", &format!("refs/forge/issues/{number}:issue.json")]);
    let json: serde_json::Value = serde_json::from_str(&file).unwrap();
    json["format"].as_u64().unwrap()
}

#[tokio::test]
async fn issue_uses_lowest_format_version_for_its_fields() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two"] {
        open(&local, title).await;
    }
    let one = id(&local, 1);
    assert_eq!(format(&repo, 1), 1);
    let set = values("Status", Some("Done"));
    local.edit_issue(&one, &set).await.unwrap();
    assert_eq!(format(&repo, 1), 2);
    let clear = values("Status", None);
    local.edit_issue(&one, &clear).await.unwrap();
    let file = repo.git(&["show", "refs/forge/issues/1:issue.json"]);
    assert_eq!(format(&repo, 1), 1);
    assert!(
        !file.contains("values") && !file.contains("parent"),
        "{file}"
    );
    let mut parent = EditIssue::default();
    parent.parent = Some(Some(one.clone()));
    local.edit_issue(&id(&local, 2), &parent).await.unwrap();
    assert_eq!(format(&repo, 2), 2);
}

#[tokio::test]
async fn issue_of_newer_format_is_refused() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Two"] {
        open(&local, title).await;
    }
    let name = "refs/forge/issues/2";
    let file = repo.git(&["show", &format!("{name}:issue.json")]);
    for (format, code) in [("2", None), ("3", Some("protocol"))] {
        let newer = file.replace("\"format\": 1", &format!("\"format\": {format}"));
        let commit = repo.store_issue(2, &newer);
        let read = local.issue(&id(&local, 2), &IssueFields::NONE).await;
        assert_eq!(read.as_ref().err().map(|e| e.code()), code);
        if let Err(e) = read {
            assert!(e.message().contains("format 3"), "{e}");
            assert!(e.message().contains("up to 2"), "{e}");
            let edit = values("a", Some("b"));
            assert!(local.edit_issue(&id(&local, 2), &edit).await.is_err());
            assert_eq!(repo.oid(name), commit);
        }
    }
    assert_eq!(all(&local).await.items.len(), 1);
}

#[tokio::test]
async fn oldest_first_issue_list_has_pages_and_sections() {
    let repo = Repo::new();
    let local = repo.open().await;
    for n in 1..=5 {
        open(&local, &format!("Issue {n}")).await;
    }
    local
        .create_issue_comment(&id(&local, 2), "Hi.")
        .await
        .unwrap();
    let mut parent = EditIssue::default();
    parent.parent = Some(Some(id(&local, 1)));
    local.edit_issue(&id(&local, 5), &parent).await.unwrap();
    let mut query = IssueQuery::default();
    query.oldest_first = true;
    query.state = IssueFilter::All;
    query.fields = IssueFields::COMMENTS;
    query.fields.relations = true;
    let mut request = PageReq::first(2);
    let mut rows = Vec::new();
    loop {
        let page = local.issues(local.id(), &query, request.clone()).await;
        let page = page.unwrap();
        rows.extend(page.items);
        match page.next {
            Some(next) => request.cursor = Some(next),
            None => break,
        }
    }
    let numbers: Vec<_> = rows.iter().map(|i| i.number.unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(rows[1].comments.as_ref().unwrap()[0].body, "Hi.");
    let of = |n: usize| rows[n].relations.as_ref().unwrap();
    assert_eq!(of(0).sub_issues[0].id, id(&local, 5));
    assert_eq!(of(4).parent.as_ref().unwrap().title, "Issue 1");
}
