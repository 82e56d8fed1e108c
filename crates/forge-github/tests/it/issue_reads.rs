//! Relations, history, comments and files on the double, with counts of requests.

use std::sync::Arc;

use forge_core::{
    Capability, Client, PageReq, Policy, Repo,
    model::{
        DirectoryEntry, EditIssue, Issue, IssueFields, IssueId, IssueSet, IssueState, NewIssue,
        PathContent, SetChange, StatusEvent, StatusEventKind,
    },
};
use forge_github::{FixedToken, GitHub};
use forge_github_double::{Fault, state::Permission};

use crate::{
    double::{handle, http},
    issue_edits::{Board, id, on_board, values},
};

const REPO: &str = "octo/tools";
const OTHER: &str = "octo/other";

fn numbers(set: &IssueSet) -> Vec<u64> {
    set.issues.iter().filter_map(|i| i.number).collect()
}

fn of(set: &IssueSet, number: u64) -> &Issue {
    let mut issues = set.issues.iter();
    issues.find(|i| i.number == Some(number)).unwrap()
}

#[tokio::test]
async fn group_within_two_hops_takes_two_requests() {
    let b = Board::new(9);
    let repo = &b.world.ada;
    let mut seed = b.world.double.seed();
    // Issue 1 is the parent of issues 2, 3 and 4. Issue 7 is the parent of issue 5, which is the
    // parent of issue 8. Issue 5 blocks issue 2, which blocks issue 6.
    for n in 2..=4 {
        seed.sub_issue((REPO, 1), (REPO, n));
    }
    seed.blocked_by((REPO, 2), (REPO, 5));
    seed.blocked_by((REPO, 6), (REPO, 2));
    seed.sub_issue((REPO, 7), (REPO, 5));
    seed.sub_issue((REPO, 5), (REPO, 8));
    seed.label_issue(REPO, 5, "bug");
    drop(seed);
    b.item(5, "Doing");
    let (set, sent) = b
        .sent(repo.related_issues(&[id(repo, 2)], &on_board()))
        .await;
    let set = set.unwrap();
    assert_eq!(sent, ["RelatedIssues"]);
    assert_eq!(numbers(&set), [2, 1, 5, 6]);
    // Neighbours have values and the ids of their own neighbours.
    let five = of(&set, 5);
    assert_eq!(five.values["Status"], "Doing");
    assert_eq!(five.labels[0].name, "bug");
    let relations = five.relations.as_ref().unwrap();
    assert_eq!(relations.parent.as_ref().unwrap().id, id(repo, 7));
    assert_eq!(relations.sub_issues[0].title, "Issue 8");
    assert!(
        set.issues
            .iter()
            .all(|i| !i.relations.as_ref().unwrap().truncated)
    );
    let hop: Vec<IssueId> = [3, 4, 7, 8].map(|n| id(repo, n)).into();
    let (set, sent) = b.sent(repo.related_issues(&hop, &on_board())).await;
    assert_eq!(sent, ["RelatedIssues"]);
    assert_eq!(numbers(&set.unwrap())[..4], [3, 4, 7, 8]);
    // The version of a neighbour can be the expected version of an edit.
    let mut edit = values([("Status", Some("Done"))]);
    edit.expected_version = Some(five.version.clone());
    b.world.grace.edit_issue(&id(repo, 5), &edit).await.unwrap();
    let e = repo.edit_issue(&id(repo, 5), &edit).await.unwrap_err();
    assert_eq!(e.code(), "conflict");
}

#[tokio::test]
async fn related_issues_are_read_ten_per_query() {
    let b = Board::new(25);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    let mut ids: Vec<IssueId> = (1..=25).map(|n| id(repo, n)).collect();
    ids.push(id(repo, 1));
    ids.push(id(repo, 99));
    let mut with_comments = on_board();
    with_comments.comments = true;
    for fields in [IssueFields::NONE, with_comments] {
        let (set, sent) = b.sent(repo.related_issues(&ids, &fields)).await;
        let set = set.unwrap();
        assert_eq!(sent.len(), 3);
        assert_eq!(numbers(&set), (1..=25).collect::<Vec<_>>());
        assert_eq!(set.failed.len(), 1);
        assert_eq!(set.failed[0].0, id(repo, 99));
        assert_eq!(set.failed[0].1.code(), "not_found");
    }
    let e = repo
        .related_issues(&[id(repo, 99)], &IssueFields::NONE)
        .await;
    assert_eq!(e.unwrap_err().code(), "not_found");
    let (set, sent) = b.sent(repo.related_issues(&[], &IssueFields::NONE)).await;
    assert!(set.unwrap().issues.is_empty() && sent.is_empty());
}

