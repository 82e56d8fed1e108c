//! Reviews and threads.

use super::Id;

/// State of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// Not yet submitted; its author alone sees it.
    Pending,
    /// Without a verdict.
    Commented,
    /// In favour.
    Approved,
    /// Against.
    ChangesRequested,
    /// Taken back by a maintainer.
    Dismissed,
}

impl ReviewState {
    /// GitHub's name of the state.
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
    /// Commit that was reviewed.
    pub commit: String,
    /// When it was begun.
    pub created_at: String,
    /// When it was submitted.
    pub submitted_at: Option<String>,
    /// When it last changed.
    pub updated_at: String,
    /// True once edited.
    pub edited: bool,
    /// Why it is folded away.
    pub minimized: Option<String>,
}

/// A thread on a file or on lines of it.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Number of the thread.
    pub id: Id,
    /// The pull request.
    pub pull: Id,
    /// The file.
    pub path: String,
    /// Last line, `None` for the whole file.
    pub line: Option<u32>,
    /// First line of several.
    pub start_line: Option<u32>,
    /// `LEFT` or `RIGHT`.
    pub side: String,
    /// Side of the first line.
    pub start_side: Option<String>,
    /// Commit the lines were counted in.
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
    /// The review it was written in.
    pub review: Id,
    /// The comment it answers.
    pub reply_to: Option<Id>,
    /// Author of the comment.
    pub author: Id,
    /// Text.
    pub body: String,
    /// Lines of the diff that it stands under.
    pub hunk: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// True once edited.
    pub edited: bool,
    /// Why it is folded away.
    pub minimized: Option<String>,
}
