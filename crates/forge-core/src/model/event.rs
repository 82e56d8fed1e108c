use serde::Serialize;

use super::Actor;
use crate::Timestamp;

/// Kind of event of a pull request or an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StatusEventKind {
    /// Opened.
    Opened,
    /// Closed without merging.
    Closed,
    /// Reopened.
    Reopened,
    /// Merged.
    Merged,
    /// A draft became ready.
    ReadyForReview,
    /// A ready pull request became a draft.
    ConvertedToDraft,
    /// The title, description or base changed.
    Edited,
    /// The head moved.
    HeadChanged,
    /// Labels were added or removed.
    Labeled,
    /// Assignees were added or removed.
    Assigned,
    /// A field, the parent, a sub-issue or a dependency of the issue changed.
    Related,
    /// A comment was posted.
    Commented,
}

/// An entry of the status history of a pull request or an issue.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StatusEvent {
    /// The forge's key of the event.
    pub id: String,
    /// Kind of event.
    pub kind: StatusEventKind,
    /// Acting account.
    pub actor: Actor,
    /// Time of the event.
    pub created_at: Timestamp,
    /// Role that gives the actor the right to this event (`author`, `owner`, `collaborator`).
    /// `None` on a forge that checks the rights itself.
    pub authority: Option<String>,
    /// Additional text, such as the merge commit.
    pub detail: Option<String>,
}

impl StatusEvent {
    /// Builds an event without a detail, for a forge that checks the rights itself.
    pub fn new(
        id: impl Into<String>,
        kind: StatusEventKind,
        actor: Actor,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id: id.into(),
            kind,
            actor,
            created_at,
            authority: None,
            detail: None,
        }
    }
}
