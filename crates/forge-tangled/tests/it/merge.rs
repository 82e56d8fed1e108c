//! Merges that go wrong half-way.

use forge_core::{
    PullRequests,
    model::{MergeReq, PrState},
};
use forge_testkit::tangled::Fault;

use crate::stage::Stage;

const MERGE: &str = "sh.tangled.repo.merge";
const APPLY: &str = "com.atproto.repo.applyWrites";
const STATUS: &str = "sh.tangled.repo.pull.status";

fn subjects(stage: &Stage) -> String {
    stage.repo.git.log("main", "%s")
}

#[tokio::test]
async fn a_merge_lands_and_is_recorded_by_whoever_made_it() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.bob);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert_eq!(merged.ingestion.word(), "confirmed");
    assert_eq!(merged.value.commit, stage.repo.git.oid("main"));
    assert!(subjects(&stage).contains("Add topic"));
    let statuses = stage.world.pds().records(&stage.bob.did, STATUS);
    assert_eq!(statuses.len(), 1);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!(view.merged_by.unwrap().login, "bob.test");
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.unchanged && again.value.already_merged);
}

#[tokio::test]
async fn a_lost_answer_of_the_knot_is_decided_by_the_branch() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    knot.fault(Fault::reset().committed().on(MERGE));
    let forge = stage.tangled(&stage.alice);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(merged.steps.iter().all(|s| s.done));
    assert_eq!(knot.count_of(MERGE), 1);

    let lost = stage.open(&stage.handle(&stage.alice), "other").await;
    knot.fault(Fault::reset().on(MERGE));
    let e = forge
        .merge(&lost.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.retry(), forge_core::Retry::Ambiguous);
    assert!(!subjects(&stage).contains("Add other"));
    let view = forge.view(&lost.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Open);
}

#[tokio::test]
async fn a_merge_that_could_not_be_recorded_says_so_and_is_finished_by_a_rerun() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds().host();
    pds.fault(Fault::gateway(502).on(APPLY).always());
    let forge = stage.tangled(&stage.alice);
    let merged = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    let steps: Vec<_> = merged.steps.iter().map(|s| s.done).collect();
    assert_eq!(steps, [true, false]);
    assert_eq!(merged.ingestion.word(), "pending");
    let hint = merged.warnings[0].hint.clone().unwrap();
    assert!(
        hint.contains(&format!("forge pr merge {}", made.node_id)),
        "{hint}"
    );
    assert_eq!(merged.value.pull_request.state, PrState::Open);

    pds.clear_faults();
    let log = subjects(&stage);
    let again = forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    assert!(again.value.already_merged, "{again:?}");
    assert_eq!(subjects(&stage), log, "nothing was applied twice");
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!(stage.world.knot().host().count_of(MERGE), 1);
}

#[tokio::test]
async fn strangers_and_conflicts_are_refused_before_anything_is_sent() {
    let stage = Stage::new();
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&carol);
    let e = forge
        .merge(&made.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let other = MergeReq {
        expected_head: Some("0123456".into()),
        ..MergeReq::default()
    };
    let e = stage
        .tangled(&stage.alice)
        .merge(&made.id, &other)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "conflict");
    assert_eq!(stage.world.knot().host().count_of(MERGE), 0);
}

#[tokio::test]
async fn a_status_record_alone_is_no_merge() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let knot = stage.world.knot().host();
    // The knot says yes and does nothing.
    knot.fault(Fault::answer(200, &[], "").on(MERGE));
    let forge = stage.tangled(&stage.alice);
    let e = forge
        .merge(&made.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert!(e.message().contains("does not hold the change"), "{e:?}");
    assert_eq!(
        stage.world.pds().records(&stage.alice.did, STATUS).len(),
        1,
        "the opening one"
    );
}

#[tokio::test]
async fn a_plain_diff_that_may_have_been_merged_is_not_merged_again() {
    let stage = Stage::new();
    let git = &stage.repo.git;
    git.commit("main", "Ten lines", &[("same", Some(&"x\n".repeat(10)))]);
    let diff =
        "diff --git a/same b/same\n--- a/same\n+++ b/same\n@@ -7,3 +7,4 @@ x\n x\n x\n x\n+x\n";
    let forge = stage.tangled(&stage.alice);
    let req = forge_core::model::CreatePull {
        patch: Some(diff.into()),
        ..forge_core::model::CreatePull::new("", "One more")
    };
    let made = forge.create(stage.repo_id(), &req).await.unwrap().value;
    // The knot merges, and nobody writes it down.
    let pds = stage.world.pds().host();
    pds.fault(Fault::gateway(502).on(APPLY).always());
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    pds.clear_faults();
    let tip = git.oid("main");
    let e = forge
        .merge(&made.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.code(), "already_exists", "{e:?}");
    assert!(e.hint().unwrap().contains("look at the branch"), "{e:?}");
    assert_eq!(git.oid("main"), tip);
}
