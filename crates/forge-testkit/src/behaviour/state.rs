//! Behaviour of closing, reopening, draft and ready.

use forge_core::{
    Call, DeletedBranch, Op, PageReq, PrId, Warning,
    model::{CloseReq, CreatePull, Lock, LockReason, PrFields, PrState},
};

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        pull_is_closed [PrClose];
        repeated_close_is_unchanged [PrClose];
        pull_is_closed_with_a_comment [PrClose, Comments];
        repeated_close_still_posts_the_comment [PrClose, Comments];
        close_deletes_the_branch_on_request [PrClose, PrDeleteBranch];
        closed_pull_keeps_its_branch [PrClose, PrDeleteBranch];
        close_keeps_branch_with_unexpected_head [PrClose, PrDeleteBranch];
        close_of_merged_pull_is_refused [PrClose, MergeCommit];
        close_of_missing_pull_is_not_found [PrClose];
        pull_is_reopened [PrClose, PrReopen];
        reopen_of_open_pull_is_unchanged [PrReopen];
        pull_is_reopened_with_a_comment [PrClose, PrReopen, Comments];
        reopen_of_open_pull_still_posts_the_comment [PrReopen, Comments];
        refused_close_of_merged_pull_suggests_comment [PrClose, MergeCommit, Comments];
        reopen_of_merged_pull_is_refused [PrReopen, MergeCommit];
        reopen_without_head_branch_is_refused [PrClose, PrReopen];
        reopen_without_base_branch_is_refused [PrClose, PrReopen];
        draft_becomes_ready_and_draft_again [PrCreateDraft, PrDraft];
        ready_pull_marked_ready_is_unchanged [PrDraft];
        repeated_draft_is_a_warning [PrDraft];
        draft_of_closed_pull_is_refused [PrDraft, PrClose];
        draft_of_merged_pull_is_refused [PrDraft, MergeCommit];
        pull_is_locked_and_unlocked [PrLock];
        repeated_lock_changes_nothing [PrLock];
        lock_reason_is_replaced [PrLock];
        states_survive_a_new_handle [PrClose];
    ];
}

async fn pull_is_closed(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let outcome = fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    assert!(outcome.warnings.is_empty());
    let read = fx.view(&pr).await;
    for pr in [outcome.value, read] {
        assert_eq!(pr.state, PrState::Closed);
        assert!(pr.closed_at.is_some() && pr.merged_at.is_none());
    }
    assert!(fx.git.oid("feature").is_some());
}

async fn repeated_close_is_unchanged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let first = fx
        .author
        .close(&pr, &CloseReq::default())
        .await
        .unwrap()
        .value;
    let second = fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    assert!(!second.warnings.is_empty());
    assert_eq!(second.value.version, first.version);
}

async fn pull_is_closed_with_a_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let mut req = CloseReq::default();
    req.comment = Some("Not now.".into());
    fx.author.close(&pr, &req).await.unwrap();
    let read = fx.author.pull(&pr, PrFields::COMMENTS).await.unwrap();
    assert_eq!(read.state, PrState::Closed);
    let bodies: Vec<_> = read.comments.unwrap().into_iter().map(|c| c.body).collect();
    assert_eq!(bodies, ["Not now."]);
}

async fn bodies(fx: &Fixture, pr: &PrId) -> Vec<String> {
    let page = fx.author.comments(pr, PageReq::first(10)).await.unwrap();
    page.items.into_iter().map(|c| c.body).collect()
}

async fn repeated_close_still_posts_the_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    let mut req = CloseReq::default();
    req.comment = Some("Not now.".into());
    let again = fx.author.close(&pr, &req).await.unwrap();
    assert!(again.already && !again.unchanged, "{again:?}");
    assert_eq!(again.extra_steps().as_deref(), Some("comment"));
    assert_eq!(bodies(&fx, &pr).await, ["Not now."]);
    // A repeated call does not repeat the comment.
    let third = fx.author.close(&pr, &req).await.unwrap();
    assert!(third.unchanged, "{third:?}");
    assert_eq!(bodies(&fx, &pr).await, ["Not now."]);
}

