use std::fmt;

use super::PullRequest;
use crate::{Error, RepoId, Warning};

/// The repositories of one forge that a question over several is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullScope {
    /// These.
    pub repos: Vec<RepoId>,
    /// All repositories of these owners; `@me` is the viewer.
    pub owners: Vec<String>,
    /// Every repository that has to do with the viewer, for queries that are about the viewer.
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

/// Pull requests of several repositories.
#[derive(Debug, Default)]
pub struct PullsAcross {
    /// What each query found, in the order of the queries.
    pub lists: Vec<Vec<PullRequest>>,
    /// What could not be read, a repository, an owner or a host, and why.
    pub failed: Vec<(String, Error)>,
    /// What else is to be known.
    pub warnings: Vec<Warning>,
    /// A list has more than is here.
    pub is_cut: bool,
}

impl PullsAcross {
    /// Empty lists for so many queries.
    #[must_use]
    pub fn new(queries: usize) -> Self {
        Self {
            lists: (0..queries).map(|_| Vec::new()).collect(),
            ..Self::default()
        }
    }

    /// Adds what was found elsewhere by the same queries.
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

    /// Puts the newest first, and keeps so many of each list.
    pub fn keep_newest(&mut self, limit: usize) {
        for list in &mut self.lists {
            list.sort_by_key(|pull| std::cmp::Reverse(pull.created_at));
            self.is_cut |= list.len() > limit;
            list.truncate(limit);
        }
    }
}
