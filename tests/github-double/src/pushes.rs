//! Handles commits that another program writes into the bare repositories.

use std::collections::BTreeMap;

use super::{Seed, actions};

impl Seed<'_> {
    /// Returns the tip of each branch, which a later call of [`Self::pushed`] needs.
    pub fn tips(&self, full_name: &str) -> BTreeMap<String, String> {
        actions::branches(self, self.find_repo(full_name))
    }

    /// Updates the pull requests as if `login` had pushed the branches that another program has
    /// written. `before` has the tips before that change.
    pub fn pushed(&mut self, full_name: &str, before: &BTreeMap<String, String>, login: &str) {
        let (repo, actor) = (self.find_repo(full_name), self.find_account(login));
        actions::refs_moved(&mut self.0, repo, before, actor);
    }
}
