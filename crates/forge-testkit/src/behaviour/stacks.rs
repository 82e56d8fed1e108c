//! Behaviour of stacks: pull requests that build on each other.

use forge_core::{
    PrKey,
    model::{CloseReq, CreatePull, MergeReq, MergeState, PrFields, PrState, PullRequest},
};

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        stacked_pull_has_only_own_changes [PrCreateDependent, PrFiles];
        lower_pull_is_merged_first [PrCreateDependent, MergeRebase, PrMergeability];
        upper_pull_is_merged_after_the_lower [PrCreateDependent, MergeRebase];
        second_child_is_refused [PrCreateDependent];
        stack_on_closed_pull_is_refused [PrCreateDependent, PrClose];
        stack_on_missing_pull_is_not_found [PrCreateDependent];
    ];
}

/// Opens the pull request `lower`, which adds a file, and makes a branch `upper` on top of it,
/// which adds another file.
async fn lower(fx: &Fixture) -> PullRequest {
    let lower = fx.open("lower").await;
    fx.git.set_branch("upper", "lower");
    fx.git
        .commit("upper", "Add upper", &[("upper.txt", Some("upper\n"))]);
    lower
}

fn on(lower: &PullRequest) -> CreatePull {
    let mut req = CreatePull::new("upper", "The upper one");
    req.depends_on = Some(lower.id.clone());
    req
}

async fn stacked_pull_has_only_own_changes(fx: Fixture) {
    let lower = lower(&fx).await;
    let upper = fx.author.create_pull(&on(&lower)).await.unwrap().value;
    let read = fx.author.pull(&upper.id, PrFields::DEPENDS_ON).await;
    let base = match fx.facts.stacks_by_base {
        true => &lower.head_branch,
        false => &lower.base_branch,
    };
    for pr in [&upper, &read.unwrap()] {
        assert_eq!(pr.depends_on.as_ref(), Some(&lower.id.key));
        assert_eq!(&pr.base_branch, base);
    }
    let read = fx.author.pull(&lower.id, PrFields::DEPENDS_ON).await;
    assert_eq!(read.unwrap().depends_on, None);
    let page = forge_core::PageReq::first(10);
    let files = fx.author.files(&upper.id, page).await.unwrap().items;
    let paths: Vec<_> = files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(
        paths,
        ["upper.txt"],
        "the upper pull request has changes of the lower one"
    );
}

async fn lower_pull_is_merged_first(fx: Fixture) {
    let lower = lower(&fx).await;
    let upper = fx.author.create_pull(&on(&lower)).await.unwrap().value;
    let merge = MergeReq::default();
    let can = fx.author.mergeability(&upper.id).await.unwrap();
    assert_eq!(can.state, MergeState::Mergeable, "{can:?}");
    let merged = fx.author.merge(&upper.id, &merge).await;
    if fx.facts.stacks_merge_together {
        merged.unwrap();
    } else {
        let e = refused(merged, "precondition_failed");
        assert!(e.message().contains(&lower.id.key.to_string()), "{e}");
        assert_eq!(fx.view(&upper.id).await.state, PrState::Open);
        for pr in [&lower, &upper] {
            fx.author.merge(&pr.id, &merge).await.unwrap();
        }
    }
    assert_eq!(fx.git.show("main", "upper.txt"), "upper\n");
    for pr in [&lower, &upper] {
        assert_eq!(fx.view(&pr.id).await.state, PrState::Merged);
    }
}

async fn upper_pull_is_merged_after_the_lower(fx: Fixture) {
    let lower = lower(&fx).await;
    let upper = fx.author.create_pull(&on(&lower)).await.unwrap().value;
    fx.author
        .merge(&lower.id, &MergeReq::default())
        .await
        .unwrap();
    let rest = fx.view(&upper.id).await;
    assert_eq!(
        (rest.state, rest.base_branch),
        (PrState::Open, lower.base_branch)
    );
    assert_eq!(fx.git.oid("main:upper.txt"), None);
    fx.author
        .merge(&upper.id, &MergeReq::default())
        .await
        .unwrap();
    assert_eq!(fx.git.show("main", "upper.txt"), "upper\n");
}

async fn second_child_is_refused(fx: Fixture) {
    let lower = lower(&fx).await;
    fx.author.create_pull(&on(&lower)).await.unwrap();
    fx.git.set_branch("another", "lower");
    fx.git
        .commit("another", "Add another", &[("another.txt", Some("x\n"))]);
    let mut req = CreatePull::new("another", "Beside it");
    req.depends_on = Some(lower.id.clone());
    refused(fx.author.create_pull(&req).await, "already_exists");
}

async fn stack_on_closed_pull_is_refused(fx: Fixture) {
    let lower = lower(&fx).await;
    fx.author
        .close(&lower.id, &CloseReq::default())
        .await
        .unwrap();
    refused(
        fx.author.create_pull(&on(&lower)).await,
        "precondition_failed",
    );
}

async fn stack_on_missing_pull_is_not_found(fx: Fixture) {
    let mut lower = lower(&fx).await;
    lower.id.key = match lower.id.key {
        PrKey::Number(_) => PrKey::Number(999),
        PrKey::Record(mut uri) => {
            // A changed last letter makes the at-uri of a record that does not exist.
            let other = if uri.pop() == Some('2') { '3' } else { '2' };
            uri.push(other);
            PrKey::Record(uri)
        }
    };
    refused(fx.author.create_pull(&on(&lower)).await, "not_found");
}