#[tokio::test]
async fn neighbour_issues_have_comments() {
    let b = Board::new(3);
    let repo = &b.world.ada;
    {
        let mut seed = b.world.double.seed();
        seed.sub_issue((REPO, 1), (REPO, 2));
        seed.sub_issue((REPO, 1), (REPO, 3));
        seed.comment(REPO, 2, "ada", "Mine.");
        for n in 0..51 {
            seed.comment(REPO, 3, "ada", &format!("Remark {n}."));
        }
    }
    let asked = [id(repo, 1)];
    let (set, sent) = b
        .sent(repo.related_issues(&asked, &IssueFields::COMMENTS))
        .await;
    let set = set.unwrap();
    assert_eq!(sent.len(), 1);
    // An issue with more comments than the page for neighbours is left out.
    assert_eq!(numbers(&set), [1, 2]);
    let comments = of(&set, 2).comments.as_ref().unwrap();
    let bodies: Vec<&str> = comments.iter().map(|c| c.body.as_str()).collect();
    assert_eq!(bodies, ["Mine."]);
    let plain = repo.related_issues(&asked, &IssueFields::NONE).await;
    let plain = plain.unwrap();
    assert_eq!(numbers(&plain), [1, 2, 3]);
    assert!(of(&plain, 2).comments.is_none());
}

#[tokio::test]
async fn neighbour_with_long_lists_is_left_out() {
    let b = Board::new(30);
    let repo = &b.world.ada;
    let mut seed = b.world.double.seed();
    for n in 3..=30 {
        seed.sub_issue((REPO, 2), (REPO, n));
    }
    seed.blocked_by((REPO, 1), (REPO, 2));
    drop(seed);
    let set = repo
        .related_issues(&[id(repo, 1)], &IssueFields::NONE)
        .await
        .unwrap();
    assert_eq!(numbers(&set), [1]);
    let set = repo
        .related_issues(&[id(repo, 2)], &IssueFields::NONE)
        .await
        .unwrap();
    let relations = of(&set, 2).relations.clone().unwrap();
    assert_eq!(
        (relations.sub_issues.len(), relations.truncated),
        (28, false)
    );
    assert_eq!(set.issues.len(), 30);
}

#[tokio::test]
async fn relations_reach_other_repositories() {
    let b = Board::new(1);
    let repo = &b.world.ada;
    let mut seed = b.world.double.seed();
    seed.repo_with_readme(OTHER);
    let far = seed.open_issue(OTHER, "ada", "Elsewhere", "");
    seed.blocked_by((REPO, 1), (OTHER, far));
    drop(seed);
    let set = repo
        .related_issues(&[id(repo, 1)], &IssueFields::NONE)
        .await
        .unwrap();
    let there = of(&set, 1).relations.as_ref().unwrap().blocked_by[0]
        .id
        .clone();
    assert_eq!(there.to_string(), "github:github.localhost/octo/other#1");
    assert_eq!(set.issues[1].id, there);
    let back = set.issues[1].relations.as_ref().unwrap();
    assert_eq!(back.blocking[0].id, id(repo, 1));
    // Edits can add and remove relations across repositories.
    let edit = |add: bool| {
        let mut edit = EditIssue::default();
        edit.blocked_by = SetChange {
            add: if add { vec![there.clone()] } else { vec![] },
            remove: if add { vec![] } else { vec![there.clone()] },
        };
        edit
    };
    for add in [false, true] {
        let done = repo.edit_issue(&id(repo, 1), &edit(add)).await.unwrap();
        let relations = done.value.relations.unwrap();
        assert_eq!(relations.blocked_by.len(), usize::from(add));
    }
    b.world
        .double
        .seed()
        .configure(OTHER, |repo| repo.private = true);
    b.world
        .double
        .seed()
        .token("gho_0canary0alan", "alan", &["repo"]);
    let alan = handle(&b.world.double, "gho_0canary0alan");
    let set = alan
        .related_issues(&[id(repo, 1)], &IssueFields::NONE)
        .await
        .unwrap();
    assert!(
        of(&set, 1)
            .relations
            .as_ref()
            .unwrap()
            .blocked_by
            .is_empty()
    );
}

