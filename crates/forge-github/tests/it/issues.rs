//! Issues: requests, mapped answers, and writes whose answer is lost.

use forge_core::{
    Action, Error, Op, PageReq, Param, Retry,
    model::{
        EditIssue, IssueFields, IssueFilter, IssueId, IssueQuery, IssueReason, IssueState,
        NewIssue, SetIssueState,
    },
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, answer, body, data, error, gateway, refused, repo_id},
    wire::{comment, label, nodes, page, user},
};

fn id() -> IssueId {
    IssueId::number(repo_id(), 7)
}

pub fn issue(number: u64, other: Value) -> Value {
    let mut issue = json!({
        "__typename": "Issue",
        "id": format!("I_{number}"),
        "number": number,
        "title": format!("Title {number}"),
        "body": "Text.",
        "state": "OPEN",
        "stateReason": null,
        "url": format!("https://github.com/octo/tools/issues/{number}"),
        "createdAt": "2026-01-02T03:04:05Z",
        "updatedAt": "2026-01-03T03:04:05Z",
        "closedAt": null,
        "author": user("ada"),
        "labels": { "nodes": [label("bug")] },
        "assignees": { "nodes": [user("grace")] },
        "comments": { "totalCount": 2 },
    });
    for (key, value) in other.as_object().unwrap() {
        issue[key] = value.clone();
    }
    issue
}

fn one(issue: Value) -> Value {
    json!({ "repository": { "issue": issue } })
}

fn edited(issue: Value) -> Value {
    json!({ "e0": { "issue": issue }, "r0": {} })
}

fn closed() -> Value {
    issue(
        7,
        json!({ "state": "CLOSED", "stateReason": "NOT_PLANNED", "closedAt": "2026-01-04T00:00:00Z" }),
    )
}

fn close() -> SetIssueState {
    SetIssueState::to(IssueState::Closed)
        .with_reason(IssueReason::NotPlanned)
        .with_comment("Not now.")
}

fn prepared() -> Value {
    json!({
        "viewer": { "login": "ada" },
        "repository": {
            "id": "R_1", "isArchived": false, "hasIssuesEnabled": true,
            "newest": { "nodes": [{ "number": 6 }] },
            "label0": { "id": "LA_bug", "name": "bug" },
            "labels": { "nodes": [label("bug")] },
        },
        "me": { "id": "U_ada", "login": "ada" },
    })
}

fn new() -> NewIssue {
    let mut new = NewIssue::new("Title 7", "Text.");
    new.labels = vec!["bug".into()];
    new.assignees = vec!["@me".into()];
    new
}

#[tokio::test]
async fn issue_list_uses_search_for_filters() {
    let list = |list: Value| json!({ "repository": { "issues": list } });
    let found = json!({
        "issueCount": 2,
        "nodes": [issue(5, json!({})), issue(4, json!({ "state": "CLOSED" }))],
        "pageInfo": { "hasNextPage": false, "endCursor": null },
    });
    let script = Script::play(vec![
        data("IssueList", list(page(vec![issue(9, json!({}))], "c1"))),
        data("IssueList", list(nodes(vec![issue(8, json!({}))]))),
        data("IssueSearch", json!({ "search": found })),
    ])
    .await;
    let mut query = IssueQuery::default();
    query.state = IssueFilter::All;
    let first = script.repo.issues(&query, PageReq::first(1)).await.unwrap();
    let next = PageReq::after(first.next.clone().unwrap(), 1);
    let second = script.repo.issues(&query, next).await.unwrap();
    let mut query = IssueQuery::default();
    query.author = Some("ada".into());
    query.assignee = Some("@me".into());
    query.labels = vec!["help wanted".into(), "bug".into()];
    let found = script
        .repo
        .issues(&query, PageReq::first(30))
        .await
        .unwrap();
    assert_json_snapshot!("issue_lists", (script.sent(), [first, second, found]));
}

#[tokio::test]
async fn issues_missing_from_answer_are_counted_in_warning() {
    let list = |list: Value| json!({ "repository": { "issues": list } });
    let rows = nodes(vec![issue(8, json!({})), Value::Null]);
    let none = json!({ "totalCount": 2, "nodes": [] });
    let script = Script::play(vec![
        data("IssueList", list(rows)),
        data("IssueList", list(none)),
    ])
    .await;
    for (rows, missing) in [(1, "left out 1 issue(s)"), (0, "left out 2 issue(s)")] {
        let query = IssueQuery::default();
        let page = script.repo.issues(&query, PageReq::first(10)).await;
        let page = page.unwrap();
        assert_eq!((page.items.len(), page.warnings.len()), (rows, 1));
        assert!(page.warnings[0].message.contains(missing), "{page:?}");
    }
    script.sent();
}

