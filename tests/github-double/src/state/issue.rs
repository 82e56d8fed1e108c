//! Issues, comments, labels, milestones and reactions.

use super::{Event, Id, PullState};

/// An issue of a repository.
#[derive(Debug, Clone)]
pub struct Issue {
    /// Number of the object, unique in the double.
    pub id: Id,
    /// The repository of the issue.
    pub repo: Id,
    /// Number of the issue in its repository.
    pub number: u64,
    /// Title of the issue.
    pub title: String,
    /// Body of the issue.
    pub body: String,
    /// Author of the issue.
    pub author: Id,
    /// State of the issue: open or closed.
    pub state: PullState,
    /// Reason for the state, under GitHub's name.
    pub reason: Option<String>,
    /// The issue that this one duplicates.
    pub duplicate_of: Option<Id>,
    /// Labels of the issue.
    pub labels: Vec<Id>,
    /// Assignees of the issue.
    pub assignees: Vec<Id>,
    /// Milestone of the issue.
    pub milestone: Option<Id>,
    /// Issue type.
    pub issue_type: Option<Id>,
    /// Reason for locking the issue. The outer `None` means that the issue is not locked.
    pub locked: Option<Option<String>>,
    /// True if pinned to the top of the list.
    pub pinned: bool,
    /// Sub-issues, in order.
    pub sub_issues: Vec<Id>,
    /// The issues that block this one, in the order in which they were added.
    pub blocked_by: Vec<Id>,
    /// Events of the issue.
    pub events: Vec<Event>,
    /// Time at which the issue was opened.
    pub created_at: String,
    /// Time of the issue's last change.
    pub updated_at: String,
    /// Time at which the issue was closed.
    pub closed_at: Option<String>,
}

/// An issue type that an organisation defines.
#[derive(Debug, Clone)]
pub struct IssueType {
    /// Number of the issue type.
    pub id: Id,
    /// The organisation that defines the issue type.
    pub owner: Id,
    /// Name of the issue type.
    pub name: String,
}

impl IssueType {
    pub(crate) fn node_id(&self) -> String {
        format!("IT_kwDO{:010}", self.id)
    }
}

/// A comment on an issue or a pull request.
#[derive(Debug, Clone)]
pub struct Comment {
    /// Number of the comment.
    pub id: Id,
    /// The issue or pull request that has the comment.
    pub subject: Id,
    /// Author of the comment.
    pub author: Id,
    /// Text of the comment.
    pub body: String,
    /// Time at which the comment was written.
    pub created_at: String,
    /// Time of the comment's last change.
    pub updated_at: String,
    /// True if the comment was edited.
    pub edited: bool,
    /// Reason for minimizing the comment; `None` if it is visible.
    pub minimized: Option<String>,
}

/// A label of a repository.
#[derive(Debug, Clone)]
pub struct Label {
    /// Number of the label.
    pub id: Id,
    /// The repository of the label.
    pub repo: Id,
    /// Name of the label.
    pub name: String,
    /// Colour of the label, as six hexadecimal digits.
    pub color: String,
    /// Description of the label.
    pub description: Option<String>,
    /// Time at which the label was created.
    pub created_at: String,
}

/// A milestone of a repository.
#[derive(Debug, Clone)]
pub struct Milestone {
    /// Number of the object, unique in the double.
    pub id: Id,
    /// The repository of the milestone.
    pub repo: Id,
    /// Number of the milestone in its repository.
    pub number: u64,
    /// Title of the milestone.
    pub title: String,
    /// Description of the milestone.
    pub description: Option<String>,
    /// Date at which the milestone is due.
    pub due_on: Option<String>,
    /// Account that created the milestone.
    pub creator: Id,
    /// True if the milestone is closed.
    pub closed: bool,
    /// Time at which the milestone was created.
    pub created_at: String,
}

/// A reaction to a comment, a pull request or another object.
#[derive(Debug, Clone)]
pub struct Reaction {
    /// Number of the reaction.
    pub id: Id,
    /// Account that reacted.
    pub user: Id,
    /// GitHub's name for the reaction.
    pub content: String,
    /// Time at which the account reacted.
    pub created_at: String,
}
