//! Comments and history of issues, and what a deletion leaves behind.

use forge_core::{
    Issues, PageReq,
    model::{
        EditIssue, IssueFields, IssueReason, IssueState, SetChange, StatusEventKind as Kind,
        Subject,
    },
};

use crate::{
    issues::{all, id, open},
    repo::Repo,
};

#[tokio::test]
async fn issue_comment_is_changed_and_deleted_by_author() {
    let repo = Repo::new();
    let local = repo.open().await;
    let one = open(&local, "One").await.id;
    for body in ["First", "Second"] {
        local.create_issue_comment(&one, body).await.unwrap();
    }
    let version = || async {
        let read = local.issue(&one, &IssueFields::NONE).await;
        read.unwrap().version
    };
    let old = version().await;
    let edited = local.edit_issue_comment(&one, "c2", "Better", Some(&old));
    let edited = edited.await.unwrap().value;
    assert_eq!((edited.id.as_str(), edited.body.as_str()), ("c2", "Better"));
    assert!(edited.updated_at.is_some() && edited.viewer_did_author);
    let stale = local.edit_issue_comment(&one, "c2", "Worse", Some(&old));
    assert_eq!(stale.await.unwrap_err().code(), "conflict");
    for key in ["c1", "c9", "x", "c02", ""] {
        let e = local.edit_issue_comment(&one, key, "x", None).await;
        assert_eq!(e.unwrap_err().code(), "not_found", "{key}");
    }
    let e = local.edit_issue_comment(&one, "c2", " ", None).await;
    assert_eq!(e.unwrap_err().code(), "invalid_input");
    local.delete_issue_comment(&one, "c3").await.unwrap();
    let e = local.delete_issue_comment(&one, "c3").await;
    assert_eq!(e.unwrap_err().code(), "not_found");
    repo.user("bob");
    let bobs = repo.open().await;
    let e = bobs.edit_issue_comment(&one, "c2", "Mine", None).await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    let e = bobs.delete_issue_comment(&one, "c2").await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    let read = bobs.issue(&one, &IssueFields::COMMENTS).await.unwrap();
    let comments = read.comments.unwrap();
    let bodies: Vec<_> = comments.iter().map(|c| c.body.as_str()).collect();
    assert_eq!((read.comments_count, bodies), (1, vec!["Better"]));
}

#[tokio::test]
async fn deleted_comment_mentions_nothing() {
    let repo = Repo::new();
    let local = repo.open().await;
    let one = open(&local, "One").await.id;
    let two = open(&local, "Two").await.id;
    local.create_issue_comment(&one, "see #2").await.unwrap();
    local
        .create_issue_comment(&two, &format!("see {one}"))
        .await
        .unwrap();
    let links = local.links(&Subject::Issue(two.clone())).await.unwrap();
    assert_eq!((links.mentioned_by.len(), links.mentions.len()), (1, 1));
    let links = local.links(&Subject::Issue(one.clone())).await.unwrap();
    assert_eq!((links.mentioned_by.len(), links.mentions.len()), (1, 1));
    assert_eq!(links.mentioned_by[0].to_string(), two.to_string());
    local.delete_issue_comment(&one, "c2").await.unwrap();
    let links = local.links(&Subject::Issue(two)).await.unwrap();
    assert!(links.mentioned_by.is_empty());
}

