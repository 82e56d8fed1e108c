//! Changes since a review, or since an earlier head commit.

use forge_core::{
    Action, Arg, Error, Hint, Noun, Param, Result,
    model::{
        Actor, ChangedCommit, DiffReq, HeadChange, PullRequest, Review, ReviewState, Rounds,
        SinceHead,
    },
    text::one_line,
};
use serde::Serialize;

use crate::PackedDiff;

/// The value of `since` for the viewer's latest review.
pub const LATEST_REVIEW: &str = "review";
/// Maximum number of reviews that an error names.
const MAX_NAMED_REVIEWS: usize = 5;

/// Changes since a review or commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SinceChanges {
    /// The id of the review, if the changes since a review were requested.
    pub review: Option<String>,
    /// The reviewed round, if the pull request has rounds. A round is one of the numbered versions
    /// of a pull request on Tangled.
    pub round: Option<usize>,
    /// The head commit at the time of the review; `None` if the round is a plain diff.
    pub from_sha: Option<String>,
    /// How the head commit has changed since the review or commit.
    pub head_change: HeadChange,
    /// The commits that are new or changed, oldest first.
    pub commits: Vec<ChangedCommit>,
    /// The diff since the review or commit, without changes of the base branch.
    pub diff: PackedDiff,
}

/// Narrows `req` to the changes of `pull` since `asked`.
///
/// `asked` is [`LATEST_REVIEW`] (the latest review by `viewer`), the id of a review, or a commit.
/// `pull` must have been read with its reviews.
///
/// # Errors
///
/// Fails with `not_found` for an unknown review. Any other error about `asked` is `invalid_input`
/// (field `since`).
pub fn diff_since(
    asked: &str,
    pull: &PullRequest,
    viewer: Option<Result<Actor>>,
    req: DiffReq,
) -> Result<DiffReq> {
    Ok(SincePoint::resolve(asked, None, pull, viewer)?.narrow(pull, req))
}

/// Starting point of the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SincePoint {
    pub review: Option<String>,
    pub round: Option<usize>,
    pub commit: Option<String>,
}

impl SincePoint {
    /// Resolves `asked`: `review`, the id of a review of `pull`, or a commit. `named` is the commit
    /// to which git resolves `asked`.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` for an unknown review. Any other error about `asked` is
    /// `invalid_input` (field `since`).
    pub fn resolve(
        asked: &str,
        named: Option<&str>,
        pull: &PullRequest,
        viewer: Option<Result<Actor>>,
    ) -> Result<Self> {
        let reviews = pull.reviews.as_deref().unwrap_or_default();
        if asked == LATEST_REVIEW {
            let viewer = viewer.transpose()?;
            let of_viewer = |r: &&Review| viewer.as_ref().is_some_and(|v| is_same(v, &r.author));
            let submitted = reviews.iter().filter(|r| r.state != ReviewState::Pending);
            let latest = submitted.filter(of_viewer).max_by_key(|r| r.submitted_at);
            let login = viewer.as_ref().map_or("", |v| v.login.as_str());
            return match latest {
                Some(review) => Self::of_review(review),
                None => Err(unknown(
                    format!("{} has not reviewed this pull request", one_line(login)),
                    reviews,
                )),
            };
        }
        if let Some(review) = reviews.iter().find(|r| r.id == asked) {
            return Self::of_review(review);
        }
        if let Some(commit) = named.or(Some(asked).filter(|text| DiffReq::is_commit(text))) {
            return Ok(Self {
                review: None,
                round: None,
                commit: Some(commit.to_ascii_lowercase()),
            });
        }
        let message = format!("'{}' is not a review of this pull request", one_line(asked));
        Err(unknown(message, reviews))
    }

    /// Narrows `req` to the changes since this point.
    pub fn narrow(&self, pull: &PullRequest, mut req: DiffReq) -> DiffReq {
        match (self.round, pull.rounds) {
            // Two rounds are compared only if the reviewed round is not the newest one. Otherwise
            // the reviewed commit is compared with the head.
            (Some(round), Some(rounds)) if round + 1 < rounds => {
                req.rounds = Some(Rounds::new(None, Some(round)));
            }
            _ => req.since.clone_from(&self.commit),
        }
        req
    }

