use std::{collections::BTreeMap, fmt::Display};

use serde::{Deserialize, Serialize};

use super::{Actor, Comment, PrState};
use crate::{Error, PrId, Result, Timestamp, Warning, text};

/// Verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Approved.
    Approved,
    /// Changes are requested.
    ChangesRequested,
    /// A comment without a verdict.
    Commented,
    /// A verdict that was dismissed.
    Dismissed,
    /// The review is not submitted yet.
    Pending,
}

impl ReviewState {
    /// Returns true if the review gave a verdict, even if the verdict was dismissed. Comments in
    /// this module call such a review an opinion.
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
#[non_exhaustive]
pub struct Review {
    /// The forge's key of the review.
    pub id: String,
    /// Reviewer.
    pub author: Actor,
    /// The author's role in the repository, upper case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_association: Option<String>,
    /// True if the author may push to the repository; `None` if the forge does not report it.
    #[serde(skip)]
    pub author_can_push: Option<bool>,
    /// Verdict.
    pub state: ReviewState,
    /// Body as Markdown, if any.
    pub body: Option<String>,
    /// Submission time.
    pub submitted_at: Timestamp,
    /// The head commit that was reviewed.
    pub commit: Option<String>,
    /// The round that was reviewed, counted from 0. `None` if the forge has no rounds or the round
    /// is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// Number of reactions by the name of the emoji. Empty if not requested.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reactions: BTreeMap<String, u64>,
    /// Comments on lines.
    pub comments: Vec<Comment>,
    /// Keys of the threads that the review opened, in the order of [`NewReview::threads`]. Empty if
    /// not requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
    /// Number of comments that the viewer's pending review had before the request that returned
    /// this review. 0 if the request was not about a pending review.
    #[serde(skip)]
    pub pending_before: u64,
}

impl Review {
    /// Builds a review without body and comments.
    pub fn new(
        id: impl Into<String>,
        author: Actor,
        state: ReviewState,
        submitted_at: Timestamp,
    ) -> Self {
        Self {
            id: id.into(),
            author,
            author_association: None,
            author_can_push: None,
            state,
            body: None,
            submitted_at,
            commit: None,
            round: None,
            reactions: BTreeMap::new(),
            comments: Vec::new(),
            threads: Vec::new(),
            pending_before: 0,
        }
    }
}

/// Number of reviewers by verdict. Each reviewer counts once: with the latest opinion (a review
/// with a verdict), or as a commenter if there is no opinion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReviewCounts {
    /// Reviewers who approve.
    pub approved: u64,
    /// Reviewers who request changes.
    pub changes_requested: u64,
    /// Reviewers who only commented.
    pub commented: u64,
    /// Reviewers whose opinion was dismissed.
    pub dismissed: u64,
    /// Reviewers who neither approve nor request changes: `commented` plus `dismissed`.
    pub pending: u64,
    /// All reviewers: `approved`, `changes_requested` and `pending`.
    pub total: u64,
}

impl ReviewCounts {
    /// Counts reviewers, given the latest review of each. Unsubmitted reviews are ignored.
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

    /// Returns the combined decision for a pull request that requires no review, or `None` if no
    /// reviewer has an opinion.
    #[must_use]
    pub fn decision(&self) -> Option<ReviewDecision> {
        match (self.changes_requested, self.approved) {
            (0, 0) => None,
            (0, _) => Some(ReviewDecision::Approved),
            _ => Some(ReviewDecision::ChangesRequested),
        }
    }
}

/// Adds a review to `latest`, which has one entry for each reviewer.
///
/// An opinion (a review with a verdict) replaces the reviewer's earlier entry. A comment replaces
/// only another comment. Pass the reviews from oldest to newest, without the reviews by the author
/// of the pull request. Unsubmitted reviews are ignored.
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

/// Combined decision of the reviews.
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

/// The verdict of a review to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Approve.
    Approve,
    /// Request changes; requires a body.
    RequestChanges,
    /// Comment without a verdict; requires a body or comments on lines.
    Comment,
}

/// What a request does with the viewer's pending review. Other accounts do not see a pending
/// review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PendingReview {
    /// Refuse the request if the viewer has a pending review.
    #[default]
    Refuse,
    /// Add body and threads to the pending review, or begin one. Nothing is submitted.
    Keep,
    /// Submit the pending review together with this one.
    Submit,
}

/// A side of the diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The base side.
    Left,
    /// The head side.
    #[default]
    Right,
}

/// A thread to open with a review.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewThread {
    /// Path of the file on `side`.
    pub path: String,
    /// The last line, counted from 1, which must be in the diff. `None` for a thread on the whole
    /// file.
    pub line: Option<u64>,
    /// First line, if the thread is on a range of lines.
    pub start_line: Option<u64>,
    /// Side of the diff on which lines are counted.
    pub side: Side,
    /// Body as Markdown.
    pub body: String,
}

/// A request to submit a review.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewReview {
    /// The verdict. Must be [`Verdict::Comment`] for a review that is kept pending.
    pub verdict: Verdict,
    /// Body as Markdown; may be empty for an approval. If the pending review already has a body,
    /// this body is appended after a blank line.
    pub body: String,
    /// Threads to open.
    pub threads: Vec<NewThread>,
    /// Refuse the review unless [`head_id`](crate::model::PullRequest::head_id) has this value.
    pub expected_head: Option<String>,
    /// What happens to the viewer's pending review.
    pub pending: PendingReview,
}

