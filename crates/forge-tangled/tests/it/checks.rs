//! Checks: what the repository's spindle ran.

use forge_core::{
    ErrorKind, Repo,
    model::{CheckRollup, CheckStatus, PullRequest},
};
use forge_testkit::tangled::SpindleDouble;
use serde_json::json;

use crate::stage::Stage;

/// A repository with a spindle, and an open pull request.
async fn with_spindle() -> (Stage, SpindleDouble, Repo, PullRequest) {
    let stage = Stage::new();
    let spindle = SpindleDouble::start().unwrap();
    let uri = format!("at://{}/sh.tangled.repo/widget", stage.alice.did);
    let (_, mut record) = stage.world.pds().record(&uri).unwrap();
    record["spindle"] = json!(spindle.host().authority());
    let did = &stage.alice.did;
    stage
        .world
        .pds()
        .put(did, "sh.tangled.repo", "widget", record);
    let repo = stage.handle(&stage.alice);
    let pull = stage.open(&repo, "topic").await;
    (stage, spindle, repo, pull)
}

#[tokio::test]
async fn the_newest_run_of_each_workflow_counts() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let (did, head) = (&stage.repo.did, pull.head_oid.clone().unwrap());
    let old = [("build.yml", "failed"), ("test.yml", "success")];
    spindle.run(did, &head, "push", &old);
    let new = [("build.yml", "success"), ("lint.yml", "timeout")];
    spindle.run(did, &head, "push", &new);
    spindle.run(did, &head, "manual", &[("nightly.yml", "running")]);
    // Of another commit, and of another repository.
    spindle.run(did, &"0".repeat(40), "push", &[("other.yml", "failed")]);
    spindle.run("did:plc:else", &head, "push", &[("else.yml", "failed")]);

    let report = repo.checks(&pull.id).await.unwrap();
    let seen: Vec<_> = report
        .checks
        .iter()
        .map(|c| (c.name.as_str(), c.status, c.event.as_deref().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            ("lint.yml", CheckStatus::Failure, "push"),
            ("nightly.yml", CheckStatus::Pending, "manual"),
            ("build.yml", CheckStatus::Success, "push"),
            ("test.yml", CheckStatus::Success, "push"),
        ]
    );
    assert_eq!(report.checks[0].conclusion.as_deref(), Some("TIMEOUT"));
    assert_eq!(
        (report.commit, report.overall),
        (head, CheckRollup::Failure)
    );
    assert_eq!(spindle.host().count(), 1);
}

#[tokio::test]
async fn a_word_that_nobody_knows_is_no_success() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    spindle.run(&stage.repo.did, &head, "push", &[("build.yml", "queued")]);
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.overall, CheckRollup::Pending);
}

#[tokio::test]
async fn all_pages_are_read() {
    let (stage, spindle, repo, pull) = with_spindle().await;
    let head = pull.head_oid.clone().unwrap();
    let names: Vec<String> = (0..251).map(|n| format!("{n}.yml")).collect();
    for name in &names {
        spindle.run(&stage.repo.did, &head, "push", &[(name, "success")]);
    }
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.checks.len(), names.len());
    assert_eq!(spindle.host().count(), 2);
}

#[tokio::test]
async fn a_spindle_that_has_run_nothing_and_one_that_is_down() {
    let (_stage, spindle, repo, pull) = with_spindle().await;
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.overall, CheckRollup::Neutral);
    spindle.host().set_down(true);
    let e = repo.checks(&pull.id).await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Network), "{e:?}");
}

#[tokio::test]
async fn a_repository_without_a_spindle_has_no_checks() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let pull = stage.open(&repo, "topic").await;
    let report = repo.checks(&pull.id).await.unwrap();
    assert_eq!(report.overall, CheckRollup::Neutral);
    assert!(report.checks.is_empty());
}
