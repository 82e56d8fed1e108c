//! Records of others that name a branch of the repository as their head.

use forge_core::{
    PrKey, PullRequests,
    model::{
        BranchClaim, CloseReq, CreatePull, HeadMatches, HeadRef, MergeReq, PrFields, StateFilter,
    },
};
use forge_tangled_world::{Account, Fault};
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage};

const PULL: &str = "sh.tangled.repo.pull";
const DELETE: &str = "sh.tangled.repo.deleteBranch";

/// Creates an account that may not push.
fn stranger(stage: &Stage) -> Account {
    stage.world.pds().account("carol.test", PASSWORD)
}

/// Opens a pull request of `who` with the commits of `branch`, whose record names that branch of the
/// repository as its head. Returns its at-uri.
pub(crate) async fn claim(stage: &Stage, who: &Account, branch: &str) -> String {
    let range = format!("main..{branch}");
    let patch = stage
        .repo
        .git
        .run(["format-patch", "--stdout", range.as_str()]);
    let mut req = CreatePull::new("", format!("Claim of {branch}"));
    req.patch = Some(patch.text().into());
    req.base = Some("main".to_owned());
    let forge = stage.tangled(who);
    let made = forge.create(stage.repo_id(), &req).await.unwrap().value;
    let (_, mut record) = stage.world.pds().record(&made.node_id).unwrap();
    record["source"] = json!({ "branch": branch, "repo": stage.repo.did });
    let rkey = made.node_id.rsplit('/').next().unwrap();
    stage.world.pds().put(&who.did, PULL, rkey, record);
    made.node_id
}

async fn find(stage: &Stage, head: HeadRef) -> HeadMatches {
    let forge = stage.tangled(&stage.alice);
    let all = StateFilter::All;
    let found = forge.find(stage.repo_id(), &head, all, PrFields::NONE);
    found.await.unwrap()
}

fn uris(found: &HeadMatches) -> Vec<String> {
    found.pulls.iter().map(|pr| pr.node_id.clone()).collect()
}

fn commit(stage: &Stage, branch: &str) -> String {
    let file = format!("{branch}.txt");
    let files = [(file.as_str(), Some("one\n"))];
    stage
        .repo
        .git
        .commit(branch, &format!("Add {branch}"), &files)
}

#[tokio::test]
async fn branch_name_selects_no_record_of_stranger() {
    let stage = Stage::new();
    let carol = stranger(&stage);
    commit(&stage, "topic");
    let theirs = claim(&stage, &carol, "topic").await;
    let found = find(&stage, HeadRef::branch("topic")).await;
    assert_eq!(uris(&found), Vec::<String>::new());
    assert_eq!(found.unproven[0].key, PrKey::Record(theirs.clone()));
    assert_eq!(found.unproven[0].claim, BranchClaim::Unproven);
    let e = found.unproven_error("topic").unwrap();
    assert!(e.message().contains(&theirs), "{e:?}");
    // `owner:branch` with the owner of the repository means the same branch; the stranger's own
    // name selects the stranger's record.
    let owners = find(&stage, HeadRef::in_fork("alice.test", "topic")).await;
    assert!(owners.pulls.is_empty());
    let named = find(&stage, HeadRef::in_fork("carol.test", "topic")).await;
    assert_eq!(uris(&named), [theirs.as_str()]);
    // The own pull request is selected beside any number of strangers' ones.
    let own = stage.handle(&stage.bob);
    let own = own.create_pull(&CreatePull::new("topic", "Own")).await;
    let own = own.unwrap().value.node_id;
    assert_eq!(uris(&find(&stage, HeadRef::branch("topic")).await), [own]);
    let status = stage.tangled(&stage.alice);
    let head = HeadRef::branch("topic");
    let status = status.status(stage.repo_id(), Some(&head), PrFields::NONE);
    let current = status.await.unwrap().current_branch.unwrap();
    assert_ne!(current.node_id, theirs);
}