#[tokio::test]
async fn issue_view_takes_one_request_per_hundred_comments() {
    let with = |list: Value| one(issue(7, json!({ "allComments": list })));
    let script = Script::play(vec![
        data("IssueView", one(issue(7, json!({})))),
        data(
            "IssueView",
            with(page(vec![comment("IC_1", "ada", "One")], "c1")),
        ),
        data(
            "IssueView",
            with(nodes(vec![comment("IC_2", "grace", "Two")])),
        ),
    ])
    .await;
    let plain = script
        .repo
        .issue(&id(), &IssueFields::default())
        .await
        .unwrap();
    let fields = IssueFields::COMMENTS;
    let full = script.repo.issue(&id(), &fields).await.unwrap();
    assert_json_snapshot!("issue_view", (script.sent(), [plain, full]));
}

#[tokio::test]
async fn oversized_comments_are_read_in_smaller_pages() {
    let with = |list: Value| data("IssueView", one(issue(7, json!({ "allComments": list }))));
    let long = || with(nodes(vec![comment("IC_0", "eve", &"x".repeat(9 << 20))]));
    let script = Script::play(vec![
        long(),
        with(page(vec![comment("IC_1", "eve", "1")], "c1")),
        long(),
        with(nodes(vec![comment("IC_2", "ada", "2")])),
    ])
    .await;
    let found = script.repo.issue(&id(), &IssueFields::COMMENTS).await;
    let found = found.unwrap();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    assert_eq!(found.comments.unwrap().len(), 2);
    for (document, size) in script.documents().iter().zip([100, 50, 100, 50]) {
        let list = format!("comments(first: {size}, after: $after)");
        assert!(document.contains(&list), "{size}: {document}");
    }
    assert_eq!(script.sent()[2].1["after"], "c1");
}

#[tokio::test]
async fn oversized_neighbours_are_read_without_comments() {
    let long = || {
        let long = ResponseTemplate::new(200).set_body_string("x".repeat(9 << 20));
        answer("RelatedIssues", long)
    };
    let list = nodes(vec![comment("IC_1", "ada", "1")]);
    let found = json!({ "i0": { "issue": issue(7, json!({ "allComments": list })) } });
    let mut steps: Vec<_> = (0..7).map(|_| long()).collect();
    steps.push(data("RelatedIssues", found));
    let script = Script::play(steps).await;
    let fields = IssueFields::COMMENTS;
    let set = script.repo.related_issues(&[id()], &fields).await.unwrap();
    assert_eq!(set.issues[0].comments.as_ref().unwrap().len(), 1);
    let documents = script.documents();
    // The documents read the comments of the issue and of its neighbours. The last document reads
    // only the comments of the issue.
    for (document, lists) in documents.iter().zip([2, 2, 2, 2, 2, 2, 2, 1]) {
        let count = document.matches("comments(first: ").count();
        assert_eq!(count, lists, "{document}");
    }
    script.sent();
}

#[tokio::test]
async fn missing_issue_is_not_found() {
    let script = Script::play(vec![
        refused(
            "IssueView",
            "repository",
            "NOT_FOUND",
            "Could not resolve to an Issue with the number of 7.",
        ),
        data("IssueView", one(Value::Null)),
    ])
    .await;
    for _ in 0..2 {
        let e = script.repo.issue(&id(), &IssueFields::default()).await;
        assert_eq!(e.unwrap_err().code(), "not_found");
    }
    let too_large = IssueId::number(repo_id(), 1 << 40);
    let e = script.repo.issue(&too_large, &IssueFields::default()).await;
    assert_eq!(e.unwrap_err().code(), "not_found");
    script.sent();
}

