use std::{fmt, path::PathBuf, pin::Pin};

use futures::Stream;
use serde::Serialize;

use crate::{Result, Timestamp, Trust};

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
    /// A round, in place of the newest one.
    pub rounds: Option<Rounds>,
    /// A clone on this machine that may help where the forge does not send a diff of this size.
    pub clone: Option<LocalClone>,
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

/// Chunks of bytes, in order.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Vec<u8>>> + Send>>;

/// A diff that arrives while it is read.
pub struct Diff {
    /// The merge base, hex, where it is known.
    pub base_oid: Option<String>,
    /// The head, hex; empty where the forge sends the diff without saying.
    pub head_oid: String,
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
