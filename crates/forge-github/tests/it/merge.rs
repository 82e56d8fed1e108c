//! Merging and mergeability.

use forge_core::{
    Action, Changed, ErrorKind, Param, Precondition, Retry,
    model::{MergeMethod, MergeReq, MergeState},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, body, data, gateway, refused, rest},
    wire::{changed, one, user},
};

pub fn ready(pull: Value) -> Value {
    let mut base = json!({
        "mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN", "isMergeQueueEnabled": false,
        "isInMergeQueue": false, "headRef": { "id": "H" },
    });
    base.as_object_mut()
        .unwrap()
        .extend(pull.as_object().unwrap().clone());
    json!({ "repository": {
        "viewerDefaultMergeMethod": "SQUASH", "mergeCommitAllowed": true, "squashMergeAllowed": true,
        "rebaseMergeAllowed": false, "pullRequest": changed(7, base),
    }})
}

pub fn merged() -> Value {
    changed(
        7,
        json!({
            "state": "MERGED", "mergedAt": "2026-01-04T00:00:00Z", "closedAt": "2026-01-04T00:00:00Z",
            "mergeCommit": { "oid": "c".repeat(40) },
        }),
    )
}

#[tokio::test]
async fn merge_takes_two_requests() {
    let script = Script::play(vec![
        data("MergePrepare", ready(json!({}))),
        data(
            "mergePullRequest",
            json!({ "merge": { "pullRequest": merged() } }),
        ),
    ])
    .await;
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Merge);
    req.expected_head = Some("A".repeat(40));
    req.subject = Some("Subject".into());
    req.body = Some("Body".into());
    req.author_email = Some("a@example.com".into());
    let made = script.repo.merge(&script.pr(), &req).await.unwrap();
    assert_json_snapshot!("merge", (script.sent(), made));
}

#[tokio::test]
async fn merge_uses_default_method_and_deletes_branch_afterwards() {
    let script = Script::play(vec![
        data("MergePrepare", ready(json!({}))),
        data(
            "mergePullRequest",
            json!({ "merge": { "pullRequest": merged() } }),
        ),
        data("deleteRef", json!({ "m": {} })),
    ])
    .await;
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let made = script.repo.merge(&script.pr(), &req).await.unwrap().value;
    assert_eq!(
        (made.method, made.branch_deleted),
        (Some(MergeMethod::Squash), true)
    );
    script.sent();
}

#[tokio::test]
async fn unknown_mergeability_is_read_again() {
    let unknown = || ready(json!({ "mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN" }));
    let script = Script::play(vec![
        data("MergePrepare", unknown()),
        data("MergePrepare", ready(json!({}))),
        data(
            "mergePullRequest",
            json!({ "merge": { "pullRequest": merged() } }),
        ),
    ])
    .await;
    assert!(
        script
            .repo
            .merge(&script.pr(), &MergeReq::default())
            .await
            .unwrap()
            .warnings
            .is_empty()
    );
    script.sent();

    let mut steps: Vec<_> = (0..4).map(|_| data("MergePrepare", unknown())).collect();
    steps.push(data(
        "mergePullRequest",
        json!({ "merge": { "pullRequest": merged() } }),
    ));
    let script = Script::play(steps).await;
    let made = script
        .repo
        .merge(&script.pr(), &MergeReq::default())
        .await
        .unwrap();
    assert!(made.warnings[0].message.contains("does not know yet"));
    script.sent();

    let of = |word: &str| {
        one(changed(
            7,
            json!({ "mergeable": word, "mergeStateStatus": word }),
        ))
    };
    let script = Script::play(vec![
        data("PullView", of("UNKNOWN")),
        data("PullView", of("MERGEABLE")),
    ])
    .await;
    let found = script.repo.mergeability(&script.pr()).await.unwrap();
    assert_eq!(found.state, MergeState::Mergeable);
    assert_json_snapshot!("mergeability", (script.sent(), found));
}

