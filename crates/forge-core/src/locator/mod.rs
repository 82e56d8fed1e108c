//! Parses locators: texts that name a repository, a pull request or an issue. No I/O is needed.
//!
//! - [`parse`] accepts locators that people and agents type: `owner/repo`, a URL, a git remote,
//!   `file:///…`, a path, an at-uri (the address of an atproto record), a DID (the permanent id of
//!   an atproto account).
//! - [`parse_selector`] accepts the name of a pull request if the repository is known: `7`, `#7`, a
//!   URL, a branch, `owner:branch`.
//!
//! Work that needs the network is done by the backends, for example resolving a handle to a DID.
//!
//! `docs/reference/locators.md` has the grammar as a table.

use std::{borrow::Cow, fmt, path::PathBuf};

use serde::{Serialize, Serializer};

mod address;
mod atproto;
mod authority;
mod error;
mod grammar;
mod hosts;
mod local;
mod named;
#[cfg(test)]
mod tests;
mod url;

pub use address::{Address, Part};
pub use atproto::RecordKind;
pub use error::ParseLocatorError;
pub use grammar::{parse, parse_remote, parse_selector};
pub use hosts::Hosts;

/// Text between `#` and the number of an issue in a local repository. Without this text, the number
/// means a pull request.
pub(crate) const ISSUE_SUFFIX: &str = "issue-";
/// Maximum length of a locator in bytes: twice the longest path on Linux.
pub(crate) const MAX_LENGTH: usize = 8 * 1024;

/// The kind of a forge. This is not an enum, because a third-party backend can define a new kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForgeKind(Cow<'static, str>);

impl ForgeKind {
    /// GitHub, GitHub Enterprise Cloud and GitHub Enterprise Server.
    pub const GITHUB: Self = Self(Cow::Borrowed("github"));
    /// Tangled, over atproto.
    pub const TANGLED: Self = Self(Cow::Borrowed("tangled"));
    /// A git repository that stores pull requests and issues itself.
    pub const LOCAL: Self = Self(Cow::Borrowed("local"));

    /// Creates a kind from a word of lowercase ASCII letters, digits and `-`.
    #[must_use]
    pub fn new(word: &str) -> Option<Self> {
        let ok = !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        ok.then(|| Self(Cow::Owned(word.to_owned())))
    }

    /// Returns the word for the kind, as in configuration and JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a repository, in canonical form. `Display` prints a locator that [`parse`] turns back
/// into the same value.
///
/// Owner and name keep their original case for display, and `==` is case-sensitive. To find out
/// whether two values name the same repository, compare [`Self::comparison_key`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepoId {
    /// Kind of forge.
    pub kind: ForgeKind,
    /// Host and optional port, in lower case (`github.com`, `knot.example:5555`). Empty for a local
    /// repository, and for a repository of which only the DID is known.
    pub host: String,
    /// Location of the repository on the host.
    pub path: RepoPath,
}

impl RepoId {
    /// Returns the id of the local repository at `path`.
    #[must_use]
    pub fn local(path: impl Into<PathBuf>) -> Self {
        Self {
            kind: ForgeKind::LOCAL,
            host: String::new(),
            path: RepoPath::Dir(path.into()),
        }
    }

    /// Returns owner and name, or `None` for a repository without them.
    #[must_use]
    pub fn owner_and_name(&self) -> Option<(&str, &str)> {
        match &self.path {
            RepoPath::Named { owner, name } => Some((owner, name)),
            _ => None,
        }
    }

    /// Returns true if pull requests and issues have separate numbers. A number then means a pull
    /// request unless `issue-` precedes it.
    #[must_use]
    pub fn numbers_issues_apart(&self) -> bool {
        matches!(self.path, RepoPath::Dir(_))
    }

    /// Returns a key that is equal for all spellings of one repository, for allow-lists and maps.
    ///
    /// GitHub and tangled ignore the case of owner and name, so the key has them in lower case.
    /// DIDs, record keys, paths and names on other forges are compared exactly. Neither the network
    /// nor the file system is used. Therefore a handle and its DID, or two paths to the same
    /// directory, have different keys.
    #[must_use]
    pub fn comparison_key(&self) -> String {
        grammar::comparison_key(self)
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        grammar::write_repo(self, f)
    }
}

