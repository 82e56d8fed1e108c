//! Commits that are written into the bare repositories by others than the double.

use std::collections::BTreeMap;

use super::{Seed, actions};

impl Seed<'_> {
    /// The branches of a repository with their tips, to hand to [`Self::pushed`] later.
    pub fn tips(&self, full_name: &str) -> BTreeMap<String, String> {
        actions::branches(self, self.find_repo(full_name))
    }

    /// Updates the pull requests after branches were written with git, as if `login` had pushed.
    /// `before` are the tips that the double knew.
    pub fn pushed(&mut self, full_name: &str, before: &BTreeMap<String, String>, login: &str) {
        let (repo, actor) = (self.find_repo(full_name), self.find_account(login));
        actions::refs_moved(&mut self.0, repo, before, actor);
    }
}
