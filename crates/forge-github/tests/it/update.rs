//! Updating a head branch takes two requests.

use forge_core::{
    ErrorKind, Precondition,
    model::{UpdateBranch, UpdateMethod},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, data, gateway, refused},
    wire::{changed, one, pull},
};

fn moved() -> Value {
    changed(7, json!({ "headRefOid": "c".repeat(40) }))
}

fn at(expected: &str) -> UpdateBranch {
    UpdateBranch::default().with_expected_head(expected)
}

#[tokio::test]
async fn update_takes_two_requests_and_sends_seen_head() {
    let mut all = Vec::new();
    for method in [UpdateMethod::Merge, UpdateMethod::Rebase] {
        let script = Script::play(vec![
            data("PullView", one(pull(7))),
            data(
                "updatePullRequestBranch",
                json!({ "update": { "pullRequest": moved() } }),
            ),
        ])
        .await;
        let req = UpdateBranch::by(method);
        let made = script.repo.update_branch(&script.pr(), &req).await.unwrap();
        assert_eq!(made.value.head_oid, Some("c".repeat(40)));
        assert!(!made.unchanged && made.warnings.is_empty());
        all.push((script.sent(), made));
    }
    assert_json_snapshot!("update_branch", all);
}

#[tokio::test]
async fn up_to_date_branch_is_unchanged() {
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        refused(
            "updatePullRequestBranch",
            "update",
            "UNPROCESSABLE",
            "There are no new commits on the base branch.",
        ),
    ])
    .await;
    let made = script
        .repo
        .update_branch(&script.pr(), &UpdateBranch::default())
        .await
        .unwrap();
    assert!(made.unchanged && made.warnings[0].message.contains("up to date already"));
    script.sent();
}

#[tokio::test]
async fn impossible_update_is_refused_after_one_request() {
    let closed = changed(7, json!({ "state": "CLOSED" }));
    let conflicting = changed(7, json!({ "mergeable": "CONFLICTING" }));
    let script = Script::play(vec![
        data("PullView", one(closed)),
        data("PullView", one(conflicting)),
        data("PullView", one(pull(7))),
        data("PullView", one(pull(7))),
    ])
    .await;
    let ask = |req: UpdateBranch| {
        let (repo, pr) = (&script.repo, script.pr());
        async move { repo.update_branch(&pr, &req).await.unwrap_err() }
    };
    let e = ask(UpdateBranch::default()).await;
    assert!(matches!(
        e.kind(),
        ErrorKind::Precondition(Precondition::Closed)
    ));
    let e = ask(UpdateBranch::default()).await;
    assert!(matches!(
        e.kind(),
        ErrorKind::Precondition(Precondition::Conflicts(_))
    ));
    assert_eq!(ask(at(&"d".repeat(40))).await.code(), "conflict");
    assert_eq!(ask(at(&"a".repeat(39))).await.code(), "invalid_input");
    script.sent();
}

#[tokio::test]
async fn update_refusals_map_to_errors() {
    for (message, code) in [
        (
            "merge conflict between base and head",
            "precondition_failed",
        ),
        (
            "Resource not accessible by integration",
            "permission_denied",
        ),
    ] {
        let script = Script::play(vec![
            data("PullView", one(pull(7))),
            refused(
                "updatePullRequestBranch",
                "update",
                "UNPROCESSABLE",
                message,
            ),
        ])
        .await;
        let e = script
            .repo
            .update_branch(&script.pr(), &UpdateBranch::default())
            .await
            .unwrap_err();
        assert_eq!(e.code(), code, "{e:?}");
        script.sent();
    }
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        refused(
            "updatePullRequestBranch",
            "update",
            "UNPROCESSABLE",
            "expected head sha didn't match current head ref.",
        ),
        data("PullView", one(moved())),
    ])
    .await;
    let e = script
        .repo
        .update_branch(&script.pr(), &at(&"a".repeat(40)))
        .await
        .unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Conflict { actual, .. } if *actual == "c".repeat(40)));
    script.sent();
}

#[tokio::test]
async fn update_with_lost_answer_is_read_back() {
    for (now, done) in [(moved(), true), (pull(7), false)] {
        let script = Script::play(vec![
            data("PullView", one(pull(7))),
            gateway("updatePullRequestBranch"),
            data("PullView", one(now)),
        ])
        .await;
        let made = script
            .repo
            .update_branch(&script.pr(), &UpdateBranch::default())
            .await;
        assert_eq!(made.is_ok(), done, "{made:?}");
        script.sent();
    }
}
