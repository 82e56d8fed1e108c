//! The state of a pull request's branches in git.

use forge_core::{Error, Noun, Result};
use forge_git::quoted;

use crate::{Local, store::StoredPull};

/// The merge bases of the head and the base of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeBases {
    One(String),
    /// The branches were merged into each other, so no merge base has all changes that they share.
    /// The diff from any of them to the head can lack changes that a merge brings.
    Several {
        preferred: String,
    },
}

impl MergeBases {
    /// Returns the commit to record with a pull request that is closed or merged. With several
    /// merge bases, nothing is recorded, and readers compute them again.
    pub fn into_recorded(self) -> Option<String> {
        match self {
            Self::One(oid) => Some(oid),
            Self::Several { .. } => None,
        }
    }
}

impl Local {
    pub(crate) async fn merge_bases_of(&self, pull: &StoredPull) -> Result<MergeBases> {
        if let Some(recorded) = pull.snapshot.merge_base.clone().filter(|_| !pull.is_open()) {
            return Ok(MergeBases::One(recorded));
        }
        let number = pull.number;
        let (base, head) = (pull.base()?, pull.head()?);
        let found = self.git().merge_bases(base, head).await.map_err(|e| {
            Error::not_found(
                Noun::Commit,
                format!(
                    "a commit that #{number} needs is gone ({base} or {head}): {}",
                    e.message()
                ),
            )
            .with_hint("fetch the commit from a repository that has it")
        })?;
        let is_only = found.len() == 1;
        match found.into_iter().next() {
            Some(oid) if is_only => Ok(MergeBases::One(oid)),
            Some(preferred) => Ok(MergeBases::Several { preferred }),
            None => Err(Error::not_found(
                Noun::Commit,
                format!("the head and the base of #{number} no longer share any history"),
            )
            .with_hint("one of the branches was rewritten: see git log on both")),
        }
    }

    /// Returns the state of the missing `branch`, and the hint that creates the branch: from its
    /// remote-tracking branch if this contains the recorded commit `oid`, otherwise at that commit.
    pub(crate) async fn explain_missing(
        &self,
        branch: &str,
        oid: &str,
    ) -> Result<(&'static str, String)> {
        let name = quoted(branch);
        Ok(match self.git().tracking_branch(branch, oid).await? {
            // The recorded commit may be older than the branch of the remote.
            Some(from) => (
                "is not in this repository",
                format!("create it with git branch {name} {}", quoted(&from)),
            ),
            None => (
                "is gone",
                format!("bring it back with git branch {name} {oid}"),
            ),
        })
    }
}
