//! Behaviour of reviews and of the resulting decision.

use forge_core::{
    PageReq, PrId,
    model::{
        EditPull, NewReview, PrFields, Review, ReviewDecision, ReviewState, Reviewer, Verdict,
    },
};

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        approval_is_counted [ReviewVerdict];
        approval_needs_no_body [ReviewVerdict];
        request_for_changes_is_counted [ReviewVerdict];
        a_request_for_changes_needs_a_body [ReviewVerdict];
        comment_is_not_a_verdict [ReviewVerdict, Comments];
        a_comment_needs_a_body [Comments];
        the_author_cannot_approve [ReviewVerdict];
        the_author_can_comment [Comments];
        last_verdict_of_a_reviewer_counts [ReviewVerdict];
        comment_does_not_replace_a_verdict [ReviewVerdict, Comments];
        review_ends_the_review_request [ReviewVerdict, PrReviewers];
        review_of_a_stale_head_is_refused [ReviewVerdict];
        review_of_the_expected_head_is_accepted [ReviewVerdict];
        review_head_prefix_is_refused [ReviewVerdict];
        review_has_the_reviewed_commit [ReviewVerdict];
        review_of_closed_pull_is_warned_of [ReviewVerdict, PrClose];
        review_of_merged_pull_is_warned_of [ReviewVerdict, MergeCommit];
        reviews_are_oldest_first_and_paged [ReviewVerdict];
        review_of_missing_pull_is_not_found [ReviewVerdict];
        dismissed_review_does_not_count [ReviewVerdict, ReviewDismiss];
        dismissal_of_a_comment_is_refused [ReviewDismiss, Comments];
        dismissal_without_reason_is_refused [ReviewVerdict, ReviewDismiss];
        dismissal_of_unknown_review_is_not_found [ReviewDismiss];
    ];
}

fn approve() -> NewReview {
    NewReview::new(Verdict::Approve, "Good.")
}

fn request() -> NewReview {
    NewReview::new(Verdict::RequestChanges, "Please change.")
}

fn remark() -> NewReview {
    NewReview::new(Verdict::Comment, "I wonder.")
}

async fn all(fx: &Fixture, pr: &PrId) -> Vec<Review> {
    fx.author
        .reviews(pr, PageReq::first(100))
        .await
        .unwrap()
        .items
}

async fn approval_is_counted(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let made = fx
        .reviewer
        .submit_review(&pr, &approve())
        .await
        .unwrap()
        .value;
    assert_eq!(made.state, ReviewState::Approved);
    let read = all(&fx, &pr).await;
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].id, made.id);
    assert_eq!(read[0].author.login, fx.reviewer_login().await);
    assert_eq!(read[0].body.as_deref(), Some("Good."));
    let read = fx.view(&pr).await;
    assert_eq!((read.approvals, read.changes_requested), (1, 0));
    assert_eq!(read.review_decision, Some(ReviewDecision::Approved));
}

async fn approval_needs_no_body(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let review = NewReview::new(Verdict::Approve, "");
    fx.reviewer.submit_review(&pr, &review).await.unwrap();
    let read = all(&fx, &pr).await;
    assert!(read[0].body.as_deref().unwrap_or_default().is_empty());
}

async fn request_for_changes_is_counted(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.reviewer.submit_review(&pr, &request()).await.unwrap();
    let read = fx.view(&pr).await;
    assert_eq!((read.approvals, read.changes_requested), (0, 1));
    assert_eq!(read.review_decision, Some(ReviewDecision::ChangesRequested));
}

async fn a_request_for_changes_needs_a_body(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let review = NewReview::new(Verdict::RequestChanges, " ");
    refused(
        fx.reviewer.submit_review(&pr, &review).await,
        "invalid_input",
    );
    assert!(all(&fx, &pr).await.is_empty());
}

async fn comment_is_not_a_verdict(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.reviewer.submit_review(&pr, &remark()).await.unwrap();
    let read = fx.view(&pr).await;
    assert_eq!((read.approvals, read.changes_requested), (0, 0));
    assert_eq!(all(&fx, &pr).await[0].state, ReviewState::Commented);
}

async fn a_comment_needs_a_body(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let review = NewReview::new(Verdict::Comment, "");
    refused(
        fx.reviewer.submit_review(&pr, &review).await,
        "invalid_input",
    );
}

async fn the_author_cannot_approve(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for review in [approve(), request()] {
        refused(
            fx.author.submit_review(&pr, &review).await,
            "precondition_failed",
        );
    }
    assert!(all(&fx, &pr).await.is_empty());
}

async fn the_author_can_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.submit_review(&pr, &remark()).await.unwrap();
    assert_eq!(all(&fx, &pr).await.len(), 1);
}

async fn last_verdict_of_a_reviewer_counts(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.reviewer.submit_review(&pr, &request()).await.unwrap();
    fx.reviewer.submit_review(&pr, &approve()).await.unwrap();
    let read = fx.view(&pr).await;
    assert_eq!((read.approvals, read.changes_requested), (1, 0));
    assert_eq!(read.review_decision, Some(ReviewDecision::Approved));
    assert_eq!(read.latest_reviews.len(), 1);
    assert_eq!(read.latest_reviews[0].state, ReviewState::Approved);
    assert_eq!(all(&fx, &pr).await.len(), 2);
}

async fn comment_does_not_replace_a_verdict(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.reviewer.submit_review(&pr, &approve()).await.unwrap();
    fx.reviewer.submit_review(&pr, &remark()).await.unwrap();
    let read = fx.view(&pr).await;
    assert_eq!(read.approvals, 1);
    assert_eq!(read.latest_reviews[0].state, ReviewState::Approved);
}

