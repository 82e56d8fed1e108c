//! Events of issues: each is a commit with JSON in its message.

use std::collections::BTreeMap;

use forge_core::model::IssueReason;
use serde::{Deserialize, Serialize};

use super::event::CommitSubject;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum IssueEvent {
    /// The issue was opened.
    Opened { title: String, body: String },
    /// Fields of the issue were changed. The event may also have a comment.
    Edited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        #[serde(flatten)]
        changes: Box<IssueChanges>,
    },
    /// A comment was added.
    Commented { body: String },
    /// The body of a comment was replaced.
    CommentEdited { comment: String, body: String },
    /// A comment was deleted.
    CommentDeleted { comment: String },
    /// The issue was closed, or got another close reason. The event may also have other changes.
    Closed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<IssueReason>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        #[serde(flatten)]
        changes: Box<IssueChanges>,
    },
    /// The issue was reopened. The event may also have other changes.
    Reopened {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
        #[serde(flatten)]
        changes: Box<IssueChanges>,
    },
    /// The issue was deleted. A deletion is the only event of its chain.
    Deleted,
    /// An event that a newer version of forge has written.
    #[serde(other)]
    Unknown,
}

/// The changes that one edit made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct IssueChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees_added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees_removed: Vec<String>,
    /// Values of custom fields, by the name of the field; `None` for a value that was removed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_removed: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by_added: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by_removed: Vec<u64>,
}

impl IssueEvent {
    /// Returns the comment of the event, if it has one.
    pub fn comment(&self) -> Option<&str> {
        match self {
            Self::Commented { body } => Some(body),
            Self::Edited { comment, .. }
            | Self::Closed { comment, .. }
            | Self::Reopened { comment, .. } => comment.as_deref(),
            Self::Opened { .. }
            | Self::CommentEdited { .. }
            | Self::CommentDeleted { .. }
            | Self::Deleted
            | Self::Unknown => None,
        }
    }
}

impl CommitSubject for IssueEvent {
    fn subject(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "open",
            Self::Edited { .. } => "edit",
            Self::Commented { .. } => "comment",
            Self::CommentEdited { .. } => "edit comment",
            Self::CommentDeleted { .. } => "delete comment",
            Self::Closed { .. } => "close",
            Self::Reopened { .. } => "reopen",
            Self::Deleted => "delete",
            Self::Unknown => "event",
        }
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{Timestamp, model::Actor};

    use super::*;
    use crate::store::LogEntry;

    #[test]
    fn issue_event_with_all_changes_round_trips() {
        let changes = IssueChanges {
            title: Some("T".into()),
            labels_added: vec!["bug".into()],
            assignees_removed: vec!["bob".into()],
            values: [("Status".into(), Some("Done".into())), ("Due".into(), None)].into(),
            parent_added: Some(3),
            blocked_by_removed: vec![u64::MAX],
            ..IssueChanges::default()
        };
        for event in [
            IssueEvent::Edited {
                comment: None,
                changes: Box::new(changes.clone()),
            },
            IssueEvent::Closed {
                reason: Some(IssueReason::Duplicate),
                comment: Some("c".into()),
                changes: Box::new(changes.clone()),
            },
            IssueEvent::Reopened {
                comment: None,
                changes: Box::new(changes),
            },
            IssueEvent::Deleted,
        ] {
            let entry = LogEntry {
                seq: 2,
                at: Timestamp::from_unix(1),
                actor: Actor::new("a"),
                head: None,
                event,
            };
            let json = serde_json::to_string(&entry).unwrap();
            assert_eq!(
                serde_json::from_str::<LogEntry<IssueEvent>>(&json).unwrap(),
                entry,
                "{json}"
            );
        }
    }

    #[test]
    fn issue_event_of_older_version_is_read() {
        let json = r#"{"seq":2,"at":"2026-11-01T00:00:00Z","actor":{"login":"a"},
            "event":"closed","reason":"completed"}"#;
        let entry: LogEntry<IssueEvent> = serde_json::from_str(json).unwrap();
        let closed = IssueEvent::Closed {
            reason: Some(IssueReason::Completed),
            comment: None,
            changes: Box::default(),
        };
        assert_eq!(entry.event, closed);
    }

    #[test]
    fn issue_event_of_newer_version_is_unknown() {
        let json =
            r#"{"seq":1,"at":"2026-11-01T00:00:00Z","actor":{"login":"a"},"event":"pinned"}"#;
        let entry: LogEntry<IssueEvent> = serde_json::from_str(json).unwrap();
        assert_eq!(entry.event, IssueEvent::Unknown);
    }
}
