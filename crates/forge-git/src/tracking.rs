//! Finds the remote-tracking branch of a branch.

use forge_core::Result;

use crate::Git;

/// Which of several remote-tracking branches has the newest commit of a local branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedTip {
    /// The branch at this index of the list has the commit.
    At(usize),
    /// Some of the branches exist, and none has the commit.
    Behind {
        /// Index of the first branch that exists.
        index: usize,
        /// Number of commits that this branch lacks.
        missing: u64,
    },
    /// None of the branches exists, or there is no local branch.
    Untracked,
}

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

    /// Returns which of the refs `tracking` has the newest commit of the local branch `branch`. A
    /// ref at this very commit is preferred to one that is ahead of it. Only the first `own` refs
    /// may be ahead: the commits that another remote adds are not the user's.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn find_tracked_tip(
        &self,
        branch: &str,
        tracking: &[String],
        own: usize,
    ) -> Result<TrackedTip> {
        let local = format!("refs/heads/{branch}");
        let mut names: Vec<&str> = tracking.iter().map(String::as_str).collect();
        names.push(&local);
        let oids = self.ref_oids(&names).await?;
        let Some(tip) = oids.get(&local) else {
            return Ok(TrackedTip::Untracked);
        };
        let indexed = tracking.iter().enumerate();
        let existing: Vec<(usize, &String)> = indexed
            .filter_map(|(index, name)| Some((index, oids.get(name)?)))
            .collect();
        if let Some((index, _)) = existing.iter().find(|(_, oid)| *oid == tip) {
            return Ok(TrackedTip::At(*index));
        }
        for (index, oid) in existing.iter().filter(|(index, _)| *index < own) {
            if self.contains(oid, tip).await? {
                return Ok(TrackedTip::At(*index));
            }
        }
        for (index, oid) in &existing {
            let range = format!("{oid}..{tip}");
            let args = ["rev-list", "--count", "--end-of-options", &range];
            let count = self.run_ok(args).await?;
            let missing = String::from_utf8_lossy(&count).trim().parse().unwrap_or(1);
            if missing > 0 {
                let index = *index;
                return Ok(TrackedTip::Behind { index, missing });
            }
        }
        Ok(TrackedTip::Untracked)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tracked_tip_is_equal_ahead_behind_or_missing() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        let run = async |args: &[&str]| {
            let who = ["-c", "user.name=n", "-c", "user.email=e"];
            git.run_ok(who.iter().chain(args)).await.unwrap();
        };
        run(&["init", "-q", "-b", "topic"]).await;
        let names = ["upstream", "origin", "fork"];
        let tracking = names.map(|name| format!("refs/remotes/{name}/topic"));
        let find = async || {
            git.find_tracked_tip("topic", &tracking, tracking.len())
                .await
                .unwrap()
        };
        assert_eq!(find().await, TrackedTip::Untracked);
        for message in ["1", "2", "3", "4"] {
            run(&["commit", "-q", "--allow-empty", "-m", message]).await;
            run(&["tag", message]).await;
        }
        assert_eq!(find().await, TrackedTip::Untracked);
        // A longer name is another branch, and so is a tag of this name.
        run(&["update-ref", "refs/remotes/origin/topic/more", "4"]).await;
        run(&["update-ref", "refs/tags/refs/remotes/origin/topic", "4"]).await;
        assert_eq!(find().await, TrackedTip::Untracked);
        run(&["update-ref", "-d", "refs/remotes/origin/topic/more"]).await;
        run(&["update-ref", "refs/remotes/origin/topic", "2"]).await;
        let behind = |index, missing| TrackedTip::Behind { index, missing };
        assert_eq!(find().await, behind(1, 2));
        run(&["update-ref", "refs/remotes/upstream/topic", "1"]).await;
        assert_eq!(find().await, behind(0, 3));
        run(&["update-ref", "refs/remotes/fork/topic", "4"]).await;
        assert_eq!(find().await, TrackedTip::At(2));
        // A remote branch that is ahead has every commit, but an equal one is preferred.
        run(&["reset", "-q", "--hard", "3"]).await;
        assert_eq!(find().await, TrackedTip::At(2));
        run(&["update-ref", "refs/remotes/upstream/topic", "4"]).await;
        run(&["update-ref", "refs/remotes/fork/topic", "3"]).await;
        assert_eq!(find().await, TrackedTip::At(2));
        // The commits that another remote adds are not the user's.
        run(&["update-ref", "-d", "refs/remotes/fork/topic"]).await;
        let of_others = git.find_tracked_tip("topic", &tracking, 0).await.unwrap();
        assert_eq!(of_others, behind(1, 1));
        run(&["update-ref", "-d", "refs/remotes/origin/topic"]).await;
        let of_others = git.find_tracked_tip("topic", &tracking, 0).await.unwrap();
        assert_eq!(of_others, TrackedTip::Untracked);
        run(&["update-ref", "refs/remotes/origin/topic", "2"]).await;
        run(&["update-ref", "refs/remotes/fork/topic", "3"]).await;
        // An amended commit is on no remote branch.
        run(&["commit", "-q", "--amend", "--allow-empty", "-m", "other"]).await;
        assert_eq!(find().await, behind(0, 1));
    }
}