#[tokio::test]
async fn merge_blockers_are_refused_before_mutation() {
    let is = |e: &forge_core::Error, why: &Precondition| matches!(e.kind(), ErrorKind::Precondition(p) if p == why);
    for (state, why) in [
        (json!({ "state": "CLOSED" }), Precondition::Closed),
        (
            json!({ "isDraft": true, "mergeStateStatus": "BLOCKED" }),
            Precondition::Draft,
        ),
        (
            json!({ "mergeable": "CONFLICTING", "mergeStateStatus": "DIRTY" }),
            Precondition::Conflicts(vec![]),
        ),
        (json!({ "mergeStateStatus": "BLOCKED" }), Precondition::Rule),
        (
            json!({ "mergeStateStatus": "BLOCKED", "reviewDecision": "CHANGES_REQUESTED" }),
            Precondition::Rule,
        ),
        (json!({ "mergeStateStatus": "BEHIND" }), Precondition::Rule),
    ] {
        let script = Script::play(vec![data("MergePrepare", ready(state))]).await;
        let e = script
            .repo
            .merge(&script.pr(), &MergeReq::default())
            .await
            .unwrap_err();
        assert!(is(&e, &why) && e.hint().is_some(), "{e:?}");
        script.sent();
    }
    // Nothing can be pushed to a deleted fork, so the recovery is another pull request.
    let lost = ready(json!({
        "mergeable": "CONFLICTING", "isCrossRepository": true, "headRepository": null,
    }));
    let script = Script::play(vec![data("MergePrepare", lost)]).await;
    let merged = script.repo.merge(&script.pr(), &MergeReq::default()).await;
    let e = merged.unwrap_err();
    let action = e.hint().and_then(forge_core::Hint::action);
    assert_eq!(
        action,
        Some(&forge_core::Action::op(forge_core::Op::PrCreate))
    );
    script.sent();
    let haunted = ready(json!({ "state": "HAUNTED" }));
    let script = Script::play(vec![data("MergePrepare", haunted)]).await;
    let merged = script.repo.merge(&script.pr(), &MergeReq::default()).await;
    let e = merged.unwrap_err();
    assert_eq!(e.code(), "protocol");
    assert!(e.message().contains("unknown state 'HAUNTED'"), "{e}");
    script.sent();
    let script = Script::play(vec![
        data("MergePrepare", ready(json!({}))),
        data("MergePrepare", ready(json!({}))),
    ])
    .await;
    let mut rebase = MergeReq::default();
    rebase.method = Some(MergeMethod::Rebase);
    let e = script.repo.merge(&script.pr(), &rebase).await.unwrap_err();
    assert!(is(&e, &Precondition::Rule), "{e:?}");
    let hint = e.hint().unwrap();
    assert!(hint.text().contains("squash, merge"), "{hint}");
    let squash = Action::again(&[]).with(Param::Method, "squash");
    assert_eq!(hint.action(), Some(&squash));
    let mut stale = MergeReq::default();
    stale.expected_head = Some("f".repeat(40));
    let e = script.repo.merge(&script.pr(), &stale).await.unwrap_err();
    let wanted = ErrorKind::Conflict {
        what: Changed::Head,
        expected: "f".repeat(40),
        actual: "a".repeat(40),
    };
    assert_eq!(*e.kind(), wanted);
    script.sent();
}

#[tokio::test]
async fn merge_as_admin_bypasses_rules() {
    let script = Script::play(vec![
        data(
            "MergePrepare",
            ready(json!({ "mergeStateStatus": "BLOCKED" })),
        ),
        data(
            "mergePullRequest",
            json!({ "merge": { "pullRequest": merged() } }),
        ),
    ])
    .await;
    let mut req = MergeReq::default();
    req.admin = true;
    script.repo.merge(&script.pr(), &req).await.unwrap();
    script.sent();
}

#[tokio::test]
async fn auto_merge_waits_only_for_unmet_rules() {
    let mut auto = MergeReq::default();
    auto.auto = true;
    auto.delete_branch = true;
    let script = Script::play(vec![
        data(
            "MergePrepare",
            ready(json!({ "mergeStateStatus": "BLOCKED" })),
        ),
        data(
            "enablePullRequestAutoMerge",
            json!({ "merge": { "pullRequest": changed(7, json!({})) } }),
        ),
        data("MergePrepare", ready(json!({}))),
        data(
            "mergePullRequest",
            json!({ "merge": { "pullRequest": merged() } }),
        ),
        data("deleteRef", json!({ "m": {} })),
    ])
    .await;
    let later = script.repo.merge(&script.pr(), &auto).await.unwrap();
    assert!(later.value.queued && later.warnings[0].message.contains("kept until"));
    assert!(
        !script
            .repo
            .merge(&script.pr(), &auto)
            .await
            .unwrap()
            .value
            .queued
    );
    script.sent();
}