    fn of_review(review: &Review) -> Result<Self> {
        if review.commit.is_none() && review.round.is_none() {
            let id = one_line(&review.id);
            let message = format!("the forge does not say which commit review {id} is about");
            return Err(Error::not_found(Noun::Commit, message).with_hint(another_revision_hint()));
        }
        Ok(Self {
            review: Some(review.id.clone()),
            round: review.round,
            commit: review.commit.clone(),
        })
    }
}

impl SinceChanges {
    pub(crate) fn new(point: SincePoint, head: SinceHead, diff: PackedDiff) -> Self {
        Self {
            review: point.review,
            round: point.round,
            from_sha: head.oid.or(point.commit),
            head_change: head.head_change,
            commits: head.commits,
            diff,
        }
    }
}

fn is_same(viewer: &Actor, author: &Actor) -> bool {
    match viewer.id.is_empty() || author.id.is_empty() {
        true => viewer.login.eq_ignore_ascii_case(&author.login),
        false => viewer.id == author.id,
    }
}

fn unknown(message: String, reviews: &[Review]) -> Error {
    let newest = reviews.iter().rev().take(MAX_NAMED_REVIEWS);
    let named: Vec<String> = newest
        .map(|r| format!("{} (by {})", one_line(&r.id), one_line(&r.author.login)))
        .collect();
    let hint = match named.is_empty() {
        true => another_revision_hint(),
        false => Hint::from(format!(
            "name a commit, or one of its reviews, newest first: {}",
            named.join(", ")
        ))
        .with_action(OTHER_SINCE),
    };
    Error::not_found(Noun::Other, message).with_hint(hint)
}

/// Recovery: repeat the call with another `since`.
const OTHER_SINCE: Action = Action::again(&[(Param::Since, Arg::Choose)]);

fn another_revision_hint() -> Hint {
    Hint::new("name the commit that was the head at the last review").with_action(OTHER_SINCE)
}

#[cfg(test)]
mod tests {
    use forge_core::Timestamp;

    use super::*;
    use crate::sample;

    fn review(id: &str, by: &str, at: i64, commit: Option<&str>) -> Review {
        let (state, at) = (ReviewState::Commented, Timestamp::from_unix(at));
        let mut review = Review::new(id, Actor::new(by), state, at);
        review.commit = commit.map(str::to_owned);
        review
    }

    fn pull() -> PullRequest {
        let mut pull = sample::pull();
        pull.reviews = Some(vec![
            review("r1", "Ada", 1, Some("aaaaaaa")),
            review("r2", "bob", 2, Some("bbbbbbb")),
            review("1234567", "ada", 3, Some("ccccccc")),
            review("r4", "eve", 4, None),
        ]);
        pull
    }

    fn commit_of(asked: &str) -> Result<String> {
        let point = SincePoint::resolve(asked, None, &pull(), Some(Ok(Actor::new("ADA"))))?;
        Ok(point.commit.unwrap())
    }

    #[test]
    fn since_argument_prefers_review_to_commit() {
        assert_eq!(commit_of("review").unwrap(), "ccccccc");
        assert_eq!(commit_of("r2").unwrap(), "bbbbbbb");
        assert_eq!(commit_of("1234567").unwrap(), "ccccccc");
        assert_eq!(commit_of("ABCDEF0").unwrap(), "abcdef0");
        let named = |asked: &str| {
            let point = SincePoint::resolve(asked, Some("ddddddd"), &pull(), None);
            point.unwrap().commit.unwrap()
        };
        assert_eq!((&*named("HEAD~2"), &*named("r2")), ("ddddddd", "bbbbbbb"));
    }

    #[test]
    fn unknown_since_review_error_lists_known_reviews() {
        for asked in ["r9", "abcdef", "--output=x"] {
            let e = commit_of(asked).unwrap_err();
            assert!(e.is_not_found(), "{e}");
            let hint = e.hint().unwrap();
            assert!(
                hint.text().contains("r4 (by eve), 1234567 (by ada)"),
                "{hint:?}"
            );
            assert!(hint.action().is_some());
        }
        let e = commit_of("r4").unwrap_err();
        assert!(e.message().contains("which commit review r4"), "{e}");
        let nobody = SincePoint::resolve("review", None, &pull(), Some(Ok(Actor::new("zoe"))));
        assert!(nobody.unwrap_err().message().starts_with("zoe has not"));
    }
}