impl NewThread {
    /// Builds a thread on a line of the head side, or on the whole file if `line` is `None`.
    pub fn new(path: impl Into<String>, line: Option<u64>, body: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line,
            start_line: None,
            side: Side::Right,
            body: body.into(),
        }
    }

    /// Returns path and lines, such as `src/lib.rs:10-12`.
    #[must_use]
    pub fn place(&self) -> String {
        let path = text::one_line(&self.path);
        match (self.start_line, self.line) {
            (_, None) => path.into_owned(),
            (Some(first), Some(line)) if first != line => format!("{path}:{first}-{line}"),
            (_, Some(line)) => format!("{path}:{line}"),
        }
    }

    /// Refuses line numbers that no diff can have, such as 0 or a range that ends before it begins.
    ///
    /// # Errors
    /// `invalid_input` (field `line`).
    pub fn check_lines(&self) -> Result<()> {
        let why = match (self.start_line, self.line) {
            (None, None) => return Ok(()),
            (Some(_), None) => "has a first line and no last line",
            (first, Some(line)) => match first.unwrap_or(line) {
                first if first == 0 || first > line => "is not a range of lines",
                _ => return Ok(()),
            },
        };
        Err(
            Error::invalid("line", format!("{} {why}", self.place())).with_hint(
                "count lines from 1, and end a range at its first line or later; \
                 without lines the comment is about the whole file",
            ),
        )
    }
}

impl NewReview {
    /// Builds a review without threads.
    pub fn new(verdict: Verdict, body: impl Into<String>) -> Self {
        Self {
            verdict,
            body: body.into(),
            threads: Vec::new(),
            expected_head: None,
            pending: PendingReview::Refuse,
        }
    }

    /// Sets the threads to open.
    #[must_use]
    pub fn with_threads(mut self, threads: Vec<NewThread>) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the [`head_id`](crate::model::PullRequest::head_id) that the pull request must have.
    #[must_use]
    pub fn with_expected_head(mut self, head: impl Into<String>) -> Self {
        self.expected_head = Some(head.into());
        self
    }

    /// Sets what happens to the viewer's pending review.
    #[must_use]
    pub fn with_pending(mut self, pending: PendingReview) -> Self {
        self.pending = pending;
        self
    }

    /// Returns a warning for a verdict on a pull request that is not open. Forges record it.
    #[must_use]
    pub fn late_verdict_warning(&self, pr: &impl Display, state: PrState) -> Option<Warning> {
        let word = match state {
            PrState::Open => return None,
            PrState::Closed => "closed",
            PrState::Merged => "merged",
        };
        let message = format!("{pr} is {word}: the verdict is recorded, and changes nothing");
        (self.verdict != Verdict::Comment).then(|| Warning::new(message))
    }
}

/// Id of a thread: its pull request and the forge's opaque key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ThreadId {
    /// The pull request.
    pub pr: PrId,
    /// The key of the thread.
    pub key: String,
}

/// A review thread: comments on the same lines.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Thread {
    /// Key of the thread. A [`ThreadId`] consists of this key and the pull request.
    pub id: String,
    /// Path of the file.
    pub path: String,
    /// The last line, counted from 1 in the diff at the time of the comment. `None` for a thread on
    /// the whole file.
    pub line: Option<u64>,
    /// First line, if the thread is on a range of lines.
    pub start_line: Option<u64>,
    /// Side of the diff on which lines are counted.
    pub side: Side,
    /// True if the thread is resolved.
    pub resolved: bool,
    /// Account that resolved the thread.
    pub resolved_by: Option<Actor>,
    /// True if the lines have changed since the first comment.
    pub outdated: bool,
    /// True if the thread belongs to the viewer's pending review, so that nobody else sees it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// The comments, oldest first.
    pub comments: Vec<Comment>,
}

impl Thread {
    /// Builds an open thread on the whole file `path`, without comments.
    pub fn new(id: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            path: path.into(),
            line: None,
            start_line: None,
            side: Side::Right,
            resolved: false,
            resolved_by: None,
            outdated: false,
            pending: false,
            comments: Vec::new(),
        }
    }

    /// Returns true for a published thread that is not resolved.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.resolved && !self.pending
    }

    /// Returns the lines, such as `10-12`, or `L7` on the base side. `None` for a thread on the
    /// whole file.
    #[must_use]
    pub fn lines(&self) -> Option<String> {
        let side = match self.side {
            Side::Left => "L",
            Side::Right => "",
        };
        let last = self.line?;
        Some(match self.start_line {
            Some(first) if first != last => format!("{side}{first}-{last}"),
            _ => format!("{side}{last}"),
        })
    }

    /// Returns the path as the forge sent it, and the lines: `src/lib.rs:10-12`.
    #[must_use]
    pub fn place(&self) -> String {
        match self.lines() {
            Some(lines) => format!("{}:{lines}", self.path),
            None => self.path.clone(),
        }
    }
}

/// Filter for review threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThreadFilter {
    /// All threads.
    #[default]
    All,
    /// Unresolved threads.
    Unresolved,
    /// Resolved threads.
    Resolved,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_000_5_reviewers_are_counted_by_latest_opinion() {
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
    fn thread_place_shows_range_and_side() {
        let mut thread = Thread::new("t", "a.rs");
        assert_eq!(thread.place(), "a.rs");
        thread.line = Some(7);
        thread.side = Side::Left;
        assert_eq!(thread.place(), "a.rs:L7");
        thread.start_line = Some(5);
        assert_eq!(thread.place(), "a.rs:L5-7");
        (thread.start_line, thread.side) = (Some(7), Side::Right);
        assert_eq!(thread.place(), "a.rs:7");
    }

    #[test]
    fn later_comment_does_not_replace_opinion() {
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