async fn review_ends_the_review_request(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let login = fx.reviewer_login().await;
    let mut edit = EditPull::default();
    edit.reviewers.add = vec![Reviewer::user(login)];
    fx.author.edit_pull(&pr, &edit).await.unwrap();
    fx.reviewer.submit_review(&pr, &approve()).await.unwrap();
    assert!(fx.view(&pr).await.pending_reviewers.is_empty());
    assert!(
        fx.reviewer
            .status(None, PrFields::NONE)
            .await
            .unwrap()
            .needs_review
            .is_empty()
    );
}

async fn review_of_a_stale_head_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await;
    fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    let mut review = approve();
    review.expected_head = pr.head_id().map(str::to_owned);
    refused(fx.reviewer.submit_review(&pr.id, &review).await, "conflict");
    assert!(all(&fx, &pr.id).await.is_empty());
}

async fn review_of_the_expected_head_is_accepted(fx: Fixture) {
    let pr = fx.open("feature").await;
    let mut review = approve();
    review.expected_head = pr.head_id().map(str::to_owned);
    fx.reviewer.submit_review(&pr.id, &review).await.unwrap();
    assert_eq!(all(&fx, &pr.id).await.len(), 1);
}

async fn review_head_prefix_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await;
    let head = pr.head_id().unwrap().to_owned();
    for digits in [12, head.len() - 1] {
        let mut review = approve();
        review.expected_head = Some(head[..digits].to_owned());
        let e = refused(
            fx.reviewer.submit_review(&pr.id, &review).await,
            "invalid_input",
        );
        assert!(e.hint().unwrap().text().contains(&head), "{e:?}");
    }
    assert!(all(&fx, &pr.id).await.is_empty());
}

async fn review_has_the_reviewed_commit(fx: Fixture) {
    let pr = fx.open("feature").await;
    fx.reviewer.submit_review(&pr.id, &approve()).await.unwrap();
    fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    assert_eq!(all(&fx, &pr.id).await[0].commit, pr.head_oid);
}

async fn review_of_closed_pull_is_warned_of(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    review_too_late(&fx, &pr, "closed").await;
}

async fn review_of_merged_pull_is_warned_of(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    review_too_late(&fx, &pr, "merged").await;
}

/// Gives every verdict on a pull request that is no longer open. The forge takes the reviews, with
/// a warning about each verdict.
async fn review_too_late(fx: &Fixture, pr: &PrId, state: &str) {
    for review in [request(), approve()] {
        let given = fx.reviewer.submit_review(pr, &review).await.unwrap();
        let wanted = format!("is {state}: the verdict is recorded");
        let mut warnings = given.warnings.iter();
        assert!(warnings.any(|w| w.message.contains(&wanted)), "{given:?}");
    }
    let given = fx.reviewer.submit_review(pr, &remark()).await.unwrap();
    assert!(given.warnings.is_empty(), "{given:?}");
}

async fn reviews_are_oldest_first_and_paged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for body in ["one", "two", "three"] {
        let review = NewReview::new(Verdict::RequestChanges, body);
        fx.reviewer.submit_review(&pr, &review).await.unwrap();
    }
    let first = fx.author.reviews(&pr, PageReq::first(2)).await.unwrap();
    let rest = fx
        .author
        .reviews(&pr, PageReq::after(first.next.unwrap(), 2))
        .await
        .unwrap();
    assert!(rest.next.is_none());
    let bodies: Vec<_> = first
        .items
        .into_iter()
        .chain(rest.items)
        .filter_map(|r| r.body)
        .collect();
    assert_eq!(bodies, ["one", "two", "three"]);
}

async fn review_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    let gone = fx.author.pull_id(500);
    refused(
        fx.reviewer.submit_review(&gone, &approve()).await,
        "not_found",
    );
    refused(
        fx.reviewer.reviews(&gone, PageReq::first(1)).await,
        "not_found",
    );
}

async fn dismissed_review_does_not_count(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let made = fx.reviewer.submit_review(&pr, &request()).await.unwrap();
    let key = made.value.id;
    let outcome = fx
        .author
        .dismiss_review(&pr, &key, "It was mended.")
        .await
        .unwrap();
    assert_eq!(outcome.value.id, key);
    assert_eq!(outcome.value.state, ReviewState::Dismissed);
    assert_eq!(all(&fx, &pr).await[0].state, ReviewState::Dismissed);
    let read = fx.view(&pr).await;
    assert_eq!((read.approvals, read.changes_requested), (0, 0));
    let again = fx.author.dismiss_review(&pr, &key, "Again.").await.unwrap();
    assert!(again.unchanged && !again.warnings.is_empty(), "{again:?}");
}

async fn dismissal_of_a_comment_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let made = fx.reviewer.submit_review(&pr, &remark()).await.unwrap();
    let refusal = fx.author.dismiss_review(&pr, &made.value.id, "No.").await;
    refused(refusal, "precondition_failed");
}

async fn dismissal_without_reason_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let made = fx.reviewer.submit_review(&pr, &approve()).await.unwrap();
    let refusal = fx.author.dismiss_review(&pr, &made.value.id, " ").await;
    invalid(refusal, "message");
    assert_eq!(fx.view(&pr).await.approvals, 1);
}

async fn dismissal_of_unknown_review_is_not_found(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for key in ["no-such-review", ""] {
        refused(fx.author.dismiss_review(&pr, key, "No.").await, "not_found");
    }
}
