use serde::Serialize;

use super::Actor;
use crate::Timestamp;

/// What happened to a pull request or an issue.
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
    /// A ready one became a draft.
    ConvertedToDraft,
    /// The title, description or base changed.
    Edited,
    /// The head moved.
    HeadChanged,
    /// Labels came or went.
    Labeled,
    /// Assignees came or went.
    Assigned,
    /// A field, the parent, a sub-issue or a dependency changed.
    Related,
    /// Somebody commented.
    Commented,
}

/// One line of the status history.
#[derive(Clone, Debug, Serialize)]
pub struct StatusEvent {
    /// The forge's key of the event.
    pub id: String,
    /// What happened.
    pub kind: StatusEventKind,
    /// Who did it.
    pub actor: Actor,
    /// When.
    pub created_at: Timestamp,
    /// By what right it counts (`author`, `owner`, `collaborator`), where that has to be worked
    /// out; `None` where the forge enforces it.
    pub authority: Option<String>,
    /// One line more, such as the merge commit.
    pub detail: Option<String>,
}