#[tokio::test]
async fn flood_of_claims_hides_no_own_pull() {
    let stage = Stage::new();
    let carol = stranger(&stage);
    commit(&stage, "topic");
    let own = stage.handle(&stage.alice);
    let own = own.create_pull(&CreatePull::new("topic", "Own")).await;
    let own = own.unwrap().value.node_id;
    let theirs = claim(&stage, &carol, "topic").await;
    let pds = stage.world.pds();
    let (_, record): (_, Value) = pds.record(&theirs).unwrap();
    for number in 0..1_200 {
        let rkey = format!("3mzzzzzzz{number:04}");
        pds.put(&carol.did, PULL, &rkey, record.clone());
    }
    let found = find(&stage, HeadRef::branch("topic")).await;
    assert_eq!(uris(&found), [own]);
    assert_eq!(found.unproven.len(), HeadMatches::MAX_UNPROVEN);
}

#[tokio::test]
async fn record_of_stranger_blocks_no_new_pull() {
    let stage = Stage::new();
    let carol = stranger(&stage);
    commit(&stage, "topic");
    claim(&stage, &carol, "topic").await;
    let own = stage.handle(&stage.bob);
    let own = own.create_pull(&CreatePull::new("topic", "Own")).await;
    own.unwrap();
    // A pull request of another account that may push is named in a warning.
    let again = stage.handle(&stage.alice);
    let second = again.create_pull(&CreatePull::new("topic", "Twice")).await;
    let warnings = second.unwrap().warnings;
    let mut warnings = warnings.iter();
    assert!(warnings.any(|w| w.message.contains("another account")));
    let third = again.create_pull(&CreatePull::new("topic", "Thrice")).await;
    assert_eq!(third.unwrap_err().code(), "already_exists");
}

#[tokio::test]
async fn record_of_stranger_deletes_no_branch() {
    let stage = Stage::new();
    let carol = stranger(&stage);
    for (branch, is_closed) in [("topic", true), ("other", false)] {
        let tip = commit(&stage, branch);
        let theirs = claim(&stage, &carol, branch).await;
        let pr = stage.tangled(&stage.alice);
        let id = forge_core::PrId {
            repo: stage.id(),
            key: PrKey::Record(theirs),
        };
        let (steps, warnings) = if is_closed {
            let mut req = CloseReq::default();
            req.delete_branch = true;
            let outcome = pr.close(&id, &req).await.unwrap();
            (outcome.steps, outcome.warnings)
        } else {
            let mut req = MergeReq::default();
            req.delete_branch = true;
            let outcome = pr.merge(&id, &req).await.unwrap();
            assert!(!outcome.value.branch_deleted);
            (outcome.steps, outcome.warnings)
        };
        assert!(steps.iter().all(|step| step.deleted_branch.is_none()));
        let told = "the author may not push to this repository";
        assert!(
            warnings.iter().any(|w| w.message.contains(told)),
            "{warnings:?}"
        );
        assert_eq!(stage.repo.git.oid(branch), Some(tip));
    }
    assert_eq!(stage.world.knot().host().count_of(DELETE), 0);
}

#[tokio::test]
async fn unknown_collaborators_leave_the_claim_unknown() {
    let stage = Stage::new();
    let tip = commit(&stage, "topic");
    let bobs = claim(&stage, &stage.bob, "topic").await;
    let silent = Fault::gateway(503).on("sh.tangled.repo.listCollaborators");
    stage.world.knot().host().fault(silent.always());
    let found = find(&stage, HeadRef::branch("topic")).await;
    assert!(found.pulls.is_empty());
    assert_eq!(found.unproven[0].claim, BranchClaim::Unknown);
    let e = found.unproven_error("topic").unwrap();
    assert_eq!(e.code(), "precondition_failed");
    assert!(e.message().contains(&bobs), "{e:?}");
    let id = forge_core::PrId {
        repo: stage.id(),
        key: PrKey::Record(bobs),
    };
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let outcome = stage.tangled(&stage.alice).close(&id, &req).await.unwrap();
    let told = "it is unknown whether the author may name the branch";
    let warnings = &outcome.warnings;
    assert!(
        warnings.iter().any(|w| w.message.contains(told)),
        "{warnings:?}"
    );
    assert_eq!(stage.repo.git.oid("topic"), Some(tip));
}