#[tokio::test]
async fn history_has_every_kind_in_order_and_pages() {
    let b = Board::new(3);
    b.item(1, "Todo");
    let (ada, grace) = (&b.world.ada, &b.world.grace);
    let one = id(ada, 1);
    let mut edit = values([("Status", Some("Done"))]);
    edit.title = Some("New".into());
    edit.labels = SetChange {
        add: vec!["bug".into()],
        remove: vec![],
    };
    edit.assignees = SetChange {
        add: vec!["grace".into()],
        remove: vec![],
    };
    edit.parent = Some(Some(id(ada, 2)));
    edit.blocked_by = SetChange {
        add: vec![id(ada, 3)],
        remove: vec![],
    };
    edit.state = Some(IssueState::Closed);
    edit.comment = Some("Done.".into());
    grace.edit_issue(&one, &edit).await.unwrap();
    let (page, sent) = b.sent(ada.issue_history(&one, PageReq::first(100))).await;
    assert_eq!(sent, ["IssueTimeline"]);
    let events = page.unwrap().items;
    let told: Vec<_> = events
        .iter()
        .map(|e| (e.kind, e.detail.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            (StatusEventKind::Opened, ""),
            (StatusEventKind::Edited, "title: 'Issue 1' to 'New'"),
            (StatusEventKind::Labeled, "+bug"),
            (StatusEventKind::Assigned, "+grace"),
            (StatusEventKind::Related, "parent: +#2"),
            (StatusEventKind::Related, "blocked by: +#3"),
            (StatusEventKind::Related, "Status: 'Todo' to 'Done'"),
            (StatusEventKind::Commented, ""),
            (StatusEventKind::Closed, ""),
        ]
    );
    assert!(events[1..].iter().all(|e| e.actor.login == "grace"));
    let mut paged: Vec<StatusEvent> = Vec::new();
    let mut page = ada.issue_history(&one, PageReq::first(1)).await.unwrap();
    loop {
        paged.append(&mut page.items);
        let Some(next) = page.next else { break };
        page = ada
            .issue_history(&one, PageReq::after(next, 4))
            .await
            .unwrap();
    }
    let ids = |events: &[StatusEvent]| events.iter().map(|e| e.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&paged), ids(&events));
    let e = ada
        .issue_history(&id(ada, 99), PageReq::first(1))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "not_found");
}

#[tokio::test]
async fn issue_on_older_server_is_read_without_relations() {
    let b = Board::new(2);
    let ada = &b.world.ada;
    let one = id(ada, 1);
    let mut seed = b.world.double.seed();
    seed.blocked_by((REPO, 1), (REPO, 2));
    seed.comment(REPO, 1, "ada", "Mine.");
    seed.lacks_issue_relations = true;
    drop(seed);
    let mut fields = IssueFields::COMMENTS;
    fields.relations = true;
    let (issue, sent) = b.sent(ada.issue(&one, &fields)).await;
    let issue = issue.unwrap();
    assert_eq!(sent, ["IssueView", "IssueView"]);
    assert!(issue.relations.unwrap().truncated);
    assert_eq!(issue.comments.unwrap().len(), 1);
    let sections: Vec<_> = issue.warnings.iter().map(|w| w.section).collect();
    assert_eq!(sections, [Some("blocked_by")]);

    let (page, sent) = b.sent(ada.issue_history(&one, PageReq::first(100))).await;
    let page = page.unwrap();
    assert_eq!(sent, ["IssueTimeline", "IssueTimeline"]);
    let kinds: Vec<_> = page.items.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [StatusEventKind::Opened, StatusEventKind::Commented]);
    let warning = &page.warnings[0].message;
    assert!(warning.contains("No such type"), "{warning}");
}

#[tokio::test]
async fn comments_of_same_second_keep_order() {
    let b = Board::new(1);
    b.world.double.seed().same_second = true;
    let one = id(&b.world.ada, 1);
    for n in 0..4 {
        let who = if n % 2 == 0 {
            &b.world.grace
        } else {
            &b.world.ada
        };
        who.create_issue_comment(&one, &format!("{n}"))
            .await
            .unwrap();
    }
    let issue = b
        .world
        .ada
        .issue(&one, &IssueFields::COMMENTS)
        .await
        .unwrap();
    let comments = issue.comments.unwrap();
    let bodies: Vec<_> = comments.iter().map(|c| c.body.as_str()).collect();
    assert_eq!(bodies, ["0", "1", "2", "3"]);
    assert!(
        comments
            .iter()
            .all(|c| c.created_at == comments[0].created_at)
    );
}

