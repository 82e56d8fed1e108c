//! Reviews and threads.

use super::Id;

/// State of a review: its verdict, or not submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// The review is not submitted, so that only its author sees it.
    Pending,
    /// The review gives no verdict.
    Commented,
    /// The review approves the changes.
    Approved,
    /// The review requests changes.
    ChangesRequested,
    /// A maintainer has dismissed the review.
    Dismissed,
}

impl ReviewState {
    /// Returns GitHub's name for the state.
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

/// A review of a pull request.
#[derive(Debug, Clone)]
pub struct Review {
    /// Number of the review.
    pub id: Id,
    /// The reviewed pull request.
    pub pull: Id,
    /// Author of the review.
    pub author: Id,
    /// State of the review.
    pub state: ReviewState,
    /// Text of the review.
    pub body: String,
    /// The commit that was reviewed.
    pub commit: String,
    /// Time at which the review was started.
    pub created_at: String,
    /// Time at which the review was submitted.
    pub submitted_at: Option<String>,
    /// Time of the review's last change.
    pub updated_at: String,
    /// True if the review was edited.
    pub edited: bool,
    /// Reason for minimizing the review; `None` if it is visible.
    pub minimized: Option<String>,
}

/// A thread on a file, or on lines of a file.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Number of the thread.
    pub id: Id,
    /// The pull request of the thread.
    pub pull: Id,
    /// Path of the file.
    pub path: String,
    /// Last line of the thread; `None` if the thread is on the whole file.
    pub line: Option<u32>,
    /// First line of the thread; `None` if the thread is on a single line or on the whole file.
    pub start_line: Option<u32>,
    /// Side of the diff that has the last line: `LEFT` or `RIGHT`.
    pub side: String,
    /// Side of the diff that has the first line.
    pub start_side: Option<String>,
    /// The commit in which the lines have these numbers.
    pub commit: String,
    /// Account that resolved the thread; `None` if the thread is open.
    pub resolved_by: Option<Id>,
}

/// A comment in a thread.
#[derive(Debug, Clone)]
pub struct ReviewComment {
    /// Number of the comment, unique in the double.
    pub id: Id,
    /// The thread that contains the comment.
    pub thread: Id,
    /// The review that contains the comment.
    pub review: Id,
    /// The comment to which this one replies.
    pub reply_to: Option<Id>,
    /// Author of the comment.
    pub author: Id,
    /// Text of the comment.
    pub body: String,
    /// Lines of the diff that GitHub shows above the comment.
    pub hunk: String,
    /// Time at which the comment was written.
    pub created_at: String,
    /// Time of the comment's last change.
    pub updated_at: String,
    /// True if the comment was edited.
    pub edited: bool,
    /// Reason for minimizing the comment; `None` if it is visible.
    pub minimized: Option<String>,
}