#[tokio::test]
async fn merge_with_queue_is_enqueued() {
    let script = Script::play(vec![
        data(
            "MergePrepare",
            ready(json!({ "isMergeQueueEnabled": true })),
        ),
        data(
            "enqueuePullRequest",
            json!({ "merge": { "mergeQueueEntry": { "position": 3, "pullRequest": changed(7, json!({})) } } }),
        ),
        data("MergePrepare", ready(json!({ "isInMergeQueue": true }))),
    ])
    .await;
    let mut squash = MergeReq::default();
    squash.method = Some(MergeMethod::Squash);
    let made = script.repo.merge(&script.pr(), &squash).await.unwrap();
    assert!(made.value.queued && made.value.queue_position == Some(3));
    assert!(
        made.warnings[0]
            .message
            .contains("merge queue of main chooses")
    );
    assert!(
        script
            .repo
            .merge(&script.pr(), &MergeReq::default())
            .await
            .unwrap()
            .value
            .queued
    );
    script.sent();
}

#[tokio::test]
async fn merge_refused_by_queue_becomes_auto_merge() {
    let unmet = || {
        refused(
            "enqueuePullRequest",
            "merge",
            "UNPROCESSABLE",
            "Required status check \"ci\" is expected.",
        )
    };
    let queue = || {
        data(
            "MergePrepare",
            ready(json!({ "isMergeQueueEnabled": true, "mergeStateStatus": "BLOCKED" })),
        )
    };
    let script = Script::play(vec![
        queue(),
        unmet(),
        queue(),
        unmet(),
        data(
            "enablePullRequestAutoMerge",
            json!({ "merge": { "pullRequest": changed(7, json!({})) } }),
        ),
    ])
    .await;
    let mut req = MergeReq::default();
    let e = script.repo.merge(&script.pr(), &req).await.unwrap_err();
    let auto = Action::again(&[]).with(Param::Auto, "true");
    assert_eq!(e.hint().unwrap().action(), Some(&auto));
    req.auto = true;
    let made = script.repo.merge(&script.pr(), &req).await.unwrap().value;
    assert!(made.queued && made.queue_position.is_none());
    script.sent();
}

#[tokio::test]
async fn auto_merge_with_conflicts_is_left_to_the_queue() {
    let queue = || {
        let conflicts = json!({
            "isMergeQueueEnabled": true, "mergeable": "CONFLICTING", "mergeStateStatus": "DIRTY",
        });
        data("MergePrepare", ready(conflicts))
    };
    let script = Script::play(vec![
        queue(),
        queue(),
        data(
            "enqueuePullRequest",
            json!({ "merge": { "mergeQueueEntry": { "position": 3, "pullRequest": changed(7, json!({})) } } }),
        ),
    ])
    .await;
    let mut req = MergeReq::default();
    let e = script.repo.merge(&script.pr(), &req).await.unwrap_err();
    assert!(e.message().contains("conflicts with main"), "{e}");
    req.auto = true;
    let made = script.repo.merge(&script.pr(), &req).await.unwrap().value;
    assert!(made.queued);
    script.sent();
}

fn progress(status: u16, body: Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

const ASYNC: &str = "/repos/octo/tools/pulls/7/merge-async";

fn pending() -> Value {
    json!({ "status": "pending", "details": { "message": "Merge request enqueued.", "uuid": "u-1" } })
}

fn stacked() -> Vec<crate::script::Step> {
    stacked_as(json!({}))
}

/// Returns the requests up to the stack route, for a pull request with these values.
fn stacked_as(pull: Value) -> Vec<crate::script::Step> {
    let said = "This pull request is part of a stack and must be merged using the asynchronous merge REST API";
    vec![
        data("MergePrepare", ready(pull)),
        refused("mergePullRequest", "merge", "UNPROCESSABLE", said),
    ]
}

#[tokio::test]
async fn stack_part_is_merged_by_async_route() {
    let pending = pending();
    let mut steps = stacked();
    steps.extend([
        rest(&format!("PUT {ASYNC}"), progress(202, pending.clone())),
        rest(&format!("GET {ASYNC}/u-1"), progress(200, pending)),
        rest(
            &format!("GET {ASYNC}/u-1"),
            progress(
                200,
                json!({ "status": "merged", "details": { "message": "Merged.", "sha": "c".repeat(40) } }),
            ),
        ),
        data("PullView", one(merged())),
    ]);
    let script = Script::play(steps).await;
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Squash);
    req.subject = Some("Subject".into());
    let made = script.repo.merge(&script.pr(), &req).await.unwrap().value;
    assert!(!made.queued && made.commit == Some("c".repeat(40)));
    assert_eq!(
        script.sent()[2].1,
        json!({ "merge_action": "default", "merge_method": "squash", "sha": "a".repeat(40), "commit_title": "Subject" })
    );
}