#[tokio::test]
async fn comments_are_edited_and_deleted_by_id() {
    let b = Board::new(2);
    let repo = &b.world.ada;
    let one = id(repo, 1);
    let made = repo
        .create_issue_comment(&one, "First.")
        .await
        .unwrap()
        .value;
    let (done, sent) = b
        .sent(repo.edit_issue_comment(&one, &made.id, "Second.", None))
        .await;
    assert_eq!(sent, ["IssueComment", "updateIssueComment"]);
    assert_eq!(done.unwrap().value.body, "Second.");
    let e = repo
        .edit_issue_comment(&one, &made.id, "Third.", Some("stale"))
        .await;
    assert_eq!(e.unwrap_err().code(), "conflict");
    // A comment of another issue is refused.
    let two = id(repo, 2);
    for key in [made.id.as_str(), "IC_nothing"] {
        let e = repo.delete_issue_comment(&two, key).await.unwrap_err();
        assert_eq!(e.code(), "not_found", "{key}");
    }
    b.world
        .double
        .fault(Fault::status(502).on_mutations().committed());
    let (done, sent) = b.sent(repo.delete_issue_comment(&one, &made.id)).await;
    assert_eq!(done.unwrap().warnings.len(), 1);
    assert_eq!(sent, ["IssueComment", "deleteIssueComment", "Node"]);
    let issue = repo.issue(&one, &IssueFields::COMMENTS).await.unwrap();
    assert!(issue.comments.unwrap().is_empty());
}

#[tokio::test]
async fn issue_delete_requires_administrator() {
    let b = Board::new(2);
    let one = id(&b.world.ada, 1);
    let (e, sent) = b.sent(b.world.grace.delete_issue(&one)).await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    assert_eq!(sent, ["IssueView", "deleteIssue"]);
    let (done, sent) = b.sent(b.world.ada.delete_issue(&one)).await;
    assert!(done.unwrap().warnings.is_empty());
    assert_eq!(sent, ["IssueView", "deleteIssue"]);
    let e = b.world.ada.delete_issue(&one).await.unwrap_err();
    assert_eq!(e.code(), "not_found");
    b.world
        .double
        .fault(Fault::status(502).on_mutations().committed());
    let done = b
        .world
        .ada
        .delete_issue(&id(&b.world.ada, 2))
        .await
        .unwrap();
    assert_eq!(done.warnings.len(), 1);
}

#[tokio::test]
async fn directory_without_entries_is_protocol_error() {
    let b = Board::new(0);
    let tree = r#"{"data":{"repository":{"at":{"__typename":"Commit"},
        "file":{"__typename":"Tree","entries":null}}}}"#;
    let answer = Fault::answer(200, &[("content-type", "application/json")], tree);
    b.world.double.fault(answer.on_operation("RepositoryFile"));
    let e = b.world.ada.repo_path("src", None).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e}");
    assert!(e.message().contains("without its entries"), "{e}");
}

#[tokio::test]
async fn reading_file_of_branch_takes_one_request() {
    let b = Board::new(0);
    let repo = &b.world.ada;
    let mut seed = b.world.double.seed();
    let large = "x".repeat((1 << 20) + 1);
    let files = [
        (".forge/workflow.toml", Some("[states]\n")),
        ("large.txt", Some(large.as_str())),
        ("binary", Some("a\0b")),
    ];
    seed.commit(REPO, "main", &files, "Add files");
    seed.commit(REPO, "side", &[("side.txt", Some("ü\n"))], "Add a file");
    drop(seed);
    let path = ".forge/workflow.toml";
    let (file, sent) = b.sent(repo.repo_file(path, None)).await;
    assert_eq!(file.unwrap().unwrap(), b"[states]\n");
    assert_eq!(sent, ["RepositoryFile"]);
    let side = repo.repo_file("side.txt", Some("side")).await.unwrap();
    assert_eq!(side.unwrap(), "ü\n".as_bytes());
    assert_eq!(repo.repo_file("side.txt", None).await.unwrap(), None);
    for path in ["large.txt", "binary", ".forge", "/"] {
        let e = repo.repo_file(path, None).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{path}");
    }
    let listed = repo.repo_path(".forge", None).await.unwrap().unwrap();
    let named = DirectoryEntry::new("workflow.toml", false);
    assert_eq!(listed, PathContent::Directory(vec![named]));
    let e = repo.repo_file(path, Some("nowhere")).await.unwrap_err();
    assert_eq!(e.code(), "not_found");
    assert!(repo.info().await.is_ok() && Capability::RepoFile.reads());
}

