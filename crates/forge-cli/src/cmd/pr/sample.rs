//! A pull request for tests.

use forge_core::{
    PrId, RepoId,
    model::{Actor, Comment, Label, PullRequest, Review, ReviewDecision, ReviewState, Reviewer},
};

pub(crate) fn pull() -> PullRequest {
    let at = |text: &str| text.parse().unwrap();
    let mut ada = Actor::new("ada");
    ada.name = Some("Ada Lovelace".into());
    let id = PrId::number(RepoId::local("/srv/repo"), 7);
    let opened = at("2026-11-20T10:00:00Z");
    let mut pull = PullRequest::new(id, "Greet  the\treader", ada.clone(), opened);
    pull.description = "Say *hello*.".into();
    pull.base_branch = "main".into();
    pull.base_oid = Some("b".repeat(40));
    pull.head_branch = "polite".into();
    pull.head_oid = Some("a".repeat(40));
    pull.updated_at = at("2026-11-21T10:00:00Z");
    pull.url = "file:///srv/repo#7".into();
    pull.labels = ["zeal", "Bug"]
        .map(|name| Label::new(name, "ff0000"))
        .into();
    pull.assignees = vec![ada];
    pull.approvals = 1;
    pull.pending_reviewers = vec![Reviewer::user("alan")];
    pull.review_decision = Some(ReviewDecision::Approved);
    pull.latest_reviews = vec![review(
        ReviewState::Approved,
        "Good.",
        "2026-11-20T12:00:00Z",
    )];
    pull.comments_count = 1;
    pull.version = "1".into();
    pull.additions = Some(3);
    pull.deletions = Some(1);
    pull.changed_files = Some(1);
    pull
}

pub(crate) fn review(state: ReviewState, body: &str, at: &str) -> Review {
    let mut review = Review::new("r1", Actor::new("grace"), state, at.parse().unwrap());
    review.author_association = Some("MEMBER".into());
    review.body = (!body.is_empty()).then(|| body.into());
    review
}

pub(crate) fn comment(body: &str, at: &str) -> Comment {
    Comment::new("c1", Actor::new("ada"), body, at.parse().unwrap())
}
