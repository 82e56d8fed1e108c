//! Pull requests whose base branch is the head of another open one.

use forge_core::{
    PrKey, PullRequests,
    model::{CloseReq, CreatePull, MergeReq, PrFields, PullRequest},
};

use crate::{
    branch_names::claim,
    stage::{PASSWORD, Stage},
};

const LIST: &str = "sh.tangled.repo.listPulls";

/// Opens a pull request into `base` from a new branch on top of it.
async fn open_onto(stage: &Stage, base: &str, branch: &str) -> PullRequest {
    let git = &stage.repo.git;
    git.set_branch(branch, base);
    let file = format!("{branch}.txt");
    git.commit(branch, &format!("Add {branch}"), &[(&file, Some("1\n"))]);
    let mut req = CreatePull::new(branch, format!("Title of {branch}"));
    req.base = Some(base.to_owned());
    let alice = stage.handle(&stage.alice);
    alice.create_pull(&req).await.unwrap().value
}

#[tokio::test]
async fn base_that_is_an_open_head_is_named() {
    let stage = Stage::new();
    let lower = open_onto(&stage, "main", "lower").await;
    let upper = open_onto(&stage, "lower", "upper").await;
    let forge = stage.tangled(&stage.bob);
    let index = stage.world.index().host();
    let below = async |pull: &PullRequest, fields: PrFields| {
        forge.view(&pull.id, fields).await.unwrap().depends_on
    };
    let named = Some(PrKey::Record(lower.node_id.clone()));
    index.reset_record();
    assert_eq!(below(&upper, PrFields::DEPENDS_ON).await, named);
    assert_eq!(index.count_of(LIST), 1);
    // Only who wants to know pays for the answer, and a pull request to `main` costs nothing.
    index.reset_record();
    assert_eq!(below(&upper, PrFields::NONE).await, None);
    assert_eq!(below(&lower, PrFields::DEPENDS_ON).await, None);
    assert_eq!(index.count_of(LIST), 0);

    forge.close(&lower.id, &CloseReq::default()).await.unwrap();
    assert_eq!(below(&upper, PrFields::DEPENDS_ON).await, None);
    // A stranger can write a record that names any branch.
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    claim(&stage, &carol, "lower").await;
    assert_eq!(below(&upper, PrFields::DEPENDS_ON).await, None);
    index.set_down(true);
    let view = forge.view(&upper.id, PrFields::DEPENDS_ON).await.unwrap();
    let unread = |w: &forge_core::Warning| w.section == Some("depends_on");
    assert!(view.warnings.iter().any(unread), "{:?}", view.warnings);
}

#[tokio::test]
async fn default_branch_is_no_lower_pull_request() {
    let stage = Stage::new();
    let git = &stage.repo.git;
    git.set_branch("trunk", "main");
    git.set_branch("release", "main");
    git.run(["symbolic-ref", "HEAD", "refs/heads/trunk"]).ok();
    git.commit("trunk", "Work", &[("w", Some("1\n"))]);
    let mut req = CreatePull::new("trunk", "Release");
    req.base = Some("release".to_owned());
    let alice = stage.handle(&stage.alice);
    let release = alice.create_pull(&req).await.unwrap().value;
    let topic = open_onto(&stage, "trunk", "topic").await;
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&topic.id, PrFields::DEPENDS_ON).await.unwrap();
    assert_eq!(view.depends_on, None);
    git.run(["symbolic-ref", "HEAD", "refs/heads/main"]).ok();
    let view = forge.view(&topic.id, PrFields::DEPENDS_ON).await.unwrap();
    assert_eq!(view.depends_on, Some(PrKey::Record(release.node_id)));
}

#[tokio::test]
async fn merge_into_an_open_head_warns() {
    let stage = Stage::new();
    let lower = open_onto(&stage, "main", "lower").await;
    let upper = open_onto(&stage, "lower", "upper").await;
    let last = open_onto(&stage, "lower", "last").await;
    let forge = stage.tangled(&stage.bob);
    let told = format!("the head branch of the open pull request {}", lower.node_id);
    let merge = async |pull: &PullRequest| {
        let merged = forge.merge(&pull.id, &MergeReq::default()).await.unwrap();
        let warnings = merged.warnings.iter();
        warnings.filter(|w| w.message.contains(&told)).count()
    };
    assert_eq!(merge(&upper).await, 1);
    forge.close(&lower.id, &CloseReq::default()).await.unwrap();
    assert_eq!(merge(&last).await, 0);
}
