//! The state of a pull request's branches in git.

use forge_core::{Error, Noun, Result};
use forge_git::quoted;

use crate::{Local, store::StoredPull};

impl Local {
    /// Returns the merge base at which the diff of `pull` starts.
    pub(crate) async fn merge_base_of(&self, pull: &StoredPull) -> Result<String> {
        if let Some(recorded) = pull.snapshot.merge_base.clone().filter(|_| !pull.is_open()) {
            return Ok(recorded);
        }
        let (base, head) = (pull.base()?, pull.head()?);
        let found = self.git().run(["merge-base", "--", base, head]).await?;
        let printed = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if found.status == 0 && !printed.is_empty() {
            return Ok(printed);
        }
        let number = pull.number;
        if found.stderr.is_empty() {
            return Err(Error::not_found(
                Noun::Commit,
                format!("the head and the base of #{number} no longer share any history"),
            )
            .with_hint("one of the branches was rewritten: see git log on both"));
        }
        Err(Error::not_found(
            Noun::Commit,
            format!(
                "a commit that #{number} needs is gone ({base} or {head}): {}",
                found.error("merge-base").message()
            ),
        )
        .with_hint("fetch the commit from a repository that has it"))
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