async fn reopen_of_open_pull_still_posts_the_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let again = fx.author.reopen(&pr, Some("It is open.")).await.unwrap();
    assert!(again.already && !again.unchanged, "{again:?}");
    assert_eq!(bodies(&fx, &pr).await, ["It is open."]);
}

async fn refused_close_of_merged_pull_suggests_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    let mut req = CloseReq::default();
    req.comment = Some("Too late.".into());
    let e = refused(fx.author.close(&pr, &req).await, "precondition_failed");
    let action = e.hint().unwrap().action().unwrap();
    assert_eq!(action.call(), Call::Op(Op::Comment), "{e:?}");
    let e = refused(
        fx.author.reopen(&pr, req.comment.as_deref()).await,
        "precondition_failed",
    );
    let action = e.hint().unwrap().action().unwrap();
    assert_eq!(action.call(), Call::Op(Op::Comment), "{e:?}");
}

async fn close_deletes_the_branch_on_request(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let tip = fx.git.oid("feature").unwrap();
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let closed = fx.author.close(&pr, &req).await.unwrap();
    assert_eq!(fx.git.oid("refs/heads/feature"), None);
    assert_eq!(fx.view(&pr).await.state, PrState::Closed);
    // The result names the commit that brings the branch back.
    let deleted = closed.steps.iter().find_map(|s| s.deleted_branch.clone());
    assert_eq!(deleted, Some(DeletedBranch::new("feature", tip)));
}

async fn closed_pull_keeps_its_branch(fx: Fixture) {
    let pr = fx.open("other").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    let tip = fx.git.oid("other").unwrap();
    let mut req = CloseReq::default();
    req.delete_branch = true;
    req.expected_head = Some(tip.clone());
    for comment in [None, Some("Once more.".to_owned())] {
        req.comment = comment;
        let kept = fx.author.close(&pr, &req).await.unwrap();
        assert!(kept.already, "{kept:?}");
        assert!(kept.steps.iter().all(|s| s.deleted_branch.is_none()));
        let told = |w: &Warning| w.message.contains("was closed before this call");
        assert!(kept.warnings.iter().any(told), "{kept:?}");
        assert_eq!(fx.git.oid("refs/heads/other"), Some(tip.clone()));
    }
}

async fn close_keeps_branch_with_unexpected_head(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let tip = fx.git.oid("feature").unwrap();
    let at = |head: &str| {
        let mut req = CloseReq::default();
        req.delete_branch = true;
        req.expected_head = Some(head.to_owned());
        req
    };
    for short in ["", &tip[..12]] {
        refused(fx.author.close(&pr, &at(short)).await, "invalid_input");
    }
    assert_eq!(fx.view(&pr).await.state, PrState::Open);
    let kept = fx.author.close(&pr, &at(&"1".repeat(40))).await.unwrap();
    assert_eq!(kept.value.state, PrState::Closed);
    let step = kept.steps.iter().find(|s| s.name == "delete head branch");
    assert!(step.is_some_and(|s| !s.done), "{kept:?}");
    assert!(
        kept.warnings[0].message.contains("was not deleted"),
        "{kept:?}"
    );
    assert_eq!(fx.git.oid("refs/heads/feature"), Some(tip.clone()));
    fx.author.reopen(&pr, None).await.unwrap();
    fx.author.close(&pr, &at(&tip)).await.unwrap();
    assert_eq!(fx.git.oid("refs/heads/feature"), None);
}

async fn close_of_merged_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    refused(
        fx.author.close(&pr, &CloseReq::default()).await,
        "precondition_failed",
    );
    assert_eq!(fx.view(&pr).await.state, PrState::Merged);
}

async fn close_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .close(&fx.author.pull_id(77), &CloseReq::default())
            .await,
        "not_found",
    );
}

async fn pull_is_reopened(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    let made = fx.reviewer.reopen(&pr, None).await.unwrap().value;
    assert_eq!(made.state, PrState::Open);
    assert_eq!(fx.view(&pr).await.closed_at, None);
}

