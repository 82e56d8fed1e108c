//! Close, reopen, ready and draft take two requests each.

use forge_core::{
    Action, Op, Param, Retry,
    model::{CloseReq, Lock, LockReason, PrState, RevertPull},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, body, data, error, gateway, refused},
    wire::{changed, comment, one, pull},
};

fn closed() -> Value {
    changed(
        7,
        json!({ "state": "CLOSED", "closedAt": "2026-01-04T00:00:00Z", "headRef": { "id": "H" }, "baseRef": { "id": "B" } }),
    )
}

fn merged() -> Value {
    changed(7, json!({ "state": "MERGED", "headRef": null }))
}

#[tokio::test]
async fn close_with_comment_takes_two_requests() {
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        data("addComment", json!({ "comment": { "commentEdge": { "node": comment("IC_1", "ada", "Bye") } }, "change": { "pullRequest": closed() } })),
    ])
    .await;
    let mut req = CloseReq::default();
    req.comment = Some("Bye".into());
    let made = script.repo.close(&script.pr(), &req).await.unwrap();
    assert!(made.warnings.is_empty());
    assert_json_snapshot!("close", (script.sent(), made.value.state));
}

#[tokio::test]
async fn close_deletes_branch_in_separate_request() {
    let open = changed(7, json!({ "headRef": { "id": "H" } }));
    let script = Script::play(vec![
        data("PullView", one(open)),
        data(
            "closePullRequest",
            json!({ "change": { "pullRequest": closed() } }),
        ),
        data("deleteRef", json!({ "m": { "clientMutationId": null } })),
    ])
    .await;
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let made = script.repo.close(&script.pr(), &req).await.unwrap();
    assert!(made.steps[0].done);
    assert_eq!(script.sent()[2].1, json!({ "m": { "refId": "H" } }));
}

#[tokio::test]
async fn close_keeps_moved_branch() {
    let open = || changed(7, json!({ "headRef": { "id": "H" } }));
    let mut moved = closed();
    moved["headRefOid"] = json!("d".repeat(40));
    let script = Script::play(vec![
        data("PullView", one(open())),
        data(
            "closePullRequest",
            json!({ "change": { "pullRequest": moved } }),
        ),
        data("PullView", one(open())),
        data(
            "closePullRequest",
            json!({ "change": { "pullRequest": closed() } }),
        ),
    ])
    .await;
    let mut req = CloseReq::default();
    req.delete_branch = true;
    for (expected, tip) in [(None, "d"), (Some("c".repeat(40)), "a")] {
        req.expected_head = expected;
        let made = script.repo.close(&script.pr(), &req).await.unwrap();
        assert_eq!(made.value.state, PrState::Closed);
        assert!(made.steps.iter().any(|step| !step.done), "{made:?}");
        let warning = &made.warnings[0].message;
        assert!(warning.contains(&tip.repeat(40)), "{warning}");
    }
    script.sent();
}

#[tokio::test]
async fn failed_close_keeps_branch() {
    let open = changed(7, json!({ "headRef": { "id": "H" } }));
    let script = Script::play(vec![
        data("PullView", one(open)),
        refused(
            "closePullRequest",
            "change",
            "FORBIDDEN",
            "Resource not accessible by integration",
        ),
    ])
    .await;
    let mut req = CloseReq::default();
    req.delete_branch = true;
    assert_eq!(
        script
            .repo
            .close(&script.pr(), &req)
            .await
            .unwrap_err()
            .code(),
        "permission_denied"
    );
    script.sent();
}

#[tokio::test]
async fn close_failed_comment_is_warning() {
    let mut half = json!({ "data": { "comment": null, "change": { "pullRequest": closed() } } });
    half["errors"] = json!([error(
        &["comment"],
        "UNPROCESSABLE",
        "was submitted too quickly"
    )]);
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        body("addComment", half),
    ])
    .await;
    let mut req = CloseReq::default();
    req.comment = Some("Bye".into());
    let made = script.repo.close(&script.pr(), &req).await.unwrap();
    let warning = &made.warnings[0];
    assert!(warning.message.contains("comment was not added"));
    let again = Action::op(Op::Comment).on(7).with(Param::Body, "Bye");
    assert_eq!(warning.hint.as_ref().unwrap().action(), Some(&again));
    script.sent();
}

