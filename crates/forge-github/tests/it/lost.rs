//! Writes whose answer is lost: each is sent once, read back, and reported as it happened.

use forge_core::{
    Result, Retry,
    model::{CloseReq, CommentId, CreatePull, EditPull, MergeReq, NewReview, ThreadId, Verdict},
};
use serde_json::{Value, json};

use crate::{
    create::prepared,
    merge::{merged, ready},
    script::{Script, Step, data, gateway},
    wire::{belongs, changed, comment, line_comment, nodes, one, pull, review, thread, user},
};

/// A write: the query before the write, its mutation, and two answers for reading back: the write
/// happened, or did not happen.
struct Lost {
    before: Vec<(&'static str, Value)>,
    mutation: &'static str,
    read: &'static str,
    happened: Value,
    not: Value,
}

fn closed() -> Value {
    changed(
        7,
        json!({ "state": "CLOSED", "headRef": { "id": "H" }, "baseRef": { "id": "B" } }),
    )
}

fn with(mut pull: Value, key: &str, value: Value) -> Value {
    pull[key] = value;
    pull
}

fn listed(pulls: Vec<Value>) -> Value {
    json!({ "repository": { "pullRequests": { "nodes": pulls } } })
}

fn newest() -> Value {
    one(json!({ "id": "PR_7", "number": 7, "newestComment": { "nodes": [{ "id": "IC_0" }] } }))
}

fn recent(list: Vec<Value>) -> Value {
    one(json!({ "id": "PR_7", "number": 7, "recentComments": { "nodes": list } }))
}

fn reviewed(key: &str, list: Vec<Value>) -> Value {
    one(changed(7, json!({ key: { "nodes": list } })))
}

fn mine(mut review: Value) -> Value {
    review["viewerDidAuthor"] = json!(true);
    review
}

async fn check<T, F>(lost: Lost, write: impl Fn(Script) -> F)
where
    T: std::fmt::Debug,
    F: Future<Output = (Script, Result<forge_core::Outcome<T>>)>,
{
    let count = lost.before.len() + 2;
    let steps = |after: &Value| -> Vec<Step> {
        let mut steps: Vec<Step> = lost
            .before
            .iter()
            .map(|(n, v)| data(n, v.clone()))
            .collect();
        steps.push(gateway(lost.mutation));
        steps.push(data(lost.read, after.clone()));
        steps
    };
    let (script, outcome) = write(Script::play(steps(&lost.happened)).await).await;
    let outcome = outcome.unwrap();
    assert!(
        outcome.warnings.iter().any(|w| w
            .message
            .starts_with("the write succeeded, but its answer was lost:")),
        "{:?}",
        outcome.warnings
    );
    assert_eq!(script.names().len(), count);

    let (script, outcome) = write(Script::play(steps(&lost.not)).await).await;
    let error = outcome.unwrap_err();
    assert_eq!(
        (error.code(), error.retry()),
        ("upstream", Retry::Ambiguous)
    );
    assert!(
        error
            .hint()
            .unwrap()
            .text()
            .contains("no trace of the write"),
        "{error:?}"
    );
    assert_eq!(script.names().len(), count);
}

#[tokio::test]
async fn create_with_lost_answer_is_read_back() {
    let lost = Lost {
        before: vec![("CreatePrepare", prepared(json!({})))],
        mutation: "createPullRequest",
        read: "PullList",
        happened: listed(vec![pull(7)]),
        not: listed(vec![with(pull(8), "author", crate::wire::user("mallory"))]),
    };
    check(lost, |script| async move {
        let made = script
            .repo
            .create_pull(&CreatePull::new("feature", "T"))
            .await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn lost_answer_of_commented_close_is_read_back() {
    let lost = Lost {
        before: vec![(
            "PullView",
            one(with(
                pull(7),
                "newestComment",
                json!({ "nodes": [{ "id": "IC_0" }] }),
            )),
        )],
        mutation: "addComment",
        read: "PullView",
        happened: one(with(
            closed(),
            "recentComments",
            json!({ "nodes": [comment("IC_0", "ada", "Bye"), comment("IC_1", "ada", "Bye")] }),
        )),
        not: one(with(pull(7), "recentComments", json!({ "nodes": [] }))),
    };
    check(lost, |script| async move {
        let mut req = CloseReq::default();
        req.comment = Some("Bye".into());
        let made = script.repo.close(&script.pr(), &req).await;
        (script, made)
    })
    .await;
}

/// Returns a mutation's answer that shows the old state.
fn denied(mutation: &'static str, pull: Value) -> Step {
    let alias = match mutation {
        "mergePullRequest" => "merge",
        _ => "change",
    };
    data(mutation, json!({ alias: { "pullRequest": pull } }))
}

#[tokio::test]
async fn merge_answered_as_still_open_is_read_back() {
    let waits = json!({ "isInMergeQueue": true });
    for (after, queued) in [
        (merged(), Some(false)),
        // Another person put the pull request into the merge queue.
        (changed(7, waits), None),
        (pull(7), None),
    ] {
        let script = Script::play(vec![
            data("MergePrepare", ready(json!({}))),
            denied("mergePullRequest", pull(7)),
            data("PullView", one(after)),
        ])
        .await;
        let made = script.repo.merge(&script.pr(), &MergeReq::default()).await;
        match (made, queued) {
            (Ok(made), Some(queued)) => assert_eq!(made.value.queued, queued),
            (Err(e), None) => {
                assert_eq!((e.code(), e.retry()), ("protocol", Retry::Ambiguous));
                assert!(
                    e.message().contains("but answered that it is not merged"),
                    "{e}"
                );
            }
            (made, queued) => panic!("{queued:?}: {made:?}"),
        }
        script.sent();
    }
}

#[tokio::test]
async fn contradictory_close_and_draft_are_read_back() {
    let drafted = changed(7, json!({ "isDraft": true }));
    for happened in [true, false] {
        let after = |done: &Value| one(if happened { done.clone() } else { pull(7) });
        let script = Script::play(vec![
            data("PullView", one(pull(7))),
            denied("closePullRequest", pull(7)),
            data("PullView", after(&closed())),
            data("PullView", one(pull(7))),
            denied("convertPullRequestToDraft", pull(7)),
            data("PullView", after(&drafted)),
        ])
        .await;
        let (repo, pr) = (&script.repo, script.pr());
        let close = repo.close(&pr, &CloseReq::default()).await.map(|_| ());
        let draft = repo.set_draft(&pr, true).await.map(|_| ());
        for made in [close, draft] {
            assert_eq!(made.is_ok(), happened, "{made:?}");
            if let Err(e) = made {
                assert!(e.message().contains("is unchanged"), "{e}");
            }
        }
        script.sent();
    }
}

#[tokio::test]
async fn close_without_its_comment_gives_a_warning() {
    let old = json!({ "nodes": [comment("IC_0", "ada", "Bye")] });
    let script = Script::play(vec![
        data(
            "PullView",
            one(with(
                pull(7),
                "newestComment",
                json!({ "nodes": [{ "id": "IC_0" }] }),
            )),
        ),
        gateway("addComment"),
        data("PullView", one(with(closed(), "recentComments", old))),
    ])
    .await;
    let mut req = CloseReq::default();
    req.comment = Some("Bye".into());
    let made = script.repo.close(&script.pr(), &req).await.unwrap();
    assert!(
        made.warnings
            .iter()
            .any(|w| w.message.contains("comment was not added"))
    );
    script.sent();
}

#[tokio::test]
async fn lost_reopen_and_draft_are_read_back() {
    let lost = Lost {
        before: vec![("PullView", one(closed()))],
        mutation: "reopenPullRequest",
        read: "PullView",
        happened: one(pull(7)),
        not: one(closed()),
    };
    check(lost, |script| async move {
        let made = script.repo.reopen(&script.pr(), None).await;
        (script, made)
    })
    .await;
    let lost = Lost {
        before: vec![("PullView", one(pull(7)))],
        mutation: "convertPullRequestToDraft",
        read: "PullView",
        happened: one(changed(7, json!({ "isDraft": true }))),
        not: one(pull(7)),
    };
    check(lost, |script| async move {
        let made = script.repo.set_draft(&script.pr(), true).await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn edit_with_lost_answer_is_read_back() {
    let before = json!({ "repository": { "pullRequest": pull(7) } });
    let lost = Lost {
        before: vec![("EditPrepare", before)],
        mutation: "updatePullRequest",
        read: "PullView",
        happened: one(changed(7, json!({ "title": "New" }))),
        not: one(pull(7)),
    };
    check(lost, |script| async move {
        let mut edit = EditPull::default();
        edit.title = Some("New".into());
        let made = script.repo.edit_pull(&script.pr(), &edit).await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn merge_with_lost_answer_is_read_back() {
    let lost = Lost {
        before: vec![("MergePrepare", ready(json!({})))],
        mutation: "mergePullRequest",
        read: "PullView",
        happened: one(merged()),
        not: one(pull(7)),
    };
    check(lost, |script| async move {
        let made = script.repo.merge(&script.pr(), &MergeReq::default()).await;
        (script, made)
    })
    .await;
}

fn auto_merge(by: &str) -> Value {
    let enabled = json!({ "mergeMethod": "SQUASH", "enabledAt": "2026-01-02T03:04:05Z", "enabledBy": user(by) });
    json!({ "autoMergeRequest": enabled })
}

#[tokio::test]
async fn lost_merge_ignores_earlier_auto_merge() {
    let (mut blocked, mut queue) = (auto_merge("bob"), auto_merge("bob"));
    blocked["mergeStateStatus"] = json!("BLOCKED");
    queue["isMergeQueueEnabled"] = json!(true);
    for (auto, before, mutation, happened) in [
        (false, auto_merge("bob"), "mergePullRequest", merged()),
        (
            true,
            blocked,
            "enablePullRequestAutoMerge",
            changed(7, auto_merge("ada")),
        ),
        (
            false,
            queue,
            "enqueuePullRequest",
            changed(7, json!({ "isInMergeQueue": true })),
        ),
    ] {
        let lost = Lost {
            before: vec![("MergePrepare", ready(before))],
            mutation,
            read: "PullView",
            happened: one(happened),
            not: one(changed(7, auto_merge("bob"))),
        };
        check(lost, |script| async move {
            let mut req = MergeReq::default();
            req.auto = auto;
            let made = script.repo.merge(&script.pr(), &req).await;
            (script, made)
        })
        .await;
    }
}

#[tokio::test]
async fn comment_with_lost_answer_is_read_back() {
    let lost = Lost {
        before: vec![("PullView", newest())],
        mutation: "addComment",
        read: "PullView",
        happened: recent(vec![
            comment("IC_0", "ada", "Same"),
            comment("IC_1", "ada", "Same\r\n"),
        ]),
        // An older comment of the viewer and a comment of another account have the lost text.
        not: recent(vec![
            comment("IC_0", "ada", "Same"),
            comment("IC_1", "grace", "Same"),
        ]),
    };
    check(lost, |script| async move {
        let made = script.repo.comment(&script.pr(), "Same", None).await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn reply_with_lost_answer_is_read_back() {
    // The newest comment before the reply is the viewer's, and has the same text.
    let recent = |ids: &[&str]| {
        let mut thread = thread("PRRT_1", false);
        let mine = ids.iter().map(|id| mine(line_comment(id, "Because.")));
        thread["recentComments"] = nodes(mine.collect());
        json!({ "node": thread })
    };
    let newest = nodes(vec![json!({ "id": "PRRC_1" })]);
    for key in ["PRRT_1", "PRRC_PRRT_1"] {
        let mut listed = thread("PRRT_1", false);
        listed["newestComment"] = newest.clone();
        let mut node = json!({ "pullRequest": { "id": "PR_7" } });
        if key == "PRRT_1" {
            node["__typename"] = json!("PullRequestReviewThread");
            node["newestComment"] = newest.clone();
        }
        let found = json!({ "node": node,
            "repository": { "pullRequest": { "id": "PR_7", "reviewThreads": nodes(vec![listed]) } } });
        let lost = Lost {
            before: vec![("ReplyPrepare", found)],
            mutation: "addPullRequestReviewThreadReply",
            read: "Node",
            happened: recent(&["PRRC_1", "PRRC_2"]),
            not: recent(&["PRRC_1"]),
        };
        check(lost, |script| async move {
            let to = CommentId {
                pr: script.pr(),
                key: key.into(),
            };
            let made = script
                .repo
                .comment(&script.pr(), "Because.", Some(&to))
                .await;
            (script, made)
        })
        .await;
    }
}

#[tokio::test]
async fn comment_changes_with_lost_answer_are_read_back() {
    let lost = || Lost {
        before: vec![("Belongs", belongs(7))],
        mutation: "updateIssueComment",
        read: "Node",
        happened: json!({ "node": comment("IC_1", "ada", "New") }),
        not: json!({ "node": comment("IC_1", "ada", "Old") }),
    };
    check(lost(), |script| async move {
        let id = CommentId {
            pr: script.pr(),
            key: "IC_1".into(),
        };
        let made = script.repo.edit_comment(&id, "New").await;
        (script, made)
    })
    .await;
    let gone = Lost {
        mutation: "deleteIssueComment",
        happened: json!({ "node": null }),
        ..lost()
    };
    check(gone, |script| async move {
        let id = CommentId {
            pr: script.pr(),
            key: "IC_1".into(),
        };
        let made = script.repo.delete_comment(&id).await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn review_with_lost_answer_is_read_back() {
    let lost = Lost {
        before: vec![(
            "PullView",
            reviewed("newestReview", vec![json!({ "id": "PRR_0" })]),
        )],
        mutation: "addPullRequestReview",
        read: "PullView",
        happened: reviewed(
            "recentReviews",
            vec![
                mine(review("PRR_0", "ada", "APPROVED")),
                mine(review("PRR_1", "ada", "APPROVED")),
            ],
        ),
        not: reviewed(
            "recentReviews",
            vec![
                mine(review("PRR_0", "ada", "APPROVED")),
                review("PRR_1", "grace", "APPROVED"),
            ],
        ),
    };
    check(lost, |script| async move {
        let made = script
            .repo
            .submit_review(&script.pr(), &NewReview::new(Verdict::Approve, "Words."))
            .await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn thread_resolution_is_read_back_after_lost_answer() {
    let lost = Lost {
        before: vec![("Belongs", belongs(7))],
        mutation: "resolveReviewThread",
        read: "Node",
        happened: json!({ "node": thread("PRRT_1", true) }),
        not: json!({ "node": thread("PRRT_1", false) }),
    };
    check(lost, |script| async move {
        let id = ThreadId {
            pr: script.pr(),
            key: "PRRT_1".into(),
        };
        let made = script.repo.resolve_thread(&id, true).await;
        (script, made)
    })
    .await;
}

#[tokio::test]
async fn failed_read_back_reports_the_write_error() {
    let script = Script::play(vec![
        data("PullView", newest()),
        gateway("addComment"),
        gateway("PullView"),
        gateway("PullView"),
        gateway("PullView"),
        gateway("PullView"),
    ])
    .await;
    let e = script
        .repo
        .comment(&script.pr(), "Hello", None)
        .await
        .unwrap_err();
    assert_eq!((e.code(), e.retry()), ("upstream", Retry::Ambiguous));
    assert!(e.hint().unwrap().text().contains("may have succeeded"));
    assert_eq!(
        script.names().iter().filter(|n| *n == "addComment").count(),
        1
    );
}