impl Serialize for RepoId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Location of a repository on a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RepoPath {
    /// `owner/name`. On tangled the owner is a handle or a DID.
    Named {
        /// Login, organisation, handle or DID.
        owner: String,
        /// Repository name, without `.git`.
        name: String,
    },
    /// The DID of a tangled repository.
    Did(String),
    /// The at-uri of a tangled repository's record.
    Record(AtUri),
    /// A directory: absolute, or relative as typed (`.`, `./x`, `../x`, `~/x`). The local backend
    /// makes the path absolute when it opens the repository.
    Dir(PathBuf),
}

/// The at-uri of a record: `at://<did or handle>/<collection>/<rkey>`.
///
/// Source: the page "AT URI scheme" of the atproto specification, "restricted" syntax.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtUri {
    /// DID or handle; handles in lower case.
    pub authority: String,
    /// The collection's NSID.
    pub collection: String,
    /// The record key.
    pub rkey: String,
}

impl fmt::Display for AtUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at://{}/{}/{}",
            self.authority, self.collection, self.rkey
        )
    }
}

impl Serialize for AtUri {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Key of a pull request inside its repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrKey {
    /// A number assigned by the forge.
    Number(u64),
    /// The at-uri of the pull request's record.
    Record(String),
}

impl fmt::Display for PrKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Record(uri) => f.write_str(uri),
        }
    }
}

impl Serialize for PrKey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(n) => s.serialize_u64(*n),
            Self::Record(uri) => s.serialize_str(uri),
        }
    }
}

/// A pull request: its repository and its key. `Display` prints `<repo>#<number>` or the at-uri.
///
/// [`parse`] turns `<repo>#<number>` back into [`Locator::Pull`]. It turns an at-uri into
/// [`Locator::Record`], because the repository of a record can only be looked up on the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct PrId {
    /// The repository of the base branch.
    pub repo: RepoId,
    /// Key of the pull request in that repository.
    pub key: PrKey,
}

impl PrId {
    /// Returns the id of pull request `number` in `repo`.
    #[must_use]
    pub fn number(repo: RepoId, number: u64) -> Self {
        Self {
            repo,
            key: PrKey::Number(number),
        }
    }
}

impl fmt::Display for PrId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            PrKey::Number(n) => write!(f, "{}#{n}", self.repo),
            PrKey::Record(uri) => f.write_str(uri),
        }
    }
}

/// The object that a locator names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Locator {
    /// A repository.
    Repo(RepoId),
    /// A pull request, and optionally one of its rounds (tangled's term for a revision, counted
    /// from 0).
    Pull {
        /// The pull request.
        id: PrId,
        /// The round that the URL names.
        round: Option<u32>,
    },
    /// An issue.
    Issue {
        /// The repository.
        repo: RepoId,
        /// Key of the issue in that repository.
        key: PrKey,
    },
    /// A pull request or issue by at-uri. Its repository can only be looked up on the network.
    Record(AtUri),
}

impl Locator {
    /// Returns the repository, or `None` if the locator is a record.
    #[must_use]
    pub fn repo(&self) -> Option<&RepoId> {
        match self {
            Self::Repo(repo) | Self::Issue { repo, .. } => Some(repo),
            Self::Pull { id, .. } => Some(&id.repo),
            Self::Record(_) => None,
        }
    }
}

/// A parsed locator, with a flag for dropped credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parsed {
    /// The parsed locator.
    pub locator: Locator,
    /// True if the input contained credentials (`https://token@…`). The locator does not contain
    /// them. Warn about the credentials, and never print the input.
    pub had_credentials: bool,
}

/// The name of one pull request of a known repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrSelector {
    /// `7`, `#7`.
    Number(u64),
    /// A URL, an at-uri, or `owner/repo#7`. Its repository takes precedence over the flag `-R`.
    Locator(Locator),
    /// `feature` or `owner:feature`.
    Branch {
        /// The owner of the head repository, if given.
        owner: Option<String>,
        /// The head branch.
        branch: String,
    },
    /// `.`: the pull request of the current branch. Git refuses `.` as a branch name.
    Current,
}
