use std::{fmt, path::PathBuf, pin::Pin};

use futures::Stream;
use serde::Serialize;

use crate::{Error, Result, Timestamp, Trust, text::one_line};

/// Who made a commit, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
    /// When.
    pub at: Timestamp,
    /// The account it belongs to, where the forge knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The forge's own id of that account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// A commit of a pull request.
#[derive(Clone, Debug, Serialize)]
pub struct Commit {
    /// Full object id, hex.
    pub oid: String,
    /// First line of the message.
    pub message_headline: String,
    /// The rest.
    pub message_body: String,
    /// Authors: the author first, then co-authors named in trailers.
    pub authors: Vec<Signature>,
    /// Who committed it.
    pub committer: Signature,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// Its content, mode or type changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name, and perhaps other content.
    Renamed,
    /// It is a copy of another file.
    Copied,
}

/// A changed file.
#[derive(Clone, Debug, Serialize)]
pub struct FileChange {
    /// Its path at the head (at the base, for a deleted file); bytes that are not UTF-8 are
    /// replaced.
    pub path: String,
    /// Its path at the base, for a renamed or copied file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
    /// What happened.
    pub status: FileStatus,
    /// Added lines; `None` for a binary file.
    pub additions: Option<u64>,
    /// Deleted lines; `None` for a binary file.
    pub deletions: Option<u64>,
}

impl FileChange {
    /// Its path, and the one that it had before.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let previous = self.previous_path.as_deref();
        [Some(self.path.as_str()), previous].into_iter().flatten()
    }
}

/// In which form a diff is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiffFormat {
    /// One unified diff from merge base to head.
    #[default]
    Diff,
    /// One mail per commit, as `git format-patch` writes it.
    Patch,
}

/// Which diff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DiffReq {
    /// The form.
    pub format: DiffFormat,
    /// Lines of context; `None` for git's three.
    pub context_lines: Option<u32>,
    /// The lines of context are a preference: no commit is fetched for them, and no warning says that
    /// there are others.
    pub prefers_context: bool,
    /// A round, in place of the newest one.
    pub rounds: Option<Rounds>,
    /// Only what changed since this commit was the head: its id, or the first 7 or more digits of it.
    /// Where the head was rebased since, what the base branch brought is left out.
    pub since: Option<String>,
    /// A clone on this machine that may help where the forge does not send a diff of this size.
    pub clone: Option<LocalClone>,
}

impl DiffReq {
    /// The fewest digits that name a commit.
    pub const MIN_DIGITS: usize = 7;

    /// Whether a text can be a commit: 7 to 64 hex digits.
    #[must_use]
    pub fn is_commit(text: &str) -> bool {
        let is_long = (Self::MIN_DIGITS..=64).contains(&text.len());
        is_long && text.bytes().all(|b| b.is_ascii_hexdigit())
    }

    /// Checks that [`DiffReq::since`] can be a commit.
    ///
    /// # Errors
    /// `invalid_input` (field `since`).
    pub fn check_since(&self) -> Result<()> {
        match &self.since {
            Some(since) if !Self::is_commit(since) => {
                let message = format!("'{}' is no commit", one_line(since));
                Err(Error::invalid("since", message)
                    .with_hint("give 7 or more hex digits of the commit"))
            }
            _ => Ok(()),
        }
    }
}

/// Which rounds of a pull request that is submitted in rounds. They are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rounds {
    /// The round whose changes are wanted; `None` for the newest.
    pub round: Option<usize>,
    /// Leave out what an earlier round had in the same way.
    pub since: Option<usize>,
}

/// A clone of the repository on this machine. A forge may fetch into its object store and push from
/// it, and writes no ref of it but the remote-tracking one that a push leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalClone {
    /// Its directory.
    pub dir: PathBuf,
    /// The remote that stands for the repository.
    pub remote: String,
    /// Who chose the clone.
    pub trust: Trust,
}

/// What became of a pull request since another commit was its head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SinceHead {
    /// The commit that was the head, hex; `None` where a round is a plain diff.
    pub oid: Option<String>,
    /// How the head moved.
    pub head_change: HeadChange,
    /// The commits that are not the same as before, oldest first.
    pub commits: Vec<ChangedCommit>,
}

/// How the head of a pull request moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadChange {
    /// It did not.
    Unchanged,
    /// Commits were added to it.
    Continued,
    /// Its commits were made anew, from another commit of the base branch.
    Rebased,
    /// Its commits were replaced.
    Rewritten,
}

impl HeadChange {
    /// What it means, as a part of a sentence about the head.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Unchanged => "has not moved",
            Self::Continued => "has more commits",
            Self::Rebased => "was rebased",
            Self::Rewritten => "was rewritten (force-pushed)",
        }
    }
}

/// A commit that two versions of a pull request do not have in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedCommit {
    /// It at the earlier head, hex; `None` where it is new.
    pub old: Option<String>,
    /// It at the head, hex; `None` where it was dropped.
    pub new: Option<String>,
    /// First line of the message.
    pub headline: String,
}

impl ChangedCommit {
    /// What became of it: `added`, `changed` or `dropped`.
    #[must_use]
    pub const fn change(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "added",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "dropped",
        }
    }
}

/// Which files of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContentsReq {
    /// The commit, full hex.
    pub oid: String,
    /// The paths in it.
    pub paths: Vec<String>,
    /// A clone on this machine that is read in place of the forge, where it has the commit.
    pub clone: Option<LocalClone>,
}

/// What a path has at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Text. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// Bytes that are no text.
    Binary,
    /// More than [`FileContent::MAX_BYTES`], or than the forge sends.
    TooLarge,
    /// No file.
    Missing,
}

impl FileContent {
    /// A larger file is not read.
    pub const MAX_BYTES: u64 = 512 * 1024;

    /// From its bytes: as git, a file with a NUL among the first 8,000 bytes is binary.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match bytes.iter().take(8_000).any(|b| *b == 0) {
            true => Self::Binary,
            false => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

/// Chunks of bytes, in order.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Vec<u8>>> + Send>>;

/// A diff that arrives while it is read.
pub struct Diff {
    /// The merge base, hex, where it is known.
    pub base_oid: Option<String>,
    /// The head, as [`PullRequest::head_id`](super::PullRequest::head_id); empty where the forge sends
    /// the diff without saying.
    pub head_oid: String,
    /// Lines of context; `None` where the forge stores the diff as it was made.
    pub context_lines: Option<u32>,
    /// What became of the commits since another head, where [`DiffReq::since`] or [`Rounds::since`]
    /// names one.
    pub since: Option<SinceHead>,
    /// The bytes as git writes them: not UTF-8 in general, and untrusted.
    pub body: ByteStream,
    /// What the forge withheld.
    pub warnings: Vec<crate::Warning>,
}

impl fmt::Debug for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diff")
            .field("base_oid", &self.base_oid)
            .field("head_oid", &self.head_oid)
            .finish_non_exhaustive()
    }
}
