//! Finds the remote-tracking branch of a branch.

use forge_core::Result;

use crate::Git;

impl Git {
    /// Returns the remote-tracking branch for `branch`, such as `refs/remotes/origin/topic`. `None`
    /// if there is none or more than one, or if the branch does not contain the commit `recorded`:
    /// another remote may have an unrelated branch of this name, and a remote-tracking branch may
    /// be older than the recorded commit.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn tracking_branch(&self, branch: &str, recorded: &str) -> Result<Option<String>> {
        let pattern = format!("refs/remotes/*/{branch}");
        let args = ["for-each-ref", "--format=%(refname)", &pattern];
        let listed = String::from_utf8_lossy(&self.run_ok(args).await?).into_owned();
        let mut names = listed.lines();
        let (Some(only), None) = (names.next(), names.next()) else {
            return Ok(None);
        };
        let continues = self.contains(only, recorded).await?;
        Ok(continues.then(|| only.to_owned()))
    }
}
