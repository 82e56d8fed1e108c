use serde::Serialize;

use super::MergeMethod;
use crate::{Capability, RepoId, Support, Warning};

/// A repository, as its forge describes it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RepoInfo {
    /// The canonical id of the repository.
    pub id: RepoId,
    /// Other ids of the same repository, confirmed by the forge. For example, the same tangled
    /// repository has one id with the DID of its owner, one with its own DID, and one with its
    /// record. Empty if the repository has only one id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<RepoId>,
    /// Default branch, the base of new pull requests; `None` in an empty repository.
    pub default_branch: Option<String>,
    /// True if nothing in this repository names its default branch. [`Self::default_branch`] is
    /// then a common name such as `main`, or the checked-out branch, which may be under review.
    #[serde(skip)]
    pub default_is_guessed: bool,
    /// True if [`Self::default_branch`] is guessed only because it is checked out.
    #[serde(skip)]
    pub default_is_checked_out: bool,
    /// Description, as one paragraph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// URL of the repository's page; for a local repository, a `file://` URL.
    pub url: String,
    /// True if the repository accepts no more changes.
    pub archived: bool,
    /// The original repository, if this one is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RepoId>,
    /// Permission of the viewer.
    pub permission: Permission,
    /// The merge methods that the repository allows.
    pub merge_methods: Vec<MergeMethod>,
    /// The merge method that the forge uses by default; `None` if it has no default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_merge_method: Option<MergeMethod>,
    /// Scopes that the credentials lack for changes in this repository, as the forge names them.
    /// Empty if none is missing, or if the forge does not report scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_scopes: Vec<String>,
    /// Capabilities of this repository that differ from the backend's table of capabilities.
    #[serde(skip)]
    pub overrides: Vec<(Capability, Support)>,
    /// Warnings about facts that are unknown, such as whether the viewer may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl RepoInfo {
    /// Builds a repository that the viewer may read, without branches and merge methods.
    pub fn new(id: RepoId, url: impl Into<String>) -> Self {
        Self {
            id,
            aliases: Vec::new(),
            default_branch: None,
            default_is_guessed: false,
            default_is_checked_out: false,
            description: None,
            url: url.into(),
            archived: false,
            parent: None,
            permission: Permission::Read,
            merge_methods: Vec::new(),
            default_merge_method: None,
            missing_scopes: Vec::new(),
            overrides: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// A branch of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Branch {
    /// Name, without `refs/heads/`.
    pub name: String,
    /// Commit at the tip of the branch.
    pub oid: String,
}

impl Branch {
    /// Builds the branch `name` with its tip.
    pub fn new(name: impl Into<String>, oid: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            oid: oid.into(),
        }
    }
}

/// Content of a path in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathContent {
    /// Bytes of a file.
    File(Vec<u8>),
    /// Entries of a directory, in git's order.
    Directory(Vec<DirectoryEntry>),
}

/// Entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DirectoryEntry {
    /// Name, without the directory.
    pub name: String,
    /// True for a directory; false for a file, a symbolic link or a submodule.
    pub is_directory: bool,
}

impl DirectoryEntry {
    /// Builds the entry `name`.
    pub fn new(name: impl Into<String>, is_directory: bool) -> Self {
        Self {
            name: name.into(),
            is_directory,
        }
    }
}

/// The forge's internal ids (node ids) of a repository and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepoNode {
    /// The forge's internal id of the repository.
    pub id: String,
    /// The forge's internal id of the owner.
    pub owner_id: String,
    /// Display name of the owner, if the owner is a person who has set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_name: Option<String>,
}

impl RepoNode {
    /// Builds the value from the ids of a repository and its owner.
    pub fn new(id: impl Into<String>, owner_id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            owner_id: owner_id.into(),
            owner_name: None,
        }
    }
}

/// Permission of the viewer in a repository, from lowest to highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The viewer may only read.
    Read,
    /// The viewer may also set labels and assignees, and close.
    Triage,
    /// The viewer may also push and merge.
    Write,
    /// The viewer may do everything.
    Admin,
}
