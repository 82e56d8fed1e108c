use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Actor, Comment};
use crate::{Error, PrId, Result, Timestamp, text};

/// What a review says in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Approved.
    Approved,
    /// Changes are requested.
    ChangesRequested,
    /// Neither.
    Commented,
    /// It was an opinion, and somebody dismissed it.
    Dismissed,
    /// It is not submitted.
    Pending,
}

impl ReviewState {
    /// Whether it says more than a comment, or did until it was dismissed.
    #[must_use]
    pub fn is_opinion(self) -> bool {
        matches!(
            self,
            Self::Approved | Self::ChangesRequested | Self::Dismissed
        )
    }
}

/// A submitted review.
#[derive(Clone, Debug, Serialize)]
pub struct Review {
    /// The forge's key.
    pub id: String,
    /// Who reviewed.
    pub author: Actor,
    /// The author's role in the repository, upper case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_association: Option<String>,
    /// The author may push to the repository; `None` where the forge does not say.
    #[serde(skip)]
    pub author_can_push: Option<bool>,
    /// What it says.
    pub state: ReviewState,
    /// Markdown, if any.
    pub body: Option<String>,
    /// When it was submitted.
    pub submitted_at: Timestamp,
    /// The head commit that was reviewed.
    pub commit: Option<String>,
    /// The round that it is about, counted from 0; `None` where the forge has no rounds, or nobody
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// Emoji name to count; empty where nobody asked for them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reactions: BTreeMap<String, u64>,
    /// Its comments on lines.
    pub comments: Vec<Comment>,
    /// The keys of the threads that it opened, in the order of [`NewReview::threads`]; empty where
    /// nobody asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
}

/// How many reviewers say what: of each the latest opinion, or the latest comment where there is
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReviewCounts {
    /// They approve.
    pub approved: u64,
    /// They request changes.
    pub changes_requested: u64,
    /// They have commented, and no more.
    pub commented: u64,
    /// Their opinion was dismissed.
    pub dismissed: u64,
    /// They have decided nothing: `commented` and `dismissed`.
    pub pending: u64,
    /// All who have reviewed: `approved`, `changes_requested` and `pending`.
    pub total: u64,
}

impl ReviewCounts {
    /// Counts the latest review of each reviewer. One that is not submitted does not count.
    #[must_use]
    pub fn of(latest: impl IntoIterator<Item = ReviewState>) -> Self {
        let mut counts = Self::default();
        for state in latest {
            match state {
                ReviewState::Approved => counts.approved += 1,
                ReviewState::ChangesRequested => counts.changes_requested += 1,
                ReviewState::Commented => counts.commented += 1,
                ReviewState::Dismissed => counts.dismissed += 1,
                ReviewState::Pending => {}
            }
        }
        counts.pending = counts.commented + counts.dismissed;
        counts.total = counts.approved + counts.changes_requested + counts.pending;
        counts
    }

    /// What the reviews add up to where none is required: `None` without an opinion.
    #[must_use]
    pub fn decision(&self) -> Option<ReviewDecision> {
        match (self.changes_requested, self.approved) {
            (0, 0) => None,
            (0, _) => Some(ReviewDecision::Approved),
            _ => Some(ReviewDecision::ChangesRequested),
        }
    }
}

/// Takes a review into the latest ones, of which each reviewer has one: an opinion replaces what the
/// reviewer said before, a comment only another comment. Reviews come in the order in which they
/// count; one that is not submitted does not, and those of the pull request's author are the
/// caller's to leave out.
pub fn fold_review<R>(
    latest: &mut Vec<R>,
    review: R,
    state: impl Fn(&R) -> ReviewState,
    is_same_reviewer: impl Fn(&R, &R) -> bool,
) {
    if state(&review) == ReviewState::Pending {
        return;
    }
    let before = latest.iter().position(|r| is_same_reviewer(r, &review));
    if let Some(at) = before {
        let stands = latest.get(at).is_some_and(|r| state(r).is_opinion());
        if stands && !state(&review).is_opinion() {
            return;
        }
        latest.remove(at);
    }
    latest.push(review);
}

/// What the reviews add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Approved.
    Approved,
    /// Changes are requested.
    ChangesRequested,
    /// A review is required and missing.
    ReviewRequired,
}

/// The verdict of a review that is to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Approve.
    Approve,
    /// Request changes; needs a body.
    RequestChanges,
    /// Neither; needs a body or comments on lines.
    Comment,
}

/// A side of the diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The base.
    Left,
    /// The head.
    #[default]
    Right,
}

