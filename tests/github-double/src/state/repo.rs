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
    /// Seen by those with a permission only.
    pub private: bool,
    /// Read only.
    pub archived: bool,
    /// Name of the default branch.
    pub default_branch: String,
    /// The repository it was forked from.
    pub parent: Option<Id>,
    /// Path of the bare repository.
    pub git_dir: PathBuf,
    /// Permissions besides the owner's.
    pub collaborators: BTreeMap<Id, Permission>,
    /// Protected branches by name.
    pub protections: BTreeMap<String, Protection>,
    /// Rulesets, its own and its organisation's.
    pub rulesets: Vec<Ruleset>,
    /// Merge commits may be made.
    pub allow_merge: bool,
    /// Squash merges may be made.
    pub allow_squash: bool,
    /// Rebase merges may be made.
    pub allow_rebase: bool,
    /// Pull requests may be set to merge by themselves.
    pub allow_auto_merge: bool,
    /// Branches go when their pull request is merged.
    pub delete_branch_on_merge: bool,
    /// Last number given to an issue or pull request.
    pub last_number: u64,
    /// When it was made.
    pub created_at: String,
    /// When it was last pushed to.
    pub pushed_at: String,
}

impl Repo {
    /// The methods of merging that are switched on, as GraphQL names them.
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
    /// Approvals needed.
    pub approvals: u32,
    /// Names of the checks that must pass.
    pub checks: BTreeSet<String>,
    /// The apps that checks must come from, by the checks' names.
    pub apps: BTreeMap<String, u64>,
    /// The head must contain the base.
    pub strict: bool,
    /// Every thread must be resolved.
    pub conversations: bool,
    /// Administrators are bound too.
    pub enforce_admins: bool,
    /// A queue does the merging.
    pub merge_queue: bool,
    /// An owner of each changed file must approve.
    pub code_owners: bool,
    /// A push dismisses approvals.
    pub dismiss_stale: bool,
    /// The last push needs approval from an account other than its pusher.
    pub last_push: bool,
    /// No merge commits.
    pub linear: bool,
    /// Every commit must be signed.
    pub signatures: bool,
    /// Environments that the head must be deployed to.
    pub deployments: BTreeSet<String>,
    /// No push or merge changes the branch.
    pub locked: bool,
    /// Only these accounts may push.
    pub pushers: Option<BTreeSet<Id>>,
}
