//! Deletion of the branch of a pull request.

use forge_core::{
    AtUri, Outcome, PageReq, PullRequests, Repos,
    model::{CloseReq, CreatePull, Merge, MergeReq, PullRequest, Resubmit},
};
use forge_tangled_world::Fault;
use serde_json::{Value, json};

use crate::stage::Stage;

const DELETE: &str = "sh.tangled.repo.deleteBranch";

/// Requests a merge that also deletes the branch.
fn with_branch() -> MergeReq {
    let mut req = MergeReq::default();
    req.delete_branch = true;
    req
}

fn push(stage: &Stage) -> String {
    stage
        .repo
        .git
        .commit("topic", "Later", &[("later.txt", Some("later\n"))])
}

/// Asserts that the branch is still at `tip`, that the knot got no deletion, and that a warning
/// says why.
#[track_caller]
fn is_kept<T>(stage: &Stage, tip: &str, outcome: &Outcome<T>, why: &str) {
    assert_eq!(stage.repo.git.oid("topic").as_deref(), Some(tip));
    assert_eq!(stage.world.knot().host().count_of(DELETE), 0);
    let told = outcome.warnings.iter().find(|w| w.message.contains(why));
    assert!(
        told.is_some_and(|w| w.hint.is_some()),
        "{:?}",
        outcome.warnings
    );
}

async fn merged(stage: &Stage) -> PullRequest {
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let forge = stage.tangled(&stage.alice);
    forge.merge(&made.id, &MergeReq::default()).await.unwrap();
    made
}

async fn again(stage: &Stage, made: &PullRequest, req: &MergeReq) -> Outcome<Merge> {
    let again = stage
        .tangled(&stage.alice)
        .merge(&made.id, req)
        .await
        .unwrap();
    assert!(again.value.already_merged);
    again
}

#[tokio::test]
async fn merged_branch_is_deleted_by_a_later_call() {
    let stage = Stage::new();
    let made = merged(&stage).await;
    let gone = again(&stage, &made, &with_branch()).await;
    assert!(gone.value.branch_deleted && !gone.unchanged, "{gone:?}");
    assert_eq!(stage.repo.git.oid("topic"), None);
    // A missing branch is not deleted again.
    let none = again(&stage, &made, &with_branch()).await;
    assert!(!none.value.branch_deleted && none.unchanged);
    assert_eq!(stage.world.knot().host().count_of(DELETE), 1);
}

#[tokio::test]
async fn own_branch_of_2025_pull_is_deleted() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, uri) = (stage.world.pds(), AtUri::parse(&made.node_id).unwrap());
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    record["patchBlob"] = record["rounds"][0]["patchBlob"].clone();
    record.as_object_mut().unwrap().remove("rounds");
    let named = |branch: &str| json!({"repo": stage.repo.uri, "branch": branch});
    record["target"] = named("main");
    record["target"]["repoDid"] = json!(stage.repo.did);
    record["source"] = named("topic");
    pds.put(&uri.authority, &uri.collection, &uri.rkey, record);
    let forge = stage.tangled(&stage.alice);
    let gone = forge.merge(&made.id, &with_branch()).await.unwrap();
    assert!(gone.value.branch_deleted, "{gone:?}");
    assert_eq!(gone.value.pull_request.head_repo, None);
    assert_eq!(stage.repo.git.oid("topic"), None);
}

#[tokio::test]
async fn branch_pushed_after_merge_is_kept() {
    let stage = Stage::new();
    let made = merged(&stage).await;
    let tip = push(&stage);
    let outcome = again(&stage, &made, &with_branch()).await;
    assert!(!outcome.value.branch_deleted && outcome.unchanged);
    is_kept(&stage, &tip, &outcome, &tip);
}

#[tokio::test]
async fn branch_pushed_before_merge_is_kept() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let tip = push(&stage);
    let forge = stage.tangled(&stage.alice);
    let outcome = forge.merge(&made.id, &with_branch()).await.unwrap();
    assert!(!outcome.value.already_merged && !outcome.value.branch_deleted);
    is_kept(&stage, &tip, &outcome, &tip);
}