#[tokio::test]
async fn close_refused_after_comment_mentions_comment() {
    let made = json!({ "commentEdge": { "node": comment("IC_1", "ada", "Bye") } });
    let mut half = json!({ "data": { "comment": made, "change": null } });
    half["errors"] = json!([error(
        &["change"],
        "FORBIDDEN",
        "ada does not have permission"
    )]);
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        body("addComment", half),
    ])
    .await;
    let mut req = CloseReq::default();
    req.comment = Some("Bye".into());
    let e = script.repo.close(&script.pr(), &req).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert!(e.message().starts_with("the comment was added, but"), "{e}");
    script.sent();
}

#[tokio::test]
async fn change_already_in_effect_is_warning() {
    let draft = changed(7, json!({ "isDraft": true }));
    let script = Script::play(vec![
        data("PullView", one(closed())),
        data("PullView", one(pull(7))),
        data("PullView", one(pull(7))),
        data("PullView", one(draft)),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    for made in [
        repo.close(&pr, &CloseReq::default()).await,
        repo.reopen(&pr, None).await,
        repo.set_draft(&pr, false).await,
        repo.set_draft(&pr, true).await,
    ] {
        assert_eq!(made.unwrap().warnings.len(), 1);
    }
    script.sent();
}

#[tokio::test]
async fn impossible_state_change_is_refused_after_one_request() {
    let gone = changed(
        7,
        json!({ "state": "CLOSED", "headRef": null, "baseRef": { "id": "B" } }),
    );
    let script = Script::play(vec![
        data("PullView", one(merged())),
        data("PullView", one(merged())),
        data("PullView", one(merged())),
        data("PullView", one(closed())),
        data("PullView", one(gone)),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    let codes = [
        repo.close(&pr, &CloseReq::default()).await.unwrap_err(),
        repo.reopen(&pr, None).await.unwrap_err(),
        repo.set_draft(&pr, true).await.unwrap_err(),
        repo.set_draft(&pr, true).await.unwrap_err(),
        repo.reopen(&pr, None).await.unwrap_err(),
    ]
    .map(|e| e.code());
    assert_eq!(
        codes,
        [
            "precondition_failed",
            "precondition_failed",
            "precondition_failed",
            "precondition_failed",
            "invalid_input"
        ]
    );
    script.sent();
}

#[tokio::test]
async fn reopen_ready_and_draft_take_two_requests_each() {
    let draft = || changed(7, json!({ "isDraft": true }));
    let script = Script::play(vec![
        data("PullView", one(closed())),
        data(
            "reopenPullRequest",
            json!({ "change": { "pullRequest": pull(7) } }),
        ),
        data("PullView", one(draft())),
        data(
            "markPullRequestReadyForReview",
            json!({ "change": { "pullRequest": pull(7) } }),
        ),
        data("PullView", one(pull(7))),
        data(
            "convertPullRequestToDraft",
            json!({ "change": { "pullRequest": draft() } }),
        ),
    ])
    .await;
    let (repo, pr) = (&script.repo, script.pr());
    repo.reopen(&pr, None).await.unwrap();
    assert!(!repo.set_draft(&pr, false).await.unwrap().value.draft);
    assert!(repo.set_draft(&pr, true).await.unwrap().value.draft);
    assert_json_snapshot!("states", script.sent());
}

#[tokio::test]
async fn lost_auto_merge_cancellation_is_read_back() {
    let change = json!({ "change": { "pullRequest": pull(7) } });
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        data("disablePullRequestAutoMerge", change),
    ])
    .await;
    let made = script.repo.cancel_merge(&script.pr()).await.unwrap();
    assert!(made.warnings.is_empty());
    assert_json_snapshot!("cancel_merge", (script.sent(), made.value.state));

    for (waits, done) in [(false, true), (true, false)] {
        let auto = json!({ "autoMergeRequest": { "enabledAt": "2026-01-04T00:00:00Z", "mergeMethod": "SQUASH" } });
        let found = if waits { changed(7, auto) } else { pull(7) };
        let script = Script::play(vec![
            data("PullView", one(pull(7))),
            gateway("disablePullRequestAutoMerge"),
            data("PullView", one(found)),
        ])
        .await;
        let answer = script.repo.cancel_merge(&script.pr()).await;
        assert_eq!(answer.is_ok(), done, "{answer:?}");
        script.sent();
    }
}

#[tokio::test]
async fn lock_sends_only_needed_mutations() {
    let locked = |reason: Option<&str>| {
        one(changed(
            7,
            json!({ "locked": true, "activeLockReason": reason }),
        ))
    };
    let record = json!({ "lockedRecord": { "locked": true } });
    let no_record = json!({ "unlockedRecord": { "locked": false } });
    let id = pull(7)["id"].clone();
    let lock = |reason: Option<&str>| json!({ "lockableId": id, "lockReason": reason });
    let unlock = json!({ "lockableId": id });
    let spam = Lock::Locked(Some(LockReason::Spam));
    for (before, wanted, operation, sent) in [
        (
            one(pull(7)),
            Lock::Locked(None),
            "lockLockable",
            json!({ "lock": lock(None) }),
        ),
        (
            one(pull(7)),
            spam,
            "lockLockable",
            json!({ "lock": lock(Some("SPAM")) }),
        ),
        (
            locked(Some("RESOLVED")),
            spam,
            "unlockLockable",
            json!({ "unlock": unlock, "lock": lock(Some("SPAM")) }),
        ),
        (
            locked(None),
            Lock::Unlocked,
            "unlockLockable",
            json!({ "unlock": unlock }),
        ),
    ] {
        let answer = match wanted {
            Lock::Unlocked => json!({ "unlock": no_record }),
            Lock::Locked(_) => json!({ "unlock": no_record, "lock": record }),
        };
        let script = Script::play(vec![data("PullView", before), data(operation, answer)]).await;
        let made = script.repo.set_lock(&script.pr(), wanted).await.unwrap();
        assert!(!made.unchanged && made.warnings.is_empty(), "{made:?}");
        assert_eq!(script.sent()[1].1, sent);
    }
    for (before, wanted) in [
        (one(pull(7)), Lock::Unlocked),
        (locked(Some("SPAM")), spam),
        (locked(Some("SPAM")), Lock::Locked(None)),
    ] {
        let script = Script::play(vec![data("PullView", before)]).await;
        let made = script.repo.set_lock(&script.pr(), wanted).await.unwrap();
        assert!(made.unchanged, "{made:?}");
        script.sent();
    }
}

#[tokio::test]
async fn lock_with_lost_answer_is_read_back() {
    for (is_locked, done) in [(true, true), (false, false)] {
        let found = one(changed(7, json!({ "locked": is_locked })));
        let script = Script::play(vec![
            data("PullView", one(pull(7))),
            gateway("lockLockable"),
            data("PullView", found),
        ])
        .await;
        let made = script.repo.set_lock(&script.pr(), Lock::Locked(None)).await;
        assert_eq!(made.is_ok(), done, "{made:?}");
        script.sent();
    }
}

#[tokio::test]
async fn revert_takes_two_requests() {
    let opened = changed(9, json!({ "title": "Back", "isDraft": true }));
    let opened = json!({ "m": { "revertPullRequest": opened } });
    let script = Script::play(vec![
        data("PullView", one(merged())),
        data("revertPullRequest", opened),
    ])
    .await;
    let mut req = RevertPull::default();
    req.title = Some("Back".into());
    req.draft = true;
    let made = script.repo.revert(&script.pr(), &req).await.unwrap();
    assert_eq!(made.value.id, script.repo.pull_id(9));
    let input = json!({ "pullRequestId": pull(7)["id"], "draft": true, "title": "Back" });
    assert_eq!(script.sent()[1].1, json!({ "m": input }));
}

#[tokio::test]
async fn revert_with_lost_answer_is_ambiguous() {
    let script = Script::play(vec![
        data("PullView", one(merged())),
        gateway("revertPullRequest"),
    ])
    .await;
    let req = RevertPull::default();
    let e = script.repo.revert(&script.pr(), &req).await.unwrap_err();
    assert_eq!(e.retry(), Retry::Ambiguous);
    script.sent();

    let script = Script::play(vec![data("PullView", one(closed()))]).await;
    let e = script.repo.revert(&script.pr(), &req).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed");
    script.sent();
}
