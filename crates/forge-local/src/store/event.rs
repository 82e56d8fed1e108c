//! Events of pull requests: each is a commit with JSON in its message.

use forge_core::{
    Timestamp,
    model::{Actor, MergeMethod, ReviewState, Reviewer, Side},
};
use forge_git::RawCommit;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The first line of an event's commit message, for people who read the git log.
pub(crate) trait CommitSubject {
    /// Returns one or two words that describe the event.
    fn subject(&self) -> &'static str;
}

/// An event with author, time and head commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogEntry<E = PullEvent> {
    /// The number of the event in its chain, counted from 1.
    pub seq: u64,
    pub at: Timestamp,
    pub actor: Actor,
    /// The head commit at the time of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(flatten)]
    pub event: E,
}

/// A change of a pull request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum PullEvent {
    /// The pull request was opened.
    Opened {
        title: String,
        description: String,
        base_branch: String,
        head_branch: String,
        draft: bool,
    },
    /// Fields of the pull request were changed.
    Edited(Box<Edited>),
    /// A comment was added. It may be a reply (`reply_to`), or belong to a thread.
    Commented {
        body: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
    },
    /// The body of a comment was replaced.
    CommentEdited { comment: String, body: String },
    /// A comment was deleted.
    CommentDeleted { comment: String },
    /// A review was submitted.
    Reviewed {
        state: ReviewState,
        body: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        threads: Vec<OpenedThread>,
    },
    /// A review was dismissed.
    ReviewDismissed { review: String, message: String },
    /// A thread was resolved or unresolved.
    ThreadResolved { thread: String, resolved: bool },
    /// The pull request was closed without merging.
    Closed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// The pull request was reopened.
    Reopened {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// A draft was marked as ready.
    Ready,
    /// The pull request was converted to a draft.
    Drafted,
    /// A merge is about to move the base branch. Recorded before the move, so that a later command
    /// can detect a crash during the merge.
    MergeStarted(MergeIntent),
    /// The pull request was merged.
    Merged(MergeIntent),
    /// An event that a newer version of forge has written.
    #[serde(other)]
    Unknown,
}

/// The changes that one edit made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Edited {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees_added: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees_removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers_added: Vec<Reviewer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers_removed: Vec<Reviewer>,
}

/// A thread that a review opened. Its position in the review's list of threads determines its id
/// and the id of its first comment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenedThread {
    pub path: String,
    /// The last line that the thread is about; `None` for a thread on the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    pub side: Side,
    pub body: String,
    /// The hunk that contains the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<String>,
    /// The blob of the file when the thread was opened: in the head commit, or in the base for a
    /// thread on the left side of the diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// A merge. It is recorded twice: before the base branch moves, and after that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MergeIntent {
    pub method: MergeMethod,
    /// The tip of the base branch after the merge.
    pub result: String,
    /// The tip of the base branch before the merge.
    pub onto: String,
    /// The head commit that was merged.
    pub merged_head: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<String>,
    pub base_branch: String,
    pub by: Actor,
    pub started_at: Timestamp,
}

impl<E: CommitSubject + Serialize> LogEntry<E> {
    /// Returns the commit message: a line for people, then the JSON.
    pub fn message(&self) -> serde_json::Result<String> {
        let what = self.event.subject();
        let who = forge_core::text::one_line(&self.actor.login).into_owned();
        Ok(format!(
            "{what}: {who}\n\n{}\n",
            serde_json::to_string(self)?
        ))
    }
}

impl<E: DeserializeOwned> LogEntry<E> {
    /// Parses the commit of an event. Returns `Ok(None)` for the root of a chain, which has no
    /// event.
    pub fn of(commit: &RawCommit<'_>) -> serde_json::Result<Option<Self>> {
        match event_json(commit) {
            Some(json) => serde_json::from_slice(json).map(Some),
            None => Ok(None),
        }
    }
}

pub(super) fn event_json<'a>(commit: &RawCommit<'a>) -> Option<&'a [u8]> {
    let message = commit.message;
    let at = message.windows(3).position(|w| w == b"\n\n{")?;
    message.get(at + 2..)
}

impl CommitSubject for PullEvent {
    fn subject(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "open",
            Self::Edited(_) => "edit",
            Self::Commented { .. } => "comment",
            Self::CommentEdited { .. } => "edit comment",
            Self::CommentDeleted { .. } => "delete comment",
            Self::Reviewed {
                state: ReviewState::Approved,
                ..
            } => "approve",
            Self::Reviewed {
                state: ReviewState::ChangesRequested,
                ..
            } => "request changes",
            Self::Reviewed { .. } => "review",
            Self::ReviewDismissed { .. } => "dismiss review",
            Self::ThreadResolved { resolved: true, .. } => "resolve",
            Self::ThreadResolved { .. } => "unresolve",
            Self::Closed { .. } => "close",
            Self::Reopened { .. } => "reopen",
            Self::Ready => "ready",
            Self::Drafted => "draft",
            Self::MergeStarted(_) => "start merge",
            Self::Merged(i) => match i.method {
                MergeMethod::Merge => "merge",
                MergeMethod::Squash => "merge by squash",
                MergeMethod::Rebase => "merge by rebase",
            },
            Self::Unknown => "event",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(event: PullEvent) -> LogEntry {
        LogEntry {
            seq: 3,
            at: Timestamp::from_unix(1),
            actor: Actor::new("al"),
            head: None,
            event,
        }
    }

    #[test]
    fn events_round_trip_through_commit_message() {
        for event in [
            PullEvent::Ready,
            PullEvent::Commented {
                body: "a\n\n{b\0\u{1b}".into(),
                reply_to: None,
                thread: None,
            },
            PullEvent::Edited(Box::new(Edited {
                title: Some("x".into()),
                ..Edited::default()
            })),
        ] {
            let message = entry(event.clone()).message().unwrap();
            let commit = RawCommit {
                message: message.as_bytes(),
                ..RawCommit::default()
            };
            assert_eq!(LogEntry::of(&commit).unwrap(), Some(entry(event)));
        }
    }

    #[test]
    fn event_of_newer_version_is_unknown() {
        let message = entry(PullEvent::Ready)
            .message()
            .unwrap()
            .replace("\"ready\"", "\"pinned\"");
        let commit = RawCommit {
            message: message.as_bytes(),
            ..RawCommit::default()
        };
        let read = LogEntry::<PullEvent>::of(&commit).unwrap().unwrap();
        assert_eq!(read.event, PullEvent::Unknown);
        let root = RawCommit {
            message: b"no event\n",
            ..RawCommit::default()
        };
        assert_eq!(LogEntry::<PullEvent>::of(&root).unwrap(), None);
    }
}
