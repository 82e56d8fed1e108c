use std::{fmt, path::PathBuf, pin::Pin};

use futures::Stream;
use serde::Serialize;

use crate::{Error, Result, Timestamp, Trust, text::one_line};

/// Author or committer of a commit, with a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Signature {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
    /// Time of authoring or committing.
    pub at: Timestamp,
    /// Account of this person, if known to the forge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The forge's internal id of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

impl Signature {
    /// Builds the signature of a person without a known account.
    pub fn new(name: impl Into<String>, email: impl Into<String>, at: Timestamp) -> Self {
        Self {
            name: name.into(),
            email: email.into(),
            at,
            login: None,
            account_id: None,
        }
    }
}

/// A commit of a pull request.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Commit {
    /// Full object id, hex.
    pub oid: String,
    /// First line of the message.
    pub message_headline: String,
    /// Rest of the message.
    pub message_body: String,
    /// The author, then the co-authors from `Co-authored-by` trailers.
    pub authors: Vec<Signature>,
    /// Committer.
    pub committer: Signature,
}

impl Commit {
    /// Builds the commit `oid`. Its message is the single line `headline`.
    pub fn new(
        oid: impl Into<String>,
        headline: impl Into<String>,
        authors: Vec<Signature>,
        committer: Signature,
    ) -> Self {
        Self {
            oid: oid.into(),
            message_headline: headline.into(),
            message_body: String::new(),
            authors,
            committer,
        }
    }
}

/// How a commit changes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// The file is new.
    Added,
    /// Content, mode or type changed.
    Modified,
    /// The file was deleted.
    Deleted,
    /// The file was renamed, possibly with other content.
    Renamed,
    /// The file is a copy of another one.
    Copied,
}

/// A changed file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FileChange {
    /// Path at the head, or at the base for a deleted file. Invalid UTF-8 is replaced.
    pub path: String,
    /// Path at the base, for a renamed or copied file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
    /// Kind of change.
    pub status: FileStatus,
    /// Added lines; `None` for a binary file.
    pub additions: Option<u64>,
    /// Deleted lines; `None` for a binary file.
    pub deletions: Option<u64>,
}

impl FileChange {
    /// Builds a change of the file `path`. The line counts stay `None`.
    pub fn new(path: impl Into<String>, status: FileStatus) -> Self {
        Self {
            path: path.into(),
            previous_path: None,
            status,
            additions: None,
            deletions: None,
        }
    }

    /// Returns the path, and the previous path if there is one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let previous = self.previous_path.as_deref();
        [Some(self.path.as_str()), previous].into_iter().flatten()
    }
}

/// Format of a diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiffFormat {
    /// A unified diff from the merge base to the head.
    #[default]
    Diff,
    /// A mail for each commit, as `git format-patch` writes it.
    Patch,
}

/// Request for a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DiffReq {
    /// Format.
    pub format: DiffFormat,
    /// Lines of context; `None` for git's three.
    pub context_lines: Option<u32>,
    /// True if `context_lines` is only a preference. The backend then fetches no commit to get that
    /// many lines, and does not warn if the diff has a different number.
    pub prefers_context: bool,
    /// The round to show, and optionally an earlier round to compare it with. `None` shows the
    /// newest round.
    pub rounds: Option<Rounds>,
    /// Id of an earlier head commit, or at least its first 7 digits. The diff then shows only the
    /// changes since that head. If the head was rebased in the meantime, changes from the base
    /// branch are left out.
    pub since: Option<String>,
    /// A clone on this machine. It is used if the diff is too large for the forge to send.
    pub clone: Option<LocalClone>,
}

impl DiffReq {
    /// Minimum number of digits of an abbreviated commit id.
    pub const MIN_DIGITS: usize = 7;

    /// Returns true if a text looks like a commit id: 7 to 64 hex digits.
    #[must_use]
    pub fn is_commit(text: &str) -> bool {
        let is_long = (Self::MIN_DIGITS..=64).contains(&text.len());
        is_long && text.bytes().all(|b| b.is_ascii_hexdigit())
    }

    /// Checks that [`DiffReq::since`] looks like a commit id.
    ///
    /// # Errors
    /// `invalid_input` (field `since`).
    pub fn check_since(&self) -> Result<()> {
        match &self.since {
            Some(since) if !Self::is_commit(since) => {
                let message = format!("'{}' is not a commit", one_line(since));
                Err(Error::invalid("since", message)
                    .with_hint("pass at least the first 7 hex digits of the commit id"))
            }
            _ => Ok(()),
        }
    }
}

/// Selects rounds of a pull request, counted from 0. A round is one submitted version of the
/// changes (a term of tangled).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Rounds {
    /// The requested round; `None` for the newest.
    pub round: Option<usize>,
    /// An earlier round. Changes that it already had are left out.
    pub since: Option<usize>,
}

impl Rounds {
    /// Selects `round`, or the newest round if `None`. Changes that the round `since` already had
    /// are left out.
    #[must_use]
    pub fn new(round: Option<usize>, since: Option<usize>) -> Self {
        Self { round, since }
    }
}