#[tokio::test]
async fn issue_lifecycle_sends_expected_requests() {
    let newest = json!({ "newestComment": { "nodes": [{ "id": "IC_0" }] } });
    let made = json!({ "commentEdge": { "node": comment("IC_1", "ada", "Not now.") } });
    let script = Script::play(vec![
        data("IssuePrepare", prepared()),
        data(
            "createIssue",
            json!({ "m": { "issue": issue(7, json!({})) } }),
        ),
        data("IssueEdit", edited(issue(7, json!({})))),
        data(
            "updateIssue",
            json!({ "e0_0": { "issue": issue(7, json!({ "title": "New" })) } }),
        ),
        data("IssueView", one(issue(7, newest.clone()))),
        data(
            "addComment",
            json!({ "comment": made, "change": { "issue": closed() } }),
        ),
        data("IssueView", one(closed())),
        data(
            "reopenIssue",
            json!({ "change": { "issue": issue(7, json!({ "stateReason": "REOPENED" })) } }),
        ),
        data("IssueView", one(issue(7, newest))),
        data("addComment", json!({ "m": made })),
    ])
    .await;
    let repo = &script.repo;
    let opened = repo.create_issue(&new()).await.unwrap();
    let mut edit = EditIssue::default();
    edit.title = Some("New".into());
    let edited = repo.edit_issue(&id(), &edit).await.unwrap();
    let done = repo.set_issue_state(&id(), &close()).await.unwrap();
    let again = SetIssueState::to(IssueState::Open);
    let again = repo.set_issue_state(&id(), &again).await.unwrap();
    let said = repo.create_issue_comment(&id(), "Not now.").await.unwrap();
    let outcomes = [opened, edited, done, again].map(|o| o.value);
    assert_json_snapshot!("issue_writes", (script.sent(), outcomes, said.value));
}

#[tokio::test]
async fn issue_change_already_in_effect_is_not_sent() {
    let script = Script::play(vec![
        data("IssueView", one(closed())),
        data("IssueEdit", edited(closed())),
    ])
    .await;
    let outcome = script.repo.set_issue_state(&id(), &close()).await.unwrap();
    assert!(outcome.unchanged);
    let mut edit = EditIssue::default();
    edit.body = Some("Text.".into());
    assert!(
        script
            .repo
            .edit_issue(&id(), &edit)
            .await
            .unwrap()
            .unchanged
    );
    assert_eq!(script.names(), ["IssueView", "IssueEdit"]);
}

#[tokio::test]
async fn disabled_issues_are_refused_before_write() {
    let mut without = prepared();
    without["repository"]["hasIssuesEnabled"] = json!(false);
    let script = Script::play(vec![data("IssuePrepare", without)]).await;
    let e = script.repo.create_issue(&new()).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed");
    assert_eq!(script.names(), ["IssuePrepare"]);
}

/// Checks the result of a write whose answer was lost: a warning if the write happened, otherwise
/// an ambiguous error.
fn check_lost_result<T>(result: Result<forge_core::Outcome<T>, Error>, happened: bool) {
    match result {
        Ok(outcome) => assert!(happened && !outcome.warnings.is_empty()),
        Err(e) => {
            assert!(!happened, "{e:?}");
            assert_eq!(e.retry(), Retry::Ambiguous);
        }
    }
}

#[tokio::test]
async fn issue_with_lost_answer_is_read_back() {
    let list = |list: Vec<Value>| json!({ "repository": { "issues": nodes(list) } });
    let other = issue(6, json!({ "title": "Title 7" }));
    for happened in [true, false] {
        let mut all = vec![other.clone()];
        if happened {
            all.insert(0, issue(7, json!({})));
        }
        let script = Script::play(vec![
            data("IssuePrepare", prepared()),
            gateway("createIssue"),
            data("IssueList", list(all)),
        ])
        .await;
        check_lost_result(script.repo.create_issue(&new()).await, happened);
        script.sent();

        let newest = json!({ "newestComment": { "nodes": [{ "id": "IC_0" }] } });
        let mut recent = vec![comment("IC_0", "ada", "Not now.")];
        if happened {
            recent.push(comment("IC_1", "ada", "Not now."));
        }
        let now = |mut issue: Value| {
            issue["recentComments"] = json!({ "nodes": recent.clone() });
            one(issue)
        };
        let after = if happened {
            closed()
        } else {
            issue(7, json!({}))
        };
        let script = Script::play(vec![
            data("IssueView", one(issue(7, newest.clone()))),
            gateway("addComment"),
            data("IssueView", now(after.clone())),
            data("IssueView", one(issue(7, newest))),
            gateway("addComment"),
            data("IssueView", now(after)),
        ])
        .await;
        check_lost_result(script.repo.set_issue_state(&id(), &close()).await, happened);
        check_lost_result(
            script.repo.create_issue_comment(&id(), "Not now.").await,
            happened,
        );
        script.sent();
    }
}

