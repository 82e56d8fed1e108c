//! One change of a pull request (or of an issue): a commit whose message holds it as JSON.

use forge_core::{
    Timestamp,
    model::{Actor, MergeMethod, ReviewState, Reviewer, Side},
};
use forge_git::RawCommit;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What the line for people says of an event.
pub(crate) trait Subject {
    /// In a word or two.
    fn subject(&self) -> &'static str;
}

/// An event with who, when and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry<E = Event> {
    /// Its place in the chain, from 1.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// The head commit at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What.
    #[serde(flatten)]
    pub event: E,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// It was opened.
    Opened {
        title: String,
        description: String,
        base_branch: String,
        head_branch: String,
        draft: bool,
    },
    /// Something in its header changed.
    Edited(Box<Edited>),
    /// Somebody commented, or answered a comment (`reply_to`), perhaps in a thread.
    Commented {
        body: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
    },
    /// A comment has another body.
    CommentEdited { comment: String, body: String },
    /// A comment is gone.
    CommentDeleted { comment: String },
    /// Somebody reviewed.
    Reviewed {
        state: ReviewState,
        body: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        threads: Vec<OpenedThread>,
    },
    /// The verdict of a review counts no longer.
    ReviewDismissed { review: String, message: String },
    /// A thread was resolved, or that was taken back.
    ThreadResolved { thread: String, resolved: bool },
    /// It was closed without merging.
    Closed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// It was reopened.
    Reopened {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// A draft became ready.
    Ready,
    /// A ready one became a draft.
    Drafted,
    /// A merge is about to move the base branch.
    MergeStarted(Intent),
    /// It was merged.
    Merged(Intent),
    /// Something that a newer version wrote.
    #[serde(other)]
    Unknown,
}

/// The changes of one edit.
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

/// A thread that a review opens; its id and its first comment's id come from its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenedThread {
    pub path: String,
    /// The (last) line; none for a thread on the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    pub side: Side,
    pub body: String,
    /// The hunk that the line stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<String>,
    /// The file's blob at the head (at the base, for the left side) when it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// A merge, as it is written down before the base branch moves and again afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub method: MergeMethod,
    /// What the base branch points to afterwards.
    pub result: String,
    /// What it pointed to before.
    pub onto: String,
    /// The head that is merged.
    pub merged_head: String,
    /// The merge base of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<String>,
    /// The branch that moves.
    pub base_branch: String,
    pub by: Actor,
    pub started_at: Timestamp,
}

impl<E: Subject + Serialize> Entry<E> {
    /// The commit message: one line for people, then the JSON.
    pub fn message(&self) -> serde_json::Result<String> {
        let what = self.event.subject();
        let who = forge_core::text::one_line(&self.actor.login).into_owned();
        Ok(format!(
            "{what}: {who}\n\n{}\n",
            serde_json::to_string(self)?
        ))
    }
}

impl<E: DeserializeOwned> Entry<E> {
    /// Reads an event commit. The root of a chain, which holds none, is `Ok(None)`.
    pub fn of(commit: &RawCommit<'_>) -> serde_json::Result<Option<Self>> {
        let message = commit.message;
        let Some(at) = message.windows(3).position(|w| w == b"\n\n{") else {
            return Ok(None);
        };
        serde_json::from_slice(message.get(at + 2..).unwrap_or_default()).map(Some)
    }
}

impl Subject for Event {
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

    fn entry(event: Event) -> Entry {
        Entry {
            seq: 3,
            at: Timestamp::from_unix(1),
            actor: Actor::new("al"),
            head: None,
            event,
        }
    }

    #[test]
    fn events_round_trip_through_a_commit_message() {
        for event in [
            Event::Ready,
            Event::Commented {
                body: "a\n\n{b\0\u{1b}".into(),
                reply_to: None,
                thread: None,
            },
            Event::Edited(Box::new(Edited {
                title: Some("x".into()),
                ..Edited::default()
            })),
        ] {
            let message = entry(event.clone()).message().unwrap();
            let commit = RawCommit {
                message: message.as_bytes(),
                ..RawCommit::default()
            };
            assert_eq!(Entry::of(&commit).unwrap(), Some(entry(event)));
        }
    }

    #[test]
    fn what_a_newer_version_wrote_is_kept_apart() {
        let message = entry(Event::Ready)
            .message()
            .unwrap()
            .replace("\"ready\"", "\"pinned\"");
        let commit = RawCommit {
            message: message.as_bytes(),
            ..RawCommit::default()
        };
        let read = Entry::<Event>::of(&commit).unwrap().unwrap();
        assert_eq!(read.event, Event::Unknown);
        let root = RawCommit {
            message: b"no event\n",
            ..RawCommit::default()
        };
        assert_eq!(Entry::<Event>::of(&root).unwrap(), None);
    }
}
