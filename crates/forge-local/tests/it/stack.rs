//! Stacked pull requests.

use forge_core::{
    Action, ErrorKind, Hint, Op, Param, PrKey, Precondition, PullRequests, Warning,
    model::{CreatePull, EditPull, MergeReq, PrFields, PrState, PullRequest},
};
use forge_local::Local;

use crate::repo::{Repo, create, pr};

/// Creates a branch with one commit on top of `below`. Leaves `main` checked out.
fn grow(repo: &Repo, branch: &str, below: &str) {
    repo.git(&["switch", "--quiet", "--create", branch, below]);
    repo.write(&format!("{branch}.txt"), "new\n");
    repo.commit(&format!("add {branch}.txt"));
    repo.git(&["switch", "--quiet", "main"]);
}

async fn on_top(local: &Local, branch: &str, below: u64) -> PullRequest {
    let mut req = CreatePull::new(branch, format!("Take {branch}"));
    req.depends_on = Some(pr(local, below));
    local.create(local.id(), &req).await.unwrap().value
}

async fn seen(local: &Local, number: u64) -> (String, Option<PrKey>) {
    let view = local.view(&pr(local, number), PrFields::NONE).await;
    let view = view.unwrap();
    assert_eq!(view.state, PrState::Open);
    (view.base_branch, view.depends_on)
}

fn deleting() -> MergeReq {
    let mut req = MergeReq::default();
    req.delete_branch = true;
    req
}

#[tokio::test]
async fn merge_retargets_dependents_and_deletes_branch() {
    let repo = Repo::new();
    grow(&repo, "lower", "main");
    let local = repo.open().await;
    create(&local, "lower").await;
    for branch in ["left", "right"] {
        grow(&repo, branch, "lower");
        on_top(&local, branch, 1).await;
    }
    grow(&repo, "top", "left");
    on_top(&local, "top", 2).await;
    let key = |number| Some(PrKey::Number(number));
    assert_eq!(seen(&local, 2).await, ("lower".to_owned(), key(1)));
    assert_eq!(seen(&local, 4).await, ("left".to_owned(), key(2)));
    for (lower, upper) in [(1, &[2, 3][..]), (2, &[4][..]), (4, &[][..])] {
        let view = local.view(&pr(&local, lower), PrFields::DEPENDENTS).await;
        let upper = upper.iter().copied().map(PrKey::Number).collect();
        assert_eq!(view.unwrap().dependents, Some(upper), "{lower}");
    }

    let merged = local.merge(&pr(&local, 1), &deleting()).await.unwrap();
    let about = |w: &Warning| w.message.contains("lower");
    assert!(!merged.warnings.iter().any(about), "{:?}", merged.warnings);
    assert!(merged.value.branch_deleted);
    assert_eq!(repo.git(&["branch", "--list", "lower"]), "");
    for number in [2, 3] {
        assert_eq!(seen(&local, number).await, ("main".to_owned(), None));
    }
    assert_eq!(seen(&local, 4).await, ("left".to_owned(), key(2)));
}

#[tokio::test]
async fn repeated_merge_retargets_remaining_dependents() {
    let repo = Repo::new();
    grow(&repo, "lower", "main");
    grow(&repo, "upper", "lower");
    let local = repo.open().await;
    create(&local, "lower").await;
    // #3 cannot be retargeted because of #2: both would have the same head and base.
    create(&local, "upper").await;
    on_top(&local, "upper", 1).await;
    let merged = local.merge(&pr(&local, 1), &deleting()).await.unwrap();
    assert!(!merged.value.branch_deleted);
    let wanted = Action::op(Op::PrEdit).on(3).with(Param::Base, "main");
    let mut hints = merged.warnings.iter().filter_map(|w| w.hint.as_ref());
    assert!(hints.any(|h| h.action() == Some(&wanted)), "{merged:?}");
    assert_eq!(seen(&local, 3).await, ("lower".to_owned(), None));
    let lost = local.merge(&pr(&local, 3), &MergeReq::default()).await;
    assert_eq!(lost.unwrap_err().code(), "precondition_failed");

    local
        .close(&pr(&local, 2), &Default::default())
        .await
        .unwrap();
    let again = local.merge(&pr(&local, 1), &deleting()).await.unwrap();
    assert!(again.value.already_merged && again.value.branch_deleted);
    assert_eq!(seen(&local, 3).await, ("main".to_owned(), None));
}

#[tokio::test]
async fn stacked_pull_needs_lower_head_as_base() {
    let repo = Repo::new();
    grow(&repo, "lower", "main");
    grow(&repo, "upper", "lower");
    let local = repo.open().await;
    create(&local, "lower").await;
    let mut req = CreatePull::new("upper", "Take upper");
    req.base = Some("main".to_owned());
    req.depends_on = Some(pr(&local, 1));
    let e = local.create(local.id(), &req).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e:?}");

    on_top(&local, "upper", 1).await;
    let early = local.merge(&pr(&local, 2), &MergeReq::default()).await;
    let early = early.unwrap_err();
    assert_eq!(
        early.kind(),
        &ErrorKind::Precondition(Precondition::Stacked)
    );
    let merge = Action::op(Op::PrMerge).on(1).with(Param::Method, "merge");
    assert_eq!(early.hint().and_then(Hint::action), Some(&merge));
    let can = local.mergeability(&pr(&local, 2)).await.unwrap();
    assert_eq!(can.status, "BLOCKED");
    let mut edit = EditPull::default();
    edit.base = Some("main".to_owned());
    local.edit(&pr(&local, 2), &edit).await.unwrap();
    assert_eq!(seen(&local, 2).await, ("main".to_owned(), None));
    local
        .merge(&pr(&local, 2), &MergeReq::default())
        .await
        .unwrap();
}
