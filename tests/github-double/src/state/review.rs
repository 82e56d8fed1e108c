//! Reviews and threads.

use super::Id;

/// State of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// Not yet submitted; only its author sees the review.
    Pending,
    /// The review has no verdict.
    Commented,
    /// The review approves.
    Approved,
    /// The review requests changes.
    ChangesRequested,
    /// A maintainer dismissed the review.
    Dismissed,
}

impl ReviewState {
    /// Returns GitHub's name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Commented => "COMMENTED",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A review.
#[derive(Debug, Clone)]
pub struct Review {
    /// Number of the review.
    pub id: Id,
    /// The pull request.
    pub pull: Id,
    /// Author of the review.
    pub author: Id,
    /// State of the review.
    pub state: ReviewState,
    /// Text.
    pub body: String,
    /// The reviewed commit.
    pub commit: String,
    /// Time of creation.
    pub created_at: String,
    /// Time of submission.
    pub submitted_at: Option<String>,
    /// Time of the last change.
    pub updated_at: String,
    /// True after an edit.
    pub edited: bool,
    /// Reason for minimizing the review.
    pub minimized: Option<String>,
}

/// A thread on a file or on lines of a file.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Number of the thread.
    pub id: Id,
    /// The pull request.
    pub pull: Id,
    /// The file.
    pub path: String,
    /// Last line; `None` for the whole file.
    pub line: Option<u32>,
    /// First line, if the thread is on several lines.
    pub start_line: Option<u32>,
    /// `LEFT` or `RIGHT`.
    pub side: String,
    /// Side of the first line.
    pub start_side: Option<String>,
    /// Commit to which the line numbers refer.
    pub commit: String,
    /// Account that resolved the thread.
    pub resolved_by: Option<Id>,
}

/// A comment in a thread.
#[derive(Debug, Clone)]
pub struct ReviewComment {
    /// Number of the comment.
    pub id: Id,
    /// The thread.
    pub thread: Id,
    /// The review that contains the comment.
    pub review: Id,
    /// The comment to which this one replies.
    pub reply_to: Option<Id>,
    /// Author of the comment.
    pub author: Id,
    /// Text.
    pub body: String,
    /// Lines of the diff above the comment.
    pub hunk: String,
    /// Time of creation.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    /// True after an edit.
    pub edited: bool,
    /// Reason for minimizing the comment.
    pub minimized: Option<String>,
}
