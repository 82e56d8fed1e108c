use serde::Serialize;

use super::MergeMethod;
use crate::{Capability, RepoId, Support, Warning};

/// A repository, as its forge describes it.
#[derive(Clone, Debug, Serialize)]
pub struct RepoInfo {
    /// The canonical id.
    pub id: RepoId,
    /// Its other ids, which the forge vouches for: on tangled by the DID of its owner, by its own DID
    /// and by its record. Empty where a name is all there is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<RepoId>,
    /// The branch that pull requests go to unless told otherwise; `None` in an empty repository.
    pub default_branch: Option<String>,
    /// One paragraph about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its page, or for a local repository its `file://` URL.
    pub url: String,
    /// No more changes are accepted.
    pub archived: bool,
    /// The repository it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RepoId>,
    /// What the viewer may do.
    pub permission: Permission,
    /// The merge methods that the repository allows.
    pub merge_methods: Vec<MergeMethod>,
    /// The one of them that the forge itself would take; `None` where it has no opinion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_merge_method: Option<MergeMethod>,
    /// The scopes that the credentials are known to lack for changing something here, as the forge
    /// names them; empty also where the forge does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_scopes: Vec<String>,
    /// Where this repository, its policy or the viewer's rights differ from the backend's table.
    #[serde(skip)]
    pub overrides: Vec<(Capability, Support)>,
    /// What could not be found out, such as whether the viewer may write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// A branch of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The commit that it names.
    pub oid: String,
}

/// The forge's own ids of a repository and its owner (node ids).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoNode {
    /// Of the repository.
    pub id: String,
    /// Of the owner.
    pub owner_id: String,
    /// The display name of the owner, where it is a person who has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_name: Option<String>,
}

/// What the viewer may do in a repository, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Nothing beyond reading.
    Read,
    /// Labels, assignees, closing.
    Triage,
    /// Pushing and merging.
    Write,
    /// Everything.
    Admin,
}
