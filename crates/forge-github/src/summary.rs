//! Finds the latest review of each reviewer.

use forge_core::model::{Review, fold_review};

/// Merges GitHub's two lists: the latest review of each reviewer, and the latest opinion (a review
/// with a verdict). An opinion takes precedence over a later review without a verdict. A dismissed
/// opinion no longer counts as an approval. Reviews by the pull request's author are left out.
/// Sorts by time, with opinions first within one second.
pub(crate) fn latest_reviews(
    opinions: impl Iterator<Item = Review>,
    latest: impl Iterator<Item = Review>,
    author: &str,
) -> Vec<Review> {
    let mut folded: Vec<Review> = Vec::new();
    for review in latest.chain(opinions).filter(|r| r.author.login != author) {
        let is_same = |a: &Review, b: &Review| a.author.login == b.author.login;
        fold_review(&mut folded, review, |r| r.state, is_same);
    }
    folded.sort_by_key(|r| (r.submitted_at, !r.state.is_opinion()));
    folded
}

#[cfg(test)]
mod tests {
    use forge_core::{
        Timestamp,
        model::{Actor, ReviewState},
    };

    use super::*;

    fn review(login: &str, state: ReviewState, at: i64) -> Review {
        let id = format!("{login}{at}");
        Review::new(id, Actor::new(login), state, Timestamp::from_unix(at))
    }

    #[test]
    fn later_comment_review_keeps_earlier_verdict() {
        // C-000-4: the order of the two lists does not
        // matter.
        let latest = latest_reviews(
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
        let rows: Vec<_> = latest
            .iter()
            .map(|r| (r.author.login.as_str(), r.state))
            .collect();
        let wanted = [
            ("b", ReviewState::ChangesRequested),
            ("a", ReviewState::Approved),
            ("c", ReviewState::Commented),
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn pending_and_own_reviews_are_left_out() {
        let latest = latest_reviews(
            [review("a", ReviewState::Dismissed, 1)].into_iter(),
            [
                review("me", ReviewState::Commented, 2),
                review("b", ReviewState::Pending, 3),
            ]
            .into_iter(),
            "me",
        );
        let states: Vec<_> = latest.iter().map(|r| r.state).collect();
        assert_eq!(states, [ReviewState::Dismissed]);
    }
}