#[tokio::test]
async fn closing_keeps_branch_with_unsubmitted_commits() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let tip = push(&stage);
    let forge = stage.tangled(&stage.alice);
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let outcome = forge.close(&made.id, &req).await.unwrap();
    is_kept(&stage, &tip, &outcome, &tip);
    let outcome = forge.close(&made.id, &req).await.unwrap();
    is_kept(&stage, &tip, &outcome, "was closed before");
    // Commits that a round contains are not lost.
    forge.reopen(&made.id, None).await.unwrap();
    forge
        .resubmit(&made.id, &Resubmit::default())
        .await
        .unwrap();
    forge.close(&made.id, &req).await.unwrap();
    assert_eq!(stage.repo.git.oid("topic"), None);
}

#[tokio::test]
async fn round_added_after_merge_is_not_merged() {
    let stage = Stage::new();
    let made = merged(&stage).await;
    let tip = stage.repo.git.oid("topic").unwrap();
    // Another client adds a round after the merge; this round was never merged.
    let pds = stage.world.pds();
    let (_, mut record) = pds.record(&made.node_id).unwrap();
    let mut round = record["rounds"][0].clone();
    round["createdAt"] = "2999-01-01T00:00:00Z".into();
    record["rounds"].as_array_mut().unwrap().push(round);
    let rkey = made.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, "sh.tangled.repo.pull", rkey, record);
    let outcome = again(&stage, &made, &with_branch()).await;
    is_kept(&stage, &tip, &outcome, "was submitted after the merge");
}

#[tokio::test]
async fn merged_pull_with_other_expected_head_keeps_branch() {
    let stage = Stage::new();
    let made = merged(&stage).await;
    let tip = stage.repo.git.oid("topic").unwrap();
    let mut req = with_branch();
    req.expected_head = Some("0".repeat(40));
    let e = stage.tangled(&stage.alice).merge(&made.id, &req).await;
    assert_eq!(e.unwrap_err().code(), "conflict");
    assert_eq!(stage.repo.git.oid("topic"), Some(tip));
}

#[tokio::test]
async fn branch_with_commit_outside_round_is_kept() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let tip = push(&stage);
    let last = ["format-patch", "-1", "--stdout", "topic"];
    let mut round = Resubmit::default();
    round.patch = Some(stage.repo.git.run(last).text().into());
    let forge = stage.tangled(&stage.alice);
    forge.resubmit(&made.id, &round).await.unwrap();
    let outcome = forge.merge(&made.id, &with_branch()).await.unwrap();
    assert!(!outcome.value.already_merged && !outcome.value.branch_deleted);
    is_kept(&stage, &tip, &outcome, "Add topic");
}

#[tokio::test]
async fn default_branch_is_kept() {
    let stage = Stage::new();
    let git = &stage.repo.git;
    git.set_branch("release", "main");
    let tip = git.commit("main", "Fix", &[("fix.txt", Some("fix\n"))]);
    let mut req = CreatePull::new("main", "Fix the release");
    req.base = Some("release".into());
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(stage.repo_id(), &req).await.unwrap().value;
    let outcome = forge.merge(&made.id, &with_branch()).await.unwrap();
    assert!(git.log("release", "%s").starts_with("Fix\n"));
    assert!(!outcome.value.branch_deleted);
    assert_eq!(git.oid("main"), Some(tip));
    assert_eq!(stage.world.knot().host().count_of(DELETE), 0);
    let told = &outcome.warnings[0].message;
    assert!(told.contains("'main': it is the default branch"), "{told}");
}

#[tokio::test]
async fn endless_branch_list_is_cut_with_warning() {
    let stage = Stage::new();
    let oid = stage.repo.git.oid("main").unwrap();
    let forge = stage.tangled(&stage.alice);
    let page = || forge.branches(stage.repo_id(), PageReq::first(5));
    assert!(page().await.unwrap().warnings.is_empty());
    let branches: Vec<Value> = (0..100)
        .map(|n| json!({ "reference": { "name": format!("b{n}"), "hash": oid } }))
        .collect();
    let body = json!({ "branches": branches }).to_string();
    let json = [("content-type", "application/json")];
    let endless = Fault::answer(200, &json, body).on("sh.tangled.repo.branches");
    stage.world.knot().host().fault(endless.always());
    let told = page().await.unwrap().warnings;
    assert!(
        told[0].message.contains("10000 branches or more"),
        "{told:?}"
    );
}