/// A thread to open with a review.
#[derive(Clone, Debug)]
pub struct NewThread {
    /// The file, as it is named on `side`.
    pub path: String,
    /// The (last) line, 1-based; it must stand in the diff. `None` is the whole file.
    pub line: Option<u64>,
    /// The first line, for a range.
    pub start_line: Option<u64>,
    /// Which side the lines are counted on.
    pub side: Side,
    /// Markdown.
    pub body: String,
}

/// A review to submit.
#[derive(Clone, Debug)]
pub struct NewReview {
    /// The verdict.
    pub verdict: Verdict,
    /// Markdown; may be empty for an approval.
    pub body: String,
    /// Threads to open.
    pub threads: Vec<NewThread>,
    /// Refuse unless the head has this id ([`PullRequest::head_id`](crate::model::PullRequest::head_id)).
    pub expected_head: Option<String>,
}

impl NewThread {
    /// What it is about, as in `src/lib.rs:10-12`.
    #[must_use]
    pub fn place(&self) -> String {
        let path = text::one_line(&self.path);
        match (self.start_line, self.line) {
            (_, None) => path.into_owned(),
            (Some(first), Some(line)) if first != line => format!("{path}:{first}-{line}"),
            (_, Some(line)) => format!("{path}:{line}"),
        }
    }

    /// Refuses lines that no diff can have.
    ///
    /// # Errors
    /// `invalid_input` (field `line`).
    pub fn check_lines(&self) -> Result<()> {
        let why = match (self.start_line, self.line) {
            (None, None) => return Ok(()),
            (Some(_), None) => "has a first line and no last one",
            (first, Some(line)) => match first.unwrap_or(line) {
                first if first == 0 || first > line => "is no range of lines",
                _ => return Ok(()),
            },
        };
        Err(
            Error::invalid("line", format!("{} {why}", self.place())).with_hint(
                "count lines from 1, and let a range end where it begins or later; \
                 without lines the comment is about the whole file",
            ),
        )
    }
}

impl NewReview {
    /// A review without threads.
    pub fn new(verdict: Verdict, body: impl Into<String>) -> Self {
        Self {
            verdict,
            body: body.into(),
            threads: Vec::new(),
            expected_head: None,
        }
    }
}

/// A thread's id: its pull request, and the forge's own key (opaque).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ThreadId {
    /// Where it stands.
    pub pr: PrId,
    /// The key.
    pub key: String,
}

/// Comments on the same lines.
#[derive(Clone, Debug, Serialize)]
pub struct Thread {
    /// The key; [`ThreadId`] with the pull request.
    pub id: String,
    /// The file.
    pub path: String,
    /// The (last) line, 1-based, in the diff it was written on; `None` on a whole file.
    pub line: Option<u64>,
    /// The first line of a range.
    pub start_line: Option<u64>,
    /// Which side the lines are counted on.
    pub side: Side,
    /// Somebody resolved it.
    pub resolved: bool,
    /// Who.
    pub resolved_by: Option<Actor>,
    /// The lines have changed since.
    pub outdated: bool,
    /// The comments, oldest first.
    pub comments: Vec<Comment>,
}

/// Which threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThreadFilter {
    /// All of them.
    #[default]
    All,
    /// Those that nobody has resolved.
    Unresolved,
    /// The resolved ones.
    Resolved,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_000_5_reviewers_are_counted_by_what_they_say() {
        let latest = [
            ReviewState::Approved,
            ReviewState::Approved,
            ReviewState::ChangesRequested,
            ReviewState::Commented,
            ReviewState::Dismissed,
            ReviewState::Pending,
        ];
        let wanted = ReviewCounts {
            approved: 2,
            changes_requested: 1,
            commented: 1,
            dismissed: 1,
            pending: 2,
            total: 5,
        };
        assert_eq!(ReviewCounts::of(latest), wanted);
    }

    #[test]
    fn latest_opinion_stands_over_later_comments() {
        use ReviewState::{Approved, ChangesRequested, Commented, Dismissed, Pending};
        for (said, counts, decision) in [
            (&[Commented, Pending][..], Some(Commented), None),
            (
                &[Approved, Commented, Pending],
                Some(Approved),
                Some(ReviewDecision::Approved),
            ),
            (
                &[Approved, ChangesRequested],
                Some(ChangesRequested),
                Some(ReviewDecision::ChangesRequested),
            ),
            (&[Approved, Dismissed, Commented], Some(Dismissed), None),
            (&[Pending], None, None),
        ] {
            let mut latest = Vec::new();
            for state in said {
                fold_review(&mut latest, *state, |s| *s, |_, _| true);
            }
            assert_eq!(latest, Vec::from_iter(counts), "{said:?}");
            assert_eq!(ReviewCounts::of(latest).decision(), decision, "{said:?}");
        }
    }
}
