//! Behaviour of pull requests that revert a merged pull request.

use forge_core::{
    ErrorKind, PrId, Precondition,
    model::{MergeMethod, MergeReq, PrState, RevertPull},
};

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        a_merge_is_reverted [PrRevert, MergeCommit];
        a_squash_is_reverted [PrRevert, MergeSquash];
        a_rebase_is_reverted [PrRevert, MergeRebase];
        revert_keeps_later_changes [PrRevert, MergeCommit];
        revert_conflict_changes_nothing [PrRevert, MergeCommit];
        revert_uses_given_title_body_and_draft [PrRevert, PrCreateDraft, MergeCommit];
        revert_of_open_pull_is_refused [PrRevert];
        revert_of_closed_pull_is_refused [PrRevert, PrClose];
    ];
}

/// Merges two commits by a method; returns the pull request and the base branch's tree before the
/// merge.
async fn merged(fx: &Fixture, method: MergeMethod) -> (PrId, String) {
    let before = fx.git.oid("main^{tree}").unwrap();
    fx.git.commit("feature", "One", &[("one.txt", Some("1\n"))]);
    fx.git.commit("feature", "Two", &[("two.txt", Some("2\n"))]);
    let pr = fx.open_from("feature").await.id;
    let mut req = MergeReq::default();
    req.method = Some(method);
    fx.author.merge(&pr, &req).await.unwrap();
    (pr, before)
}

async fn reverted(fx: &Fixture, method: MergeMethod) {
    let (pr, before) = merged(fx, method).await;
    let tip = fx.git.oid("main").unwrap();
    let made = fx.author.revert(&pr, &RevertPull::default()).await.unwrap();
    let new = made.value;
    assert_ne!(new.id, pr);
    assert_eq!((new.state, new.draft), (PrState::Open, false));
    assert_eq!(new.base_branch, "main");
    assert_eq!(new.head_branch, format!("revert-{}-feature", pr.key));
    let view = fx.view(&new.id).await;
    assert!(view.title.starts_with("Revert \""), "{}", view.title);
    assert!(view.description.contains(&format!("#{}", pr.key)));
    // The base branch has one new commit, with the tree from before the merge.
    assert_eq!(fx.git.oid("main"), Some(tip.clone()));
    assert_eq!(fx.git.oid(&format!("{}^", new.head_branch)), Some(tip));
    let tree = fx.git.oid(&format!("{}^{{tree}}", new.head_branch));
    assert_eq!(tree, Some(before));
    assert_eq!(fx.view(&pr).await.state, PrState::Merged);
}

async fn a_merge_is_reverted(fx: Fixture) {
    reverted(&fx, MergeMethod::Merge).await;
}

async fn a_squash_is_reverted(fx: Fixture) {
    reverted(&fx, MergeMethod::Squash).await;
}

async fn a_rebase_is_reverted(fx: Fixture) {
    reverted(&fx, MergeMethod::Rebase).await;
}

async fn revert_keeps_later_changes(fx: Fixture) {
    let (pr, _) = merged(&fx, MergeMethod::Merge).await;
    let later = [("later.txt", Some("later\n"))];
    fx.git.commit("main", "Later", &later);
    let made = fx.author.revert(&pr, &RevertPull::default()).await.unwrap();
    let head = &made.value.head_branch;
    assert_eq!(fx.git.show(head, "later.txt"), "later\n");
    assert_eq!(fx.git.oid(&format!("{head}:one.txt")), None);
}

async fn revert_conflict_changes_nothing(fx: Fixture) {
    let (pr, _) = merged(&fx, MergeMethod::Merge).await;
    let other = [("one.txt", Some("other\n"))];
    fx.git.commit("main", "Other", &other);
    let before = fx.git.refs();
    let refused = fx.author.revert(&pr, &RevertPull::default()).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(fx.git.refs(), before);
}

async fn revert_uses_given_title_body_and_draft(fx: Fixture) {
    let (pr, _) = merged(&fx, MergeMethod::Merge).await;
    let mut req = RevertPull::default();
    req.title = Some("Take it back".into());
    req.body = Some("It broke.".into());
    req.draft = true;
    let new = fx.author.revert(&pr, &req).await.unwrap().value;
    let view = fx.view(&new.id).await;
    assert!(new.draft && view.draft);
    assert_eq!(
        (view.title.as_str(), view.description.as_str()),
        ("Take it back", "It broke.")
    );
}

async fn revert_of_open_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = fx.git.refs();
    let revert = fx.author.revert(&pr, &RevertPull::default()).await;
    let e = refused(revert, "precondition_failed");
    let is_open = matches!(e.kind(), ErrorKind::Precondition(Precondition::Open));
    assert!(is_open, "{e:?}");
    assert_eq!(fx.git.refs(), before);
}

async fn revert_of_closed_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    let revert = fx.author.revert(&pr, &RevertPull::default()).await;
    let e = refused(revert, "precondition_failed");
    let is_closed = matches!(e.kind(), ErrorKind::Precondition(Precondition::Closed));
    assert!(is_closed, "{e:?}");
}
