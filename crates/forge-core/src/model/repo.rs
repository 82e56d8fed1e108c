use serde::Serialize;

use super::MergeMethod;
use crate::{Capability, RepoId, Support, Warning};

/// A repository, as its forge describes it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RepoInfo {
    /// The canonical id.
    pub id: RepoId,
    /// Other ids of the repository, confirmed by the forge. On tangled these use the DID of the
    /// owner, the repository's own DID, and its record. Empty if there is only a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<RepoId>,
    /// Default branch, the base of new pull requests; `None` in an empty repository.
    pub default_branch: Option<String>,
    /// Description, in one paragraph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// URL of the repository's page; for a local repository, a `file://` URL.
    pub url: String,
    /// The repository accepts no more changes.
    pub archived: bool,
    /// The repository from which this fork was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RepoId>,
    /// Permission of the viewer.
    pub permission: Permission,
    /// The merge methods that the repository allows.
    pub merge_methods: Vec<MergeMethod>,
    /// The method that the forge itself uses; `None` if the forge has no default method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_merge_method: Option<MergeMethod>,
    /// Scopes that the credentials lack for changes in this repository, in the forge's names; empty
    /// also if the forge does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_scopes: Vec<String>,
    /// Capabilities that differ here from the backend's table.
    #[serde(skip)]
    pub overrides: Vec<(Capability, Support)>,
    /// Facts that could not be determined, such as whether the viewer may write.
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
    /// Tip of the branch.
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

/// File or directory at a path of a repository.
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
    /// The entry is a directory, not a file, a symbolic link or a submodule.
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

/// The forge's own ids of a repository and its owner (node ids).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepoNode {
    /// The forge's own id of the repository.
    pub id: String,
    /// The forge's own id of the owner.
    pub owner_id: String,
    /// The display name of the owner, if the owner is a person with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_name: Option<String>,
}

impl RepoNode {
    /// Builds the ids of a repository and its owner.
    pub fn new(id: impl Into<String>, owner_id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            owner_id: owner_id.into(),
            owner_name: None,
        }
    }
}

/// Permission of the viewer in a repository, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Reading only.
    Read,
    /// Labels, assignees, closing.
    Triage,
    /// Pushing and merging.
    Write,
    /// Everything.
    Admin,
}
