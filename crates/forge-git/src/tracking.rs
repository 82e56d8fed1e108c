//! Finds the remote-tracking branch of a branch.

use forge_core::Result;

use crate::Git;

/// A remote-tracking branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteBranch {
    /// The full name, such as `refs/remotes/origin/topic`.
    pub name: String,
    /// The remote, such as `origin`.
    pub remote: String,
    /// The commit to which it points.
    pub oid: String,
}

impl Git {
    /// Returns the remote-tracking branch for `branch`, such as `refs/remotes/origin/topic`. `None`
    /// if there is none or more than one, or if the branch does not contain the commit `recorded`:
    /// another remote may have an unrelated branch of this name, and a remote-tracking branch may
    /// be older than the recorded commit.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn tracking_branch(&self, branch: &str, recorded: &str) -> Result<Option<String>> {
        let (_, found) = self.remote_branches(branch).await?;
        let [only] = found.as_slice() else {
            return Ok(None);
        };
        let continues = self.contains(&only.name, recorded).await?;
        Ok(continues.then(|| only.name.clone()))
    }

    /// Returns the remote-tracking branch with the name of `branch` on its remote: the remote that
    /// the configuration names for the branch, else `origin`, else the only remote that has it.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn remote_branch(&self, branch: &str) -> Result<Option<RemoteBranch>> {
        let (remote, mut found) = self.remote_branches(branch).await?;
        let of_remote = |name: &str| found.iter().position(|b| b.remote == name);
        let chosen = of_remote(&remote).or_else(|| of_remote("origin"));
        let only = (found.len() == 1).then_some(0);
        Ok(chosen.or(only).map(|at| found.swap_remove(at)))
    }

    /// Returns the remote that the configuration names for `branch`, or an empty text, and the
    /// remote-tracking branches with the name of `branch`.
    async fn remote_branches(&self, branch: &str) -> Result<(String, Vec<RemoteBranch>)> {
        let own = format!("refs/heads/{branch}");
        let pattern = format!("refs/remotes/*/{branch}");
        let format = "--format=%(refname) %(objectname) %(upstream:remotename)";
        let listed = self
            .run_ok(["for-each-ref", format, &own, &pattern])
            .await?;
        let (mut remote, mut found) = (String::new(), Vec::new());
        for line in String::from_utf8_lossy(&listed).lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(name), Some(oid)) = (words.next(), words.next()) else {
                continue;
            };
            if name == own {
                words.next().unwrap_or_default().clone_into(&mut remote);
                continue;
            }
            let place = name.strip_prefix("refs/remotes/");
            let place = place.and_then(|rest| rest.strip_suffix(branch)?.strip_suffix('/'));
            found.extend(place.map(|remote| RemoteBranch {
                name: name.to_owned(),
                remote: remote.to_owned(),
                oid: oid.to_owned(),
            }));
        }
        Ok((remote, found))
    }
}
