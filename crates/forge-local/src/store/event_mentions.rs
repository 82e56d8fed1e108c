//! Finds the pull requests and issues whose events mention a number.

use std::{cmp::Reverse, collections::BTreeSet};

use forge_core::{Result, model::SubjectKind};

use super::{EventStore, refs};

impl EventStore {
    /// Returns the pull requests and issues with `#<number>` or `#issue-<number>` in an event,
    /// newest first. Longer numbers also match: `#12` finds `#123`. Runs one process.
    ///
    /// # Errors
    /// `git` if git cannot be run, or an event is missing.
    pub async fn events_mentioning(&self, number: u64) -> Result<Vec<(SubjectKind, u64)>> {
        let found = self
            .git
            .run_ok([
                "log",
                "--first-parent",
                "--no-show-signature",
                "--format=%S",
                "--fixed-strings",
                &format!("--grep=#{number}"),
                &format!("--grep=#issue-{number}"),
                &format!("--glob={}", refs::PULLS),
                &format!("--glob={}", refs::ISSUES),
            ])
            .await?;
        let found = String::from_utf8_lossy(&found);
        let found: BTreeSet<_> = found.lines().filter_map(of_ref).collect();
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, n)| Reverse(*n));
        Ok(found)
    }
}

fn of_ref(name: &str) -> Option<(SubjectKind, u64)> {
    let pull = refs::number(name, refs::PULLS).map(|n| (SubjectKind::PullRequest, n));
    pull.or_else(|| refs::number(name, refs::ISSUES).map(|n| (SubjectKind::Issue, n)))
}