#[tokio::test]
async fn issue_history_shows_each_kind_of_change() {
    let repo = Repo::new();
    let local = repo.open().await;
    let one = open(&local, "One").await.id;
    open(&local, "Two").await;
    local.create_issue_comment(&one, "Hi.").await.unwrap();
    let two = id(&local, 2);
    let mut edit = EditIssue::default();
    edit.title = Some("Uno".into());
    edit.body = Some("Text".into());
    edit.labels = SetChange {
        add: vec!["bug".into()],
        remove: Vec::new(),
    };
    edit.assignees = SetChange {
        add: vec!["bob".into()],
        remove: Vec::new(),
    };
    edit.values = [("Status".to_owned(), Some("Done".to_owned()))].into();
    edit.parent = Some(Some(two.clone()));
    edit.blocked_by = SetChange {
        add: vec![two.clone()],
        remove: Vec::new(),
    };
    edit.state = Some(IssueState::Closed);
    edit.reason = Some(IssueReason::NotPlanned);
    edit.comment = Some("Bye.".into());
    local.edit_issue(&one, &edit).await.unwrap();
    let mut back = EditIssue::default();
    back.values = [("Status".to_owned(), None)].into();
    back.parent = Some(None);
    back.blocked_by = SetChange {
        add: Vec::new(),
        remove: vec![two],
    };
    back.state = Some(IssueState::Open);
    local.edit_issue(&one, &back).await.unwrap();
    let edited = local.edit_issue_comment(&one, "c2", "Hello.", None);
    edited.await.unwrap();
    local.delete_issue_comment(&one, "c2").await.unwrap();
    let page = local.issue_history(&one, PageReq::first(100)).await;
    let page = page.unwrap();
    let lines: Vec<_> = page
        .items
        .iter()
        .map(|e| (e.kind, e.detail.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(
        lines,
        [
            (Kind::Opened, ""),
            (Kind::Commented, "c2"),
            (Kind::Edited, "title: Uno, body"),
            (Kind::Labeled, "+bug"),
            (Kind::Assigned, "+bob"),
            (Kind::Related, "Status: Done, parent: #2, blocked by: +#2"),
            (Kind::Closed, "not planned"),
            (Kind::Commented, "c3"),
            (
                Kind::Related,
                "Status cleared, parent #2 removed, blocked by: -#2"
            ),
            (Kind::Reopened, ""),
            (Kind::Edited, "comment c2"),
            (Kind::Edited, "comment c2 deleted"),
        ]
    );
    assert!(page.items.iter().all(|e| e.actor.login == "alice"));
    let short = local.issue_history(&one, PageReq::first(3)).await.unwrap();
    assert!(short.items.len() == 3 && short.next.is_some());
}

#[tokio::test]
async fn deleted_issue_keeps_only_number() {
    let repo = Repo::new();
    let local = repo.open().await;
    for title in ["One", "Secret"] {
        open(&local, title).await;
    }
    let two = id(&local, 2);
    local
        .create_issue_comment(&two, "Secret too")
        .await
        .unwrap();
    local
        .create_issue_comment(&id(&local, 1), "see #2")
        .await
        .unwrap();
    let gone = local.delete_issue(&two).await.unwrap();
    assert_eq!(gone.ingestion.word(), "immediate");
    let e = local.issue(&two, &IssueFields::NONE).await.unwrap_err();
    assert_eq!(e.code(), "not_found");
    assert!(e.message().contains("was deleted by alice"), "{e}");
    for e in [
        local.delete_issue(&two).await.unwrap_err(),
        local.create_issue_comment(&two, "x").await.unwrap_err(),
        local
            .issue_history(&two, PageReq::first(9))
            .await
            .unwrap_err(),
        local
            .edit_issue(&two, &EditIssue::default())
            .await
            .unwrap_err(),
    ] {
        assert_eq!(e.code(), "not_found", "{e}");
    }
    let listed = all(&local).await;
    assert_eq!((listed.items.len(), listed.warnings.len()), (1, 0));
    let links = local.links(&Subject::Issue(id(&local, 1))).await.unwrap();
    assert!(links.mentions.is_empty() && links.warnings.is_empty());
    assert_eq!(open(&local, "Three").await.number, Some(3));
    // Neither a ref nor a reflog leads to the text.
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    let objects = repo.git(&["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!objects.contains("Secret"), "{objects}");
    let log = repo.git(&["log", "--format=%s", "refs/forge/issues/2"]);
    assert_eq!(log.lines().next(), Some("delete: alice"));
}