#[tokio::test]
async fn stack_merge_as_admin_bypasses_rules_and_queue() {
    let queue = json!({ "isMergeQueueEnabled": true, "mergeStateStatus": "BLOCKED" });
    let mut steps = stacked_as(queue);
    let over = json!({ "status": "merged", "details": { "message": "Merged." } });
    steps.extend([
        rest(&format!("PUT {ASYNC}"), progress(200, over)),
        data("PullView", one(merged())),
    ]);
    let script = Script::play(steps).await;
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Squash);
    req.admin = true;
    let made = script.repo.merge(&script.pr(), &req).await.unwrap().value;
    assert!(!made.queued);
    assert_eq!(
        script.sent()[2].1,
        json!({
            "merge_action": "direct_merge", "bypass_rules": true, "merge_method": "squash",
            "sha": "a".repeat(40),
        })
    );
}

#[tokio::test]
async fn stack_merge_with_author_email_is_refused() {
    let script = Script::play(stacked()).await;
    let mut req = MergeReq::default();
    req.author_email = Some("a@example.com".into());
    let e = script.repo.merge(&script.pr(), &req).await.unwrap_err();
    let field = Some("author_email");
    assert_eq!(*e.kind(), ErrorKind::InvalidInput { field });
    assert!(e.hint().is_some(), "{e:?}");
    assert_eq!(script.names().len(), 2, "the route of stacks is not asked");
}

#[tokio::test]
async fn stack_merge_failure_and_timeout_are_reported() {
    let failed =
        json!({ "status": "failed", "details": { "message": "Checks are missing below." } });
    let mut steps = stacked();
    steps.extend([
        // A merge of the stack is already running.
        rest(&format!("PUT {ASYNC}"), progress(409, pending())),
        rest(&format!("GET {ASYNC}/u-1"), progress(200, failed)),
    ]);
    steps.extend(stacked());
    steps.push(rest(&format!("PUT {ASYNC}"), progress(202, pending())));
    steps.extend((0..10).map(|_| rest(&format!("GET {ASYNC}/u-1"), progress(200, pending()))));
    steps.push(data("PullView", one(changed(7, json!({})))));
    // The first merge fails for a draft. In the second merge, the route is hidden from the account.
    steps.extend(stacked());
    let draft = json!({ "status": "failed", "details": { "message": "It is a draft." } });
    steps.push(rest(&format!("PUT {ASYNC}"), progress(400, draft)));
    steps.extend(stacked());
    let hidden = json!({ "message": "Not Found", "status": "404" });
    steps.push(rest(&format!("PUT {ASYNC}"), progress(404, hidden)));
    let script = Script::play(steps).await;
    let e = script
        .repo
        .merge(&script.pr(), &MergeReq::default())
        .await
        .unwrap_err();
    assert!(e.message().contains("Checks are missing below"), "{e}");
    let made = script
        .repo
        .merge(&script.pr(), &MergeReq::default())
        .await
        .unwrap();
    assert!(made.value.queued);
    // The step is not complete, because the merge is still running.
    assert!(!made.steps[0].done, "{:?}", made.steps);
    let said = &made.warnings[0].message;
    assert!(said.contains("is still merging"), "{said}");
    for (said, code) in [
        ("It is a draft", "precondition_failed"),
        ("no such object", "not_found"),
    ] {
        let e = script
            .repo
            .merge(&script.pr(), &MergeReq::default())
            .await
            .unwrap_err();
        assert_eq!(e.code(), code, "{e:?}");
        assert!(e.message().contains(said), "{e}");
    }
    script.sent();
}