async fn reopen_of_open_pull_is_unchanged(fx: Fixture) {
    let pr = fx.open("feature").await;
    let outcome = fx.author.reopen(&pr.id, None).await.unwrap();
    assert!(!outcome.warnings.is_empty());
    assert_eq!(outcome.value.version, pr.version);
}

async fn pull_is_reopened_with_a_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    fx.author.reopen(&pr, Some("After all.")).await.unwrap();
    let comments = fx
        .author
        .comments(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].body, "After all.");
}

async fn reopen_of_merged_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    let e = refused(fx.author.reopen(&pr, None).await, "precondition_failed");
    assert!(e.message().contains("merged"), "{e}");
}

async fn reopen_without_head_branch_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    fx.git.delete_branch("feature");
    let e = invalid(fx.author.reopen(&pr, None).await, "head");
    assert!(e.message().contains("feature"), "{e}");
}

async fn reopen_without_base_branch_is_refused(fx: Fixture) {
    fx.feature("release");
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Into a release");
    req.base = Some("release".into());
    let pr = fx.author.create_pull(&req).await.unwrap().value.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    fx.git.delete_branch("release");
    invalid(fx.author.reopen(&pr, None).await, "base");
}

async fn draft_becomes_ready_and_draft_again(fx: Fixture) {
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Draft");
    req.draft = true;
    let pr = fx.author.create_pull(&req).await.unwrap().value.id;
    assert!(!fx.author.set_draft(&pr, false).await.unwrap().value.draft);
    assert!(!fx.view(&pr).await.draft);
    assert!(fx.author.set_draft(&pr, true).await.unwrap().value.draft);
    assert!(fx.view(&pr).await.draft);
}

async fn ready_pull_marked_ready_is_unchanged(fx: Fixture) {
    let pr = fx.open("feature").await;
    let outcome = fx.author.set_draft(&pr.id, false).await.unwrap();
    assert!(!outcome.warnings.is_empty());
    assert_eq!(outcome.value.version, pr.version);
}

async fn repeated_draft_is_a_warning(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.set_draft(&pr, true).await.unwrap();
    assert!(
        !fx.author
            .set_draft(&pr, true)
            .await
            .unwrap()
            .warnings
            .is_empty()
    );
    assert!(fx.view(&pr).await.draft);
}

async fn draft_of_closed_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    refused(fx.author.set_draft(&pr, true).await, "precondition_failed");
}

async fn draft_of_merged_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    refused(fx.author.set_draft(&pr, true).await, "precondition_failed");
}

async fn pull_is_locked_and_unlocked(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for lock in [Lock::Locked(None), Lock::Unlocked] {
        let made = fx.author.set_lock(&pr, lock).await.unwrap();
        assert!(!made.unchanged && made.warnings.is_empty(), "{made:?}");
    }
    assert_eq!(fx.view(&pr).await.state, PrState::Open);
}

async fn repeated_lock_changes_nothing(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let unlocked = fx.author.set_lock(&pr, Lock::Unlocked).await.unwrap();
    assert!(unlocked.unchanged && !unlocked.warnings.is_empty());
    let spam = Lock::Locked(Some(LockReason::Spam));
    fx.author.set_lock(&pr, spam).await.unwrap();
    // A lock without a reason keeps the earlier reason.
    for lock in [spam, Lock::Locked(None)] {
        let again = fx.author.set_lock(&pr, lock).await.unwrap();
        assert!(again.unchanged && !again.warnings.is_empty());
    }
}

async fn lock_reason_is_replaced(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for reason in LockReason::ALL {
        let lock = Lock::Locked(Some(reason));
        assert!(!fx.author.set_lock(&pr, lock).await.unwrap().unchanged);
        assert!(fx.author.set_lock(&pr, lock).await.unwrap().unchanged);
    }
}

async fn states_survive_a_new_handle(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    let theirs = fx.reviewer.pull(&pr, PrFields::NONE).await.unwrap();
    assert_eq!(theirs.state, PrState::Closed);
}