#[tokio::test]
async fn issue_close_with_failed_comment_suggests_comment() {
    let mut half = json!({ "data": { "comment": null, "change": { "issue": closed() } } });
    half["errors"] = json!([error(
        &["comment"],
        "UNPROCESSABLE",
        "was submitted too quickly"
    )]);
    let script = Script::play(vec![
        data("IssueView", one(issue(7, json!({})))),
        body("addComment", half),
    ])
    .await;
    let made = script.repo.set_issue_state(&id(), &close()).await.unwrap();
    let hint = made.warnings[0].hint.as_ref().unwrap();
    let again = Action::op(Op::IssueComment)
        .on(7)
        .with(Param::Body, "Not now.");
    assert_eq!(hint.action(), Some(&again));
    script.sent();
}

#[tokio::test]
async fn issue_close_refused_after_comment_mentions_comment() {
    let made = json!({ "commentEdge": { "node": comment("IC_1", "ada", "Not now.") } });
    for (made, is_commented) in [(made, true), (Value::Null, false)] {
        let refused = |root: &str| error(&[root], "FORBIDDEN", "ada does not have permission");
        let mut errors = vec![refused("change")];
        if !is_commented {
            errors.push(refused("comment"));
        }
        let half = json!({ "data": { "comment": made, "change": null }, "errors": errors });
        let script = Script::play(vec![
            data("IssueView", one(issue(7, json!({})))),
            body("addComment", half),
        ])
        .await;
        let e = script.repo.set_issue_state(&id(), &close()).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "permission_denied");
        let message = e.message();
        assert_eq!(
            message.starts_with("the comment was added, but the change failed: "),
            is_commented,
            "{message}"
        );
        script.sent();
    }
}

#[tokio::test]
async fn issue_partial_comments_are_warning() {
    let first = page(vec![comment("IC_1", "ada", "One")], "c1");
    let with = |list: Value| one(issue(7, json!({ "allComments": list })));
    let mut lost = json!({ "data": with(Value::Null) });
    let path = ["repository", "issue", "allComments"];
    lost["errors"] = json!([error(&path, "SERVICE_UNAVAILABLE", "Something went wrong")]);
    let mut hole = json!({ "data": with(nodes(vec![Value::Null])) });
    hole["errors"] = lost["errors"].clone();
    for (answers, read) in [
        (vec![body("IssueView", lost.clone())], 0),
        (vec![body("IssueView", hole)], 0),
        (
            vec![
                data("IssueView", with(first.clone())),
                body("IssueView", lost.clone()),
            ],
            1,
        ),
        (
            vec![
                data("IssueView", with(first.clone())),
                data("IssueView", with(Value::Null)),
            ],
            1,
        ),
        (
            vec![
                data("IssueView", with(first.clone())),
                data("IssueView", with(first.clone())),
            ],
            2,
        ),
    ] {
        let script = Script::play(answers).await;
        let fields = IssueFields::COMMENTS;
        let found = script.repo.issue(&id(), &fields).await.unwrap();
        assert_eq!(found.comments.map(|all| all.len()), Some(read));
        let mut warnings = found.warnings.iter();
        assert!(
            warnings.any(|w| w.section == Some("comments")),
            "{:?}",
            found.warnings
        );
        script.sent();
    }
}

#[tokio::test]
async fn issue_change_with_contradictory_answer_is_read_back() {
    let open = || issue(7, json!({}));
    for happened in [true, false] {
        let after = |done: Value, before: Value| one(if happened { done } else { before });
        let script = Script::play(vec![
            data("IssueView", one(open())),
            data("closeIssue", json!({ "change": { "issue": open() } })),
            data("IssueView", after(closed(), open())),
            data("IssueView", one(closed())),
            data("reopenIssue", json!({ "change": { "issue": closed() } })),
            data("IssueView", after(open(), closed())),
        ])
        .await;
        for state in [IssueState::Closed, IssueState::Open] {
            let req = SetIssueState::to(state);
            match script.repo.set_issue_state(&id(), &req).await {
                Ok(made) => assert!(happened && made.value.state == state, "{made:?}"),
                Err(e) => {
                    assert!(!happened, "{e}");
                    assert_eq!((e.code(), e.retry()), ("protocol", Retry::Ambiguous));
                    assert!(e.message().contains("is unchanged"), "{e}");
                }
            }
        }
        script.sent();
    }
}
