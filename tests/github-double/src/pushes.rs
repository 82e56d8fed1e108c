//! Commits that others than the double write into the bare repositories.

use std::collections::BTreeMap;

use super::{Seed, actions};

impl Seed<'_> {
    /// Returns the branches of a repository with their tips, for a later call of [`Self::pushed`].
    pub fn tips(&self, full_name: &str) -> BTreeMap<String, String> {
        actions::branches(self, self.find_repo(full_name))
    }

    /// Updates the pull requests after branches were written with git, as if `login` had pushed.
    /// `before` has the tips known to the double.
    pub fn pushed(&mut self, full_name: &str, before: &BTreeMap<String, String>, login: &str) {
        let (repo, actor) = (self.find_repo(full_name), self.find_account(login));
        actions::refs_moved(&mut self.0, repo, before, actor);
    }
}
