//! Repositories and branch protection.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use super::{Id, Permission, Ruleset};

/// A repository; its git side is the bare repository at [`Repo::git_dir`].
#[derive(Debug, Clone)]
pub struct Repo {
    /// Number of the repository.
    pub id: Id,
    /// The account that owns it.
    pub owner: Id,
    /// Name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// True if only accounts with a permission see the repository.
    pub private: bool,
    /// True if the repository is read-only.
    pub archived: bool,
    /// Name of the default branch.
    pub default_branch: String,
    /// The repository from which this one was forked.
    pub parent: Option<Id>,
    /// Path of the bare repository.
    pub git_dir: PathBuf,
    /// Permissions of accounts other than the owner.
    pub collaborators: BTreeMap<Id, Permission>,
    /// Protected branches by name.
    pub protections: BTreeMap<String, Protection>,
    /// Rulesets of the repository and of its organisation.
    pub rulesets: Vec<Ruleset>,
    /// True if merge commits are allowed.
    pub allow_merge: bool,
    /// True if squash merges are allowed.
    pub allow_squash: bool,
    /// True if rebase merges are allowed.
    pub allow_rebase: bool,
    /// True if auto-merge is allowed.
    pub allow_auto_merge: bool,
    /// True if branches are deleted when their pull request is merged.
    pub delete_branch_on_merge: bool,
    /// Last number given to an issue or pull request.
    pub last_number: u64,
    /// Time of creation.
    pub created_at: String,
    /// Time of the last push.
    pub pushed_at: String,
}

impl Repo {
    /// Returns the allowed merge methods, as GraphQL names them.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("MERGE", self.allow_merge),
            ("SQUASH", self.allow_squash),
            ("REBASE", self.allow_rebase),
        ];
        all.into_iter().filter(|it| it.1).map(|it| it.0)
    }
}

/// The rules of a protected branch.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// Number of required approvals.
    pub approvals: u32,
    /// Names of the checks that must pass.
    pub checks: BTreeSet<String>,
    /// The apps that checks must come from, by the checks' names.
    pub apps: BTreeMap<String, u64>,
    /// The head must contain the base.
    pub strict: bool,
    /// Every thread must be resolved.
    pub conversations: bool,
    /// The rules also apply to administrators.
    pub enforce_admins: bool,
    /// A merge queue is required.
    pub merge_queue: bool,
    /// An owner of each changed file must approve.
    pub code_owners: bool,
    /// A push dismisses approvals.
    pub dismiss_stale: bool,
    /// The last push needs approval from an account other than its pusher.
    pub last_push: bool,
    /// Merge commits are not allowed.
    pub linear: bool,
    /// Every commit must be signed.
    pub signatures: bool,
    /// Environments to which the head must be deployed.
    pub deployments: BTreeSet<String>,
    /// No push or merge changes the branch.
    pub locked: bool,
    /// Only these accounts may push.
    pub pushers: Option<BTreeSet<Id>>,
}