/// Returns a handle with a separate token for boards.
fn with_board_token(b: &Board, account: &str, boards: &str) -> Repo {
    let http = http(&b.world.double);
    let account = Arc::new(FixedToken::new(account));
    let forge = GitHub::new("github.localhost", http, account)
        .with_board_tokens(Arc::new(FixedToken::new(boards)));
    let id = b.world.ada.id().clone();
    Client::new(Arc::new(forge), Policy::default()).repo(id)
}

#[tokio::test]
async fn board_token_is_limited_to_board_requests() {
    let b = Board::new(2);
    b.item(1, "Todo");
    let mut seed = b.world.double.seed();
    seed.token("gho_0canary0plain", "ada", &["repo"]);
    seed.token("gho_0canary0board", "planner", &["repo", "project"]);
    seed.collaborator(REPO, "planner", Permission::Read);
    drop(seed);
    let repo = with_board_token(&b, "gho_0canary0plain", "gho_0canary0board");
    let one = id(&repo, 1);
    let issue = repo.issue(&one, &on_board()).await.unwrap();
    assert_eq!(issue.values["Status"], "Todo");
    let mut edit = values([("Status", Some("Done"))]);
    edit.comment = Some("Moved.".into());
    edit.state = Some(IssueState::Closed);
    let edits = [(one.clone(), edit.clone()), (id(&repo, 2), edit)];
    let (done, sent) = b.sent(repo.edit_issues(&edits)).await;
    for outcome in done.unwrap() {
        assert_eq!(outcome.unwrap().value.values["Status"], "Done");
    }
    assert_eq!(
        sent,
        [
            "IssueEdit",
            "addProjectV2ItemById",
            "updateProjectV2ItemFieldValue",
            "addComment"
        ]
    );
    let seed = b.world.double.seed();
    let ada = seed.find_account("ada");
    // The board token moved the item, and the account's token wrote the comment.
    assert_eq!(seed.comments_of(REPO, 1)[0].author, ada);
    drop(seed);
    // An edit without a board must not use the board token, which may not change issues.
    let mut open = EditIssue::default();
    open.state = Some(IssueState::Open);
    repo.edit_issue(&one, &open).await.unwrap();
    // If the board part fails, the comment is not added.
    let broken = with_board_token(&b, "gho_0canary0plain", "gho_0canary0plain");
    let mut edit = values([("Status", Some("Todo"))]);
    edit.comment = Some("Never.".into());
    let e = broken.edit_issue(&one, &edit).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert_eq!(b.world.double.seed().comments_of(REPO, 1).len(), 1);
}

#[tokio::test]
async fn projects_are_changed_with_board_token() {
    let b = Board::new(0);
    let mut seed = b.world.double.seed();
    seed.token("gho_0canary0plain", "ada", &["repo"]);
    seed.token("gho_0canary0board", "planner", &["repo", "project"]);
    seed.collaborator(REPO, "planner", Permission::Read);
    drop(seed);
    let repo = with_board_token(&b, "gho_0canary0plain", "gho_0canary0board");
    let titles = async |id: &IssueId| {
        let mut fields = IssueFields::NONE;
        fields.projects = true;
        let items = b.world.ada.issue(id, &fields).await.unwrap().projects;
        let titles = items.unwrap().into_iter().map(|item| item.title);
        titles.collect::<Vec<String>>()
    };
    let mut new = NewIssue::new("Made", "");
    new.projects = vec!["Plan".into()];
    let made = repo.create_issue(&new).await.unwrap();
    assert!(made.steps.iter().all(|s| s.done), "{:?}", made.warnings);
    let one = made.value.id;
    assert_eq!(titles(&one).await, ["Plan"]);
    let mut edit = EditIssue::default();
    edit.title = Some("Renamed".into());
    edit.projects.remove = vec!["Plan".into()];
    repo.edit_issue(&one, &edit).await.unwrap();
    assert!(titles(&one).await.is_empty());
    // The scope check tests the token that would change the board.
    let broken = with_board_token(&b, "gho_0canary0ada", "gho_0canary0plain");
    let (made, sent) = b.sent(broken.create_issue(&new)).await;
    assert_eq!(made.unwrap_err().code(), "permission_denied");
    assert_eq!(sent, ["IssuePrepare"]);
}
