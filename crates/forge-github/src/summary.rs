//! What reviews add up to.

use forge_core::model::{Review, ReviewState};

/// The latest opinion of each reviewer, and the counts.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// By time.
    pub latest: Vec<Review>,
    pub approvals: u64,
    pub changes_requested: u64,
}

/// Folds GitHub's two lists: the latest opinion of each reviewer, and the latest review of any kind,
/// which counts for those who have no opinion. A dismissed opinion is no approval any more. Reviews
/// that are not submitted are dropped, and so are those of the pull request's own author.
pub(crate) fn of(
    opinions: impl Iterator<Item = Review>,
    latest: impl Iterator<Item = Review>,
    author: &str,
) -> Summary {
    let counts = |r: &Review| r.state != ReviewState::Pending && r.author.login != author;
    let mut all: Vec<Review> = opinions.filter(counts).collect();
    for review in latest.filter(counts) {
        if !all.iter().any(|r| r.author.login == review.author.login) {
            all.push(review);
        }
    }
    all.sort_by_key(|r| r.submitted_at);
    let count = |state| all.iter().filter(|r| r.state == state).count() as u64;
    Summary {
        approvals: count(ReviewState::Approved),
        changes_requested: count(ReviewState::ChangesRequested),
        latest: all,
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{Timestamp, model::Actor};

    use super::*;

    fn review(login: &str, state: ReviewState, at: i64) -> Review {
        Review {
            id: format!("{login}{at}"),
            author: Actor::new(login),
            author_association: None,
            state,
            body: None,
            submitted_at: Timestamp::from_unix(at),
            commit: None,
            round: None,
            reactions: Default::default(),
            comments: vec![],
        }
    }

    #[test]
    fn a_comment_does_not_replace_an_opinion() {
        let s = of(
            [
                review("a", ReviewState::Approved, 2),
                review("b", ReviewState::ChangesRequested, 1),
            ]
            .into_iter(),
            [
                review("a", ReviewState::Commented, 9),
                review("c", ReviewState::Commented, 3),
            ]
            .into_iter(),
            "me",
        );
        assert_eq!((s.approvals, s.changes_requested), (1, 1));
        let order: Vec<_> = s.latest.iter().map(|r| r.author.login.as_str()).collect();
        assert_eq!(order, ["b", "a", "c"]);
    }

    #[test]
    fn pending_own_and_dismissed_reviews_are_no_approvals() {
        let s = of(
            [review("a", ReviewState::Dismissed, 1)].into_iter(),
            [
                review("me", ReviewState::Commented, 2),
                review("b", ReviewState::Pending, 3),
            ]
            .into_iter(),
            "me",
        );
        assert_eq!(
            (s.approvals, s.changes_requested, s.latest.len()),
            (0, 0, 1)
        );
    }
}
