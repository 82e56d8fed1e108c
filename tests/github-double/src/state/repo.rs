//! Repositories and branch protection.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use super::{Id, Permission, Ruleset};

/// A repository. Its git data is in the bare repository at [`Repo::git_dir`].
#[derive(Debug, Clone)]
pub struct Repo {
    /// Number of the repository.
    pub id: Id,
    /// The account that owns the repository.
    pub owner: Id,
    /// Name of the repository.
    pub name: String,
    /// Description of the repository.
    pub description: Option<String>,
    /// True if only accounts with a permission see the repository.
    pub private: bool,
    /// True if the repository is read-only.
    pub archived: bool,
    /// Name of the default branch.
    pub default_branch: String,
    /// The repository from which this one was forked.
    pub parent: Option<Id>,
    /// Path of the bare git repository.
    pub git_dir: PathBuf,
    /// Permissions of accounts other than the owner, by account number.
    pub collaborators: BTreeMap<Id, Permission>,
    /// Protected branches, by branch name.
    pub protections: BTreeMap<String, Protection>,
    /// Rulesets of the repository and its organisation.
    pub rulesets: Vec<Ruleset>,
    /// True if merge commits are allowed.
    pub allow_merge: bool,
    /// True if squash merges are allowed.
    pub allow_squash: bool,
    /// True if rebase merges are allowed.
    pub allow_rebase: bool,
    /// True if auto-merge is allowed.
    pub allow_auto_merge: bool,
    /// True if a merge deletes the head branch.
    pub delete_branch_on_merge: bool,
    /// Last number that an issue or pull request got.
    pub last_number: u64,
    /// Time at which the repository was created.
    pub created_at: String,
    /// Time of the last push.
    pub pushed_at: String,
}

impl Repo {
    /// Returns the allowed merge methods under their names in GraphQL.
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
    /// Maps a check name to the number of the app that must report the check.
    pub apps: BTreeMap<String, u64>,
    /// True if the head must contain the base branch's tip.
    pub strict: bool,
    /// True if every thread must be resolved.
    pub conversations: bool,
    /// True if the rules also apply to administrators.
    pub enforce_admins: bool,
    /// True if pull requests must go through a merge queue.
    pub merge_queue: bool,
    /// True if an owner of each changed file must approve.
    pub code_owners: bool,
    /// True if a push dismisses earlier approvals.
    pub dismiss_stale: bool,
    /// True if an account other than the pusher must approve the last push.
    pub last_push: bool,
    /// True if merge commits are not allowed.
    pub linear: bool,
    /// True if every commit must be signed.
    pub signatures: bool,
    /// Names of the environments to which the head must be deployed.
    pub deployments: BTreeSet<String>,
    /// True if no push or merge may change the branch.
    pub locked: bool,
    /// The only accounts that may push; `None` permits everybody with write access.
    pub pushers: Option<BTreeSet<Id>>,
}
