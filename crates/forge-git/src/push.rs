//! Chooses where a push goes, and pushes. `git push` runs nowhere else.

use std::fmt;

use forge_core::{Result, text::one_line};

use crate::{Git, Output, command_line};

/// A branch of a remote that receives a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushTarget {
    remote: String,
    branch: String,
}

/// The branch that git's configuration names for pushes of a local branch, such as
/// `branch.<name>.merge` with `push.default=upstream`.
///
/// `git switch -c topic origin/main` sets `branch.topic.merge` to `main`. Most people do not mean
/// that `topic` is pushed to `main`.
#[derive(Clone, Copy, Debug)]
pub struct ConfiguredBranch<'a> {
    /// Name of the branch at the remote.
    pub name: &'a str,
    /// Why other people use the branch: `the base branch`, `a protected branch`. `None` if the
    /// forge was asked and knows of no such use. A fact that could not be read is such a use.
    pub shared: Option<&'a str>,
}

impl PushTarget {
    /// Chooses the branch at `remote` that receives a push of the local branch `local`: the
    /// configured one, unless others use it, or else the branch of the same name.
    #[must_use]
    pub fn choose(remote: &str, local: &str, configured: Option<ConfiguredBranch<'_>>) -> Self {
        let configured = configured.filter(|branch| branch.shared.is_none());
        Self {
            remote: remote.to_owned(),
            branch: configured.map_or(local, |branch| branch.name).to_owned(),
        }
    }

    /// Returns the base branch of a pull request, into which a merge is pushed.
    #[must_use]
    pub fn of_merge(remote: &str, base: &str) -> Self {
        Self::choose(remote, base, None)
    }

    /// Returns the name of the branch at the remote.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns the remote: a name, or a URL.
    #[must_use]
    pub fn remote(&self) -> &str {
        &self.remote
    }

    /// Describes the push of `source`, on one line: `topic -> origin/topic`.
    #[must_use]
    pub fn route(&self, source: &str) -> String {
        format!("{} -> {self}", one_line(source))
    }

    /// Returns the command that pushes `local` by hand. Names both branches: `git push origin topic`
    /// could push to another one, by `push.default` or `remote.origin.push`.
    #[must_use]
    pub fn command(&self, local: &str, options: &[&str]) -> String {
        let refspec = format!("{local}:refs/heads/{}", self.branch);
        let words = [&["git"], options, &["push", "-u", &self.remote, &refspec]];
        command_line(words.concat())
    }
}

impl fmt::Display for PushTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", one_line(&self.remote), one_line(&self.branch))
    }
}

impl Git {
    /// Pushes the local branch `local` and sets its upstream. Never forces.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn push_branch(&self, local: &str, target: &PushTarget) -> Result<Output> {
        let refspec = format!("refs/heads/{local}:refs/heads/{}", target.branch);
        let options = ["push", "--quiet", "--set-upstream", "--"];
        let words = options
            .into_iter()
            .chain([target.remote.as_str(), &refspec]);
        self.run(words).await
    }

    /// Pushes a commit, if the branch at the remote is still at the commit `before`.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn push_commit(
        &self,
        commit: &str,
        target: &PushTarget,
        before: &str,
    ) -> Result<Output> {
        let branch = format!("refs/heads/{}", target.branch);
        let lease = format!("--force-with-lease={branch}:{before}");
        let refspec = format!("{commit}:{branch}");
        let words = [
            "push",
            "--quiet",
            &lease,
            "--end-of-options",
            &target.remote,
            &refspec,
        ];
        self.run_with_locks(words, b"").await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::Trust;

    #[test]
    fn shared_branch_receives_no_push() {
        let choose = |shared| {
            let name = "team/topic";
            let configured = ConfiguredBranch { name, shared };
            PushTarget::choose("origin", "topic", Some(configured))
        };
        assert_eq!(choose(None).to_string(), "origin/team/topic");
        assert_eq!(choose(Some("the base branch")).to_string(), "origin/topic");
        assert_eq!(PushTarget::choose("o", "t", None).to_string(), "o/t");
    }

    #[test]
    fn command_names_both_branches_quoted() {
        let target = PushTarget::choose("my fork", "a;b", None);
        assert_eq!(
            target.command("a;b", &["-c", "credential.helper=!x y"]),
            "git -c 'credential.helper=!x y' push -u 'my fork' 'a;b:refs/heads/a;b'"
        );
        assert_eq!(target.route("a;b"), "a;b -> my fork/a;b");
    }

    /// Git itself would push to the upstream branch here.
    #[tokio::test]
    async fn push_goes_to_the_chosen_branch() {
        let dir = tempfile::tempdir().unwrap();
        let top = Git::at(dir.path());
        for args in [
            vec!["init", "-q", "--bare", "r"],
            vec!["init", "-q", "-b", "topic", "c"],
        ] {
            top.run_ok(args).await.unwrap();
        }
        let git = Git::at(dir.path().join("c")).with_trust(Trust::Person);
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let commit = ["commit", "-q", "--allow-empty", "-m", "m"];
        git.run_ok(who.iter().chain(&commit)).await.unwrap();
        for [key, value] in [
            ["remote.origin.url", "../r"],
            ["remote.origin.push", "refs/heads/topic:refs/heads/all"],
            ["branch.topic.remote", "origin"],
            ["branch.topic.merge", "refs/heads/main"],
            ["push.default", "upstream"],
        ] {
            git.run_ok(["config", key, value]).await.unwrap();
        }
        let target = PushTarget::choose("origin", "topic", None);
        let remote = git.for_remote().await.unwrap();
        let pushed = remote.push_branch("topic", &target).await.unwrap();
        assert_eq!(pushed.status, 0, "{:?}", pushed.error("push"));
        let bare = Git::at(dir.path().join("r")).opening_bare();
        let refs = ["for-each-ref", "--format=%(refname)"];
        assert_eq!(bare.run_ok(refs).await.unwrap(), b"refs/heads/topic\n");
    }
}