/// A clone of the repository on this machine. The backend may fetch objects into the clone and push
/// from it. The only ref of the clone that may change is the remote-tracking ref of a pushed
/// branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LocalClone {
    /// Directory of the clone.
    pub dir: PathBuf,
    /// Name of the clone's remote that points to the repository.
    pub remote: String,
    /// How far the clone is trusted. This depends on who named its path.
    pub trust: Trust,
}

impl LocalClone {
    /// Describes the clone in `dir`, whose remote `remote` points to the repository.
    pub fn new(dir: impl Into<PathBuf>, remote: impl Into<String>, trust: Trust) -> Self {
        Self {
            dir: dir.into(),
            remote: remote.into(),
            trust,
        }
    }
}

/// Changes in a pull request since an earlier head commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SinceHead {
    /// The earlier head commit, hex; `None` if the earlier round was a plain diff without a commit.
    pub oid: Option<String>,
    /// How the head moved.
    pub head_change: HeadChange,
    /// The commits that were added, changed or dropped since the earlier head, oldest first.
    pub commits: Vec<ChangedCommit>,
}

impl SinceHead {
    /// Builds the changes since the head `oid`.
    #[must_use]
    pub fn new(oid: Option<String>, head_change: HeadChange, commits: Vec<ChangedCommit>) -> Self {
        Self {
            oid,
            head_change,
            commits,
        }
    }
}

/// How the head of a pull request moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadChange {
    /// The head is the same.
    Unchanged,
    /// Commits were added on top.
    Continued,
    /// The commits were recreated on another commit of the base branch.
    Rebased,
    /// The commits were replaced.
    Rewritten,
}

impl HeadChange {
    /// Returns the end of a sentence that begins with "the head", such as "was rebased".
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

/// A commit that differs between two versions of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedCommit {
    /// Commit id in the earlier version, hex; `None` for a new commit.
    pub old: Option<String>,
    /// Commit id in the newer version, hex; `None` for a dropped commit.
    pub new: Option<String>,
    /// First line of the message.
    pub headline: String,
}

impl ChangedCommit {
    /// Builds a commit `oid` that the earlier version did not have.
    pub fn added(oid: impl Into<String>, headline: impl Into<String>) -> Self {
        Self {
            old: None,
            new: Some(oid.into()),
            headline: headline.into(),
        }
    }

    /// Returns the kind of change: `added`, `changed` or `dropped`.
    #[must_use]
    pub const fn change(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "added",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "dropped",
        }
    }
}

/// Request for the files of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContentsReq {
    /// The commit, full hex.
    pub oid: String,
    /// Paths of the files.
    pub paths: Vec<String>,
    /// A clone on this machine. If the clone has the commit, it is read instead of the forge.
    pub clone: Option<LocalClone>,
}

impl ContentsReq {
    /// Builds a request for the files `paths` at commit `oid`, read from the forge.
    pub fn new(oid: impl Into<String>, paths: Vec<String>) -> Self {
        Self {
            oid: oid.into(),
            paths,
            clone: None,
        }
    }
}

/// Content of a path at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Text. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// Binary content.
    Binary,
    /// The file is larger than [`FileContent::MAX_BYTES`] or the limit of the forge.
    TooLarge,
    /// No such file.
    Missing,
}

impl FileContent {
    /// Maximum size of a file to read, in bytes.
    pub const MAX_BYTES: u64 = 512 * 1024;

    /// Classifies the bytes of a file. As in git, a file with a NUL in the first 8,000 bytes is
    /// binary.
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

/// A diff that is streamed.
#[non_exhaustive]
pub struct Diff {
    /// The merge base, hex, if known.
    pub base_oid: Option<String>,
    /// Id of the head, as in [`PullRequest::head_id`](super::PullRequest::head_id). Empty if the
    /// forge sends only the diff, without an id.
    pub head_oid: String,
    /// Number of context lines. `None` if it is unknown, because the forge stores finished diffs.
    pub context_lines: Option<u32>,
    /// The commits that changed since an earlier head, if [`DiffReq::since`] or [`Rounds::since`]
    /// is set.
    pub since: Option<SinceHead>,
    /// The diff as git writes it: not always UTF-8, and untrusted.
    pub body: ByteStream,
    /// Warnings about parts that the forge left out.
    pub warnings: Vec<crate::Warning>,
}

impl Diff {
    /// Builds a diff to `head_oid` from the bytes that the forge stores.
    pub fn new(head_oid: impl Into<String>, body: ByteStream) -> Self {
        Self {
            base_oid: None,
            head_oid: head_oid.into(),
            context_lines: None,
            since: None,
            body,
            warnings: Vec::new(),
        }
    }
}

impl fmt::Debug for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diff")
            .field("base_oid", &self.base_oid)
            .field("head_oid", &self.head_oid)
            .finish_non_exhaustive()
    }
}
