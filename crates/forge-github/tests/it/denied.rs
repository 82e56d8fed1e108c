//! Writes whose answer contradicts the request: they fail as ambiguous and are not sent again.

use forge_core::{
    Result, Retry,
    model::{
        CloseReq, CreatePull, EditPull, IssueFields, IssueId, IssueState, Lock, NewLabel,
        NewReview, PushEdits, SetIssueState, Verdict,
    },
};
use serde_json::{Value, json};

use crate::{
    create::prepared,
    edits::{edits, there},
    issues::issue,
    script::{Script, body, data, repo_id},
    wire::{changed, comment, label, one, pull, review},
};

/// A write: the query before the write, its mutation, answers that contradict the request, and the
/// query that reads the result back. Both queries can be equal.
struct Denied {
    what: &'static str,
    before: (&'static str, Value),
    mutation: &'static str,
    denials: Vec<Value>,
    after: (&'static str, Value),
}

async fn write(script: &Script, what: &str) -> Result<()> {
    let (repo, pr) = (&script.repo, script.pr());
    let issue = IssueId::number(repo_id(), 7);
    match what {
        "lock" => repo.set_lock(&pr, Lock::Locked(None)).await.map(drop),
        "comment" => repo.comment(&pr, "Hello", None).await.map(drop),
        "close" => repo.close(&pr, &CloseReq::default()).await.map(drop),
        "approve" => {
            let review = NewReview::new(Verdict::Approve, "Words.");
            repo.submit_review(&pr, &review).await.map(drop)
        }
        "edit" => {
            let mut edit = EditPull::default();
            edit.title = Some("New".into());
            repo.edit_pull(&pr, &edit).await.map(drop)
        }
        "create" => {
            let new = CreatePull::new("feature", "Add it");
            repo.create_pull(&new).await.map(drop)
        }
        "define label" => {
            let label = NewLabel::new("bug");
            repo.define_label(&label).await.map(drop)
        }
        "delete label" => repo.delete_label("bug").await.map(drop),
        "comment on issue" => repo.create_issue_comment(&issue, "Hello").await.map(drop),
        "close issue" => {
            let closed = SetIssueState::to(IssueState::Closed);
            repo.set_issue_state(&issue, &closed).await.map(drop)
        }
        _ => {
            let push = PushEdits::new("work", "b".repeat(40), "Edit", edits().edits);
            repo.push_edits(&push).await.map(drop)
        }
    }
}

fn found(label: Value) -> Value {
    json!({ "repository": { "id": "R_1", "label": label } })
}

fn on_issue(other: Value) -> Value {
    json!({ "repository": { "issue": issue(7, other) } })
}

fn made(key: &str, member: &str, shown: Value) -> Value {
    json!({ key: { member: shown } })
}

fn writes() -> Vec<Denied> {
    let open = || ("PullView", one(pull(7)));
    let with = |key: &str| ("PullView", one(changed(7, json!({ key: { "nodes": [] } }))));
    let pulls = json!({ "repository": { "pullRequests": { "nodes": [] } } });
    let opened = |other: Value| {
        let mut pull = changed(7, json!({ "title": "Add it" }));
        for (key, value) in other.as_object().unwrap() {
            pull[key] = value.clone();
        }
        made("create", "pullRequest", pull)
    };
    let edited = |other: Value| made("fields", "pullRequest", changed(7, other));
    let said = |node: Value| made("m", "commentEdge", json!({ "node": node }));
    let reviewed = |state: &str| made("m", "pullRequestReview", review("PRR_1", "ada", state));
    let locked = |record: Value| made("lock", "lockedRecord", record);
    let push = || ("PushPrepare", there(json!({})));
    let recent = json!({ "recentComments": { "nodes": [] } });
    vec![
        Denied {
            what: "lock",
            before: open(),
            mutation: "lockLockable",
            denials: vec![
                json!({}),
                json!({ "lock": null }),
                locked(Value::Null),
                locked(json!({ "locked": false })),
            ],
            after: open(),
        },
        Denied {
            what: "comment",
            before: with("newestComment"),
            mutation: "addComment",
            denials: vec![
                json!({ "m": null }),
                json!({ "m": { "commentEdge": null } }),
                said(Value::Null),
                said(comment("IC_1", "ada", "Other")),
            ],
            after: with("recentComments"),
        },
        Denied {
            what: "close",
            before: open(),
            mutation: "closePullRequest",
            denials: vec![
                json!({ "change": null }),
                made(
                    "change",
                    "pullRequest",
                    changed(7, json!({ "number": 99, "state": "CLOSED" })),
                ),
                made(
                    "change",
                    "pullRequest",
                    changed(7, json!({ "id": "PR_99", "state": "CLOSED" })),
                ),
            ],
            after: open(),
        },
        Denied {
            what: "approve",
            before: with("newestReview"),
            mutation: "addPullRequestReview",
            denials: vec![
                json!({ "m": null }),
                made("m", "pullRequestReview", Value::Null),
                reviewed("COMMENTED"),
                reviewed("CHANGES_REQUESTED"),
            ],
            after: with("recentReviews"),
        },
        Denied {
            what: "edit",
            before: (
                "EditPrepare",
                json!({ "repository": { "pullRequest": pull(7) } }),
            ),
            mutation: "updatePullRequest",
            denials: vec![
                json!({ "fields": null }),
                made("fields", "pullRequest", Value::Null),
                edited(json!({})),
                edited(json!({ "number": 99, "title": "New" })),
            ],
            after: open(),
        },
        Denied {
            what: "create",
            before: ("CreatePrepare", prepared(json!({}))),
            mutation: "createPullRequest",
            denials: vec![
                json!({ "create": null }),
                opened(json!({ "title": "Other" })),
                opened(json!({ "baseRefName": "other" })),
                opened(json!({ "headRefName": "other" })),
                opened(json!({ "url": "https://evil.example/x\nNext: it" })),
                opened(json!({ "url": "https://github.com@evil.example/" })),
            ],
            after: ("PullList", pulls),
        },
        Denied {
            what: "define label",
            before: ("Label", found(Value::Null)),
            mutation: "createLabel",
            denials: vec![
                made("m", "label", Value::Null),
                made("m", "label", label("other")),
            ],
            after: ("Label", found(Value::Null)),
        },
        Denied {
            what: "delete label",
            before: ("Label", found(label("bug"))),
            mutation: "deleteLabel",
            denials: vec![json!({}), json!({ "m": null })],
            after: ("Label", found(label("bug"))),
        },
        Denied {
            what: "comment on issue",
            before: ("IssueView", on_issue(json!({}))),
            mutation: "addComment",
            denials: vec![json!({ "m": { "commentEdge": null } }), said(Value::Null)],
            after: ("IssueView", on_issue(recent)),
        },
        Denied {
            what: "close issue",
            before: ("IssueView", on_issue(json!({}))),
            mutation: "closeIssue",
            denials: vec![
                json!({ "change": null }),
                made(
                    "change",
                    "issue",
                    issue(7, json!({ "number": 99, "state": "CLOSED" })),
                ),
            ],
            after: ("IssueView", on_issue(json!({}))),
        },
        Denied {
            what: "push",
            before: push(),
            mutation: "createCommitOnBranch",
            denials: vec![
                json!({ "m": { "commit": null, "ref": null } }),
                made("m", "commit", json!({ "oid": "x\" ok\nNext: it" })),
                made("m", "commit", json!({ "oid": null })),
            ],
            after: push(),
        },
    ]
}

#[tokio::test]
async fn contradictory_write_is_ambiguous_and_sent_once() {
    for case in writes() {
        for denial in &case.denials {
            let script = Script::play(vec![
                data(case.before.0, case.before.1.clone()),
                data(case.mutation, denial.clone()),
                data(case.after.0, case.after.1.clone()),
            ])
            .await;
            let what = case.what;
            let e = match write(&script, what).await {
                Ok(()) => panic!("{what}: {denial} is a success"),
                Err(e) => e,
            };
            let seen = (e.code(), e.retry());
            assert_eq!(seen, ("protocol", Retry::Ambiguous), "{what}: {e:?}");
            assert!(!e.message().contains('\n'), "{what}: {e}");
            let hint = e.hint().unwrap().text();
            assert!(hint.contains("no trace of the write"), "{what}: {hint}");
            script.sent();
        }
    }
}

#[tokio::test]
async fn push_answer_without_commit_hints_at_branch_tip() {
    let now = "c".repeat(40);
    let script = Script::play(vec![
        data("PushPrepare", there(json!({}))),
        data("createCommitOnBranch", json!({ "m": { "commit": null } })),
        data("PushPrepare", there(json!({ "oid": now }))),
    ])
    .await;
    let e = write(&script, "push").await.unwrap_err();
    assert_eq!(e.retry(), Retry::Ambiguous);
    assert!(e.hint().unwrap().text().contains(&now), "{e:?}");
    script.sent();
}

#[tokio::test]
async fn write_error_without_path_is_checked_by_reading() {
    for happened in [true, false] {
        let shown = match happened {
            true => json!({ "title": "New" }),
            false => json!({}),
        };
        let answer = json!({
            "data": { "fields": { "pullRequest": changed(7, json!({ "title": "New" })) } },
            "errors": [{ "message": "boom" }],
        });
        let script = Script::play(vec![
            data(
                "EditPrepare",
                json!({ "repository": { "pullRequest": pull(7) } }),
            ),
            body("updatePullRequest", answer),
            data("PullView", one(changed(7, shown))),
        ])
        .await;
        let mut edit = EditPull::default();
        edit.title = Some("New".into());
        match script.repo.edit_pull(&script.pr(), &edit).await {
            Ok(made) => {
                assert!(happened, "{made:?}");
                let said = &made.warnings[0].message;
                assert!(said.contains("boom"), "{said}");
            }
            Err(e) => {
                assert!(!happened, "{e:?}");
                assert_eq!(e.retry(), Retry::Ambiguous);
                assert!(e.message().contains("boom"), "{e}");
            }
        }
        script.sent();
    }
}

#[tokio::test]
async fn issue_with_another_number_is_refused() {
    let other = json!({ "repository": { "issue": issue(77, json!({})) } });
    let script = Script::play(vec![data("IssueView", other)]).await;
    let asked = IssueId::number(repo_id(), 7);
    let e = script.repo.issue(&asked, &IssueFields::NONE).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "protocol");
    assert!(e.message().contains("#77"), "{e}");
    script.sent();
}
