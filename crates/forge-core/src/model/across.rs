use std::fmt;

use super::PullRequest;
use crate::{Error, RepoId, Warning};

/// Scope of a query over several repositories of one forge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PullScope {
    /// The repositories to query, each named individually.
    pub repos: Vec<RepoId>,
    /// Owners whose repositories are all queried; `@me` is the viewer.
    pub owners: Vec<String>,
    /// True to query every repository in which the viewer is involved. Used for queries about the
    /// viewer.
    pub everywhere: bool,
}

impl fmt::Display for PullScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repos = self.repos.iter().map(ToString::to_string);
        let owners = self.owners.iter().map(|owner| format!("{owner}/*"));
        let everywhere = self.everywhere.then(|| "everywhere".to_owned());
        let all: Vec<String> = repos.chain(owners).chain(everywhere).collect();
        f.write_str(&all.join(", "))
    }
}

/// Pull requests from several repositories.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct PullsAcross {
    /// Results of each query, in the order of the queries.
    pub lists: Vec<Vec<PullRequest>>,
    /// Repositories, owners or hosts that could not be read, with the reason.
    pub failed: Vec<(String, Error)>,
    /// Warnings about the results.
    pub warnings: Vec<Warning>,
    /// True if at least one list is truncated.
    pub is_cut: bool,
}

impl PullsAcross {
    /// Builds empty lists for `queries` queries.
    #[must_use]
    pub fn new(queries: usize) -> Self {
        Self {
            lists: (0..queries).map(|_| Vec::new()).collect(),
            ..Self::default()
        }
    }

    /// Adds the results of another forge for the same queries.
    pub fn add(&mut self, other: Self) {
        for (list, more) in self.lists.iter_mut().zip(other.lists) {
            list.extend(more);
        }
        self.failed.extend(other.failed);
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self.is_cut |= other.is_cut;
    }

    /// Sorts each list newest first and cuts it to `limit`.
    pub fn keep_newest(&mut self, limit: usize) {
        for list in &mut self.lists {
            list.sort_by_key(|pull| std::cmp::Reverse(pull.created_at));
            self.is_cut |= list.len() > limit;
            list.truncate(limit);
        }
    }
}