/// Scripts of stack merges that lose one answer: to the start, to a poll, or to the final read.
fn lost() -> [Vec<crate::script::Step>; 3] {
    let put = format!("PUT {ASYNC}");
    let over = json!({ "status": "merged", "details": { "message": "Merged." } });
    [
        vec![rest(&put, ResponseTemplate::new(502))],
        vec![
            rest(&put, progress(202, pending())),
            rest(
                &format!("GET {ASYNC}/u-1"),
                progress(404, json!({ "message": "Not Found" })),
            ),
        ],
        vec![
            rest(&put, progress(200, over)),
            // A malformed answer.
            body("PullView", json!({})),
        ],
    ]
}

#[tokio::test]
async fn stack_merge_with_lost_answer_is_read_back() {
    for part in lost() {
        let mut steps = stacked();
        steps.extend(part);
        steps.extend([
            data("PullView", one(merged())),
            data("deleteRef", json!({ "m": {} })),
        ]);
        let script = Script::play(steps).await;
        let mut req = MergeReq::default();
        req.delete_branch = true;
        let made = script.repo.merge(&script.pr(), &req).await.unwrap();
        let said = &made.warnings[0].message;
        assert!(
            said.starts_with("the write succeeded, but its answer was lost:"),
            "{said}"
        );
        assert!(made.value.branch_deleted && !made.value.queued);
        script.sent();
    }
    for part in lost() {
        let mut steps = stacked();
        steps.extend(part);
        // Auto-merge was enabled before, which does not show that the stack was merged.
        let waits = json!({ "mergeMethod": "SQUASH", "enabledBy": user("bob") });
        let open = changed(7, json!({ "autoMergeRequest": waits }));
        steps.push(data("PullView", one(open)));
        let script = Script::play(steps).await;
        let req = MergeReq::default();
        let e = script.repo.merge(&script.pr(), &req).await.unwrap_err();
        assert_eq!(e.retry(), Retry::Ambiguous, "{e:?}");
        let hint = e.hint().unwrap();
        assert!(
            hint.text().contains("waits for the running merge"),
            "{hint}"
        );
        script.sent();
    }
}

#[tokio::test]
async fn merged_pull_request_is_unchanged() {
    let script = Script::play(vec![data("MergePrepare", ready(merged()))]).await;
    let made = script
        .repo
        .merge(&script.pr(), &MergeReq::default())
        .await
        .unwrap();
    assert!(made.unchanged && made.value.already_merged);
    assert_eq!(made.value.commit, Some("c".repeat(40)));
    script.sent();
}

#[tokio::test]
async fn merge_with_moved_head_names_new_head() {
    let moved = changed(7, json!({ "headRefOid": "d".repeat(40) }));
    let script = Script::play(vec![
        data("MergePrepare", ready(json!({}))),
        refused(
            "mergePullRequest",
            "merge",
            "UNPROCESSABLE",
            "Head branch was modified. Review and try the merge again.",
        ),
        data("PullView", one(moved)),
    ])
    .await;
    let e = script
        .repo
        .merge(&script.pr(), &MergeReq::default())
        .await
        .unwrap_err();
    let wanted = ErrorKind::Conflict {
        what: Changed::Head,
        expected: "a".repeat(40),
        actual: "d".repeat(40),
    };
    assert_eq!(*e.kind(), wanted);
    script.sent();
}

#[tokio::test]
async fn undeletable_branch_after_merge_is_warning() {
    for (answer, read_back, deleted) in [
        (
            refused(
                "deleteRef",
                "m",
                "UNPROCESSABLE",
                "Reference does not exist",
            ),
            None,
            true,
        ),
        (
            refused(
                "deleteRef",
                "m",
                "FORBIDDEN",
                "Resource not accessible by integration",
            ),
            None,
            false,
        ),
        (
            gateway("deleteRef"),
            Some(json!({ "id": "PR_7", "number": 7, "headRef": null })),
            true,
        ),
        (
            gateway("deleteRef"),
            Some(json!({ "id": "PR_7", "number": 7, "headRef": { "id": "H" } })),
            false,
        ),
    ] {
        let mut steps = vec![
            data("MergePrepare", ready(json!({}))),
            data(
                "mergePullRequest",
                json!({ "merge": { "pullRequest": merged() } }),
            ),
            answer,
        ];
        steps.extend(read_back.map(|p| data("PullView", one(p))));
        let script = Script::play(steps).await;
        let mut req = MergeReq::default();
        req.delete_branch = true;
        let made = script.repo.merge(&script.pr(), &req).await.unwrap();
        assert_eq!(made.value.branch_deleted, deleted);
        assert_eq!(made.warnings.is_empty(), deleted);
        script.sent();
    }
}
