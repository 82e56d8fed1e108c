//! Issues, comments, labels, milestones and reactions.

use super::{Event, Id, PullState};

/// An issue.
#[derive(Debug, Clone)]
pub struct Issue {
    /// Number of the object.
    pub id: Id,
    /// The repository.
    pub repo: Id,
    /// Number in the repository.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Author of the issue.
    pub author: Id,
    /// Open or closed.
    pub state: PullState,
    /// Reason of the state, in GitHub's terms.
    pub reason: Option<String>,
    /// The issue of which this one is a duplicate.
    pub duplicate_of: Option<Id>,
    /// Labels.
    pub labels: Vec<Id>,
    /// Assignees.
    pub assignees: Vec<Id>,
    /// Milestone.
    pub milestone: Option<Id>,
    /// Type.
    pub issue_type: Option<Id>,
    /// Reason of a lock; the outer `None` means that the issue is not locked.
    pub locked: Option<Option<String>>,
    /// True if pinned to the top of the list.
    pub pinned: bool,
    /// Sub-issues, in order.
    pub sub_issues: Vec<Id>,
    /// The issues that block this one, the oldest dependency first.
    pub blocked_by: Vec<Id>,
    /// Events of the issue.
    pub events: Vec<Event>,
    /// Time of creation.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    /// Time of closing.
    pub closed_at: Option<String>,
}

/// A type of issues of an organisation.
#[derive(Debug, Clone)]
pub struct IssueType {
    /// Number of the object.
    pub id: Id,
    /// The organisation.
    pub owner: Id,
    /// Name.
    pub name: String,
}

impl IssueType {
    /// Returns the global id.
    pub(crate) fn node_id(&self) -> String {
        format!("IT_kwDO{:010}", self.id)
    }
}

/// A comment on an issue or a pull request.
#[derive(Debug, Clone)]
pub struct Comment {
    /// Number of the comment.
    pub id: Id,
    /// The issue or pull request.
    pub subject: Id,
    /// Author of the comment.
    pub author: Id,
    /// Text.
    pub body: String,
    /// Time of creation.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    /// True after an edit.
    pub edited: bool,
    /// Reason for minimizing the comment.
    pub minimized: Option<String>,
}

/// A label.
#[derive(Debug, Clone)]
pub struct Label {
    /// Number of the label.
    pub id: Id,
    /// The repository.
    pub repo: Id,
    /// Name.
    pub name: String,
    /// Colour, six hexadecimal digits.
    pub color: String,
    /// Description.
    pub description: Option<String>,
    /// Time of creation.
    pub created_at: String,
}

/// A milestone.
#[derive(Debug, Clone)]
pub struct Milestone {
    /// Number of the object.
    pub id: Id,
    /// The repository.
    pub repo: Id,
    /// Number in the repository.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Description.
    pub description: Option<String>,
    /// Due date.
    pub due_on: Option<String>,
    /// Account that made the milestone.
    pub creator: Id,
    /// True if closed.
    pub closed: bool,
    /// Time of creation.
    pub created_at: String,
}

/// A reaction.
#[derive(Debug, Clone)]
pub struct Reaction {
    /// Number of the reaction.
    pub id: Id,
    /// Account that reacted.
    pub user: Id,
    /// GitHub's name of the reaction.
    pub content: String,
    /// Time of the reaction.
    pub created_at: String,
}
