//! Finds the pull request of the current branch.
//!
//! The rules are tried in the order of gh (`find_refs_resolution.go`, since 2.70): a branch that
//! tracks `refs/pull/N/head`, then git's `@{push}`, then the push settings. Older versions of gh
//! used only the upstream branch, which gives the wrong pull request to users who track `main` and
//! push to another branch.

use forge_core::Result;

use crate::{BranchConfig, Git, GitConfig};

/// Destination of a push of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushedTo {
    /// A remote, by its name.
    Remote(String),
    /// A URL without a configured remote.
    Url(String),
    /// The current repository, also if no destination is configured.
    Here,
}

/// Number or head branch that identifies the pull request of the current branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurrentPull {
    /// A number: the branch tracks `refs/pull/N/head` of a remote.
    Number {
        /// The number.
        number: u64,
        /// Name or URL of the remote, as configured.
        remote: Option<String>,
    },
    /// A head branch.
    Head {
        /// The repository of the head branch.
        at: PushedTo,
        /// Name of the branch in that repository.
        branch: String,
        /// The upstream branch, if it is another one.
        upstream: Option<UpstreamBranch>,
    },
}

/// Upstream branch of the current branch (`branch.<name>.remote` and `branch.<name>.merge`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamBranch {
    /// The repository of the branch.
    pub at: PushedTo,
    /// Name of the branch in that repository.
    pub branch: String,
    /// True if `branch.<name>.pushRemote` names the same repository, as after a checkout of a pull
    /// request from a fork.
    pub has_push_remote: bool,
}

/// Returns the name of the current branch, or `None` on a detached head.
///
/// # Errors
/// `not_found` outside of a repository; `git` if git fails.
pub async fn current_branch(git: &Git) -> Result<Option<String>> {
    let output = git.run(["symbolic-ref", "--quiet", "HEAD"]).await?;
    match output.status {
        0 => {
            let name = String::from_utf8_lossy(&output.stdout);
            Ok(name
                .trim_end_matches('\n')
                .strip_prefix("refs/heads/")
                .map(str::to_owned))
        }
        1 => Ok(None),
        _ => {
            // Outside of a repository, `root` returns the clearer error.
            crate::root(git).await?;
            Err(output.error("symbolic-ref"))
        }
    }
}

/// Identifies the pull request of the current branch. Returns `None` on a detached head.
///
/// # Errors
/// `not_found` outside of a repository.
pub async fn current_pull(git: &Git, config: &GitConfig) -> Result<Option<CurrentPull>> {
    let push = git.run([
        "rev-parse",
        "--verify",
        "--quiet",
        "--symbolic-full-name",
        "--end-of-options",
        "@{push}",
    ]);
    let (branch, output) = tokio::join!(current_branch(git), push);
    let (Some(branch), output) = (branch?, output?) else {
        return Ok(None);
    };
    let push_ref = (output.status == 0).then(|| {
        String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned()
    });
    Ok(Some(decide(&branch, config, push_ref.as_deref())))
}

/// Identifies the pull request like [`current_pull`], but without starting a process. `push_ref` is
/// the ref to which `@{push}` resolves.
fn decide(branch: &str, config: &GitConfig, push_ref: Option<&str>) -> CurrentPull {
    let settings = config.branch(branch);
    if let Some(number) = settings.merge.as_deref().and_then(pull_number) {
        return CurrentPull::Number {
            number,
            remote: settings.remote,
        };
    }
    let upstream = upstream_branch(&settings, config);
    let (at, branch) = match push_ref.and_then(|name| tracked(name, config)) {
        Some((remote, branch)) => (PushedTo::Remote(remote), branch),
        None => {
            let follows_upstream = matches!(
                config.push_default.as_deref(),
                Some("upstream" | "tracking")
            );
            // A new branch without an upstream branch is pushed under its own name.
            let merge = settings.merge.as_deref().filter(|_| follows_upstream);
            let merge = merge.and_then(|merge| merge.strip_prefix("refs/heads/"));
            let branch = merge.unwrap_or(branch).to_owned();
            let at = settings
                .push_remote
                .or_else(|| config.push_default_remote.clone())
                .or(settings.remote)
                .map_or(PushedTo::Here, |remote| resolve(remote, config));
            (at, branch)
        }
    };
    let upstream = upstream.filter(|upstream| upstream.at != at || upstream.branch != branch);
    CurrentPull::Head {
        at,
        branch,
        upstream,
    }
}

/// Returns the upstream branch; `None` if it is a branch of this repository, or one of several.
fn upstream_branch(settings: &BranchConfig, config: &GitConfig) -> Option<UpstreamBranch> {
    let branch = settings.merge.as_deref()?.strip_prefix("refs/heads/")?;
    let at = resolve(settings.remote.clone()?, config);
    (at != PushedTo::Here && !settings.has_several_merges).then(|| UpstreamBranch {
        at,
        branch: branch.to_owned(),
        has_push_remote: settings.push_remote == settings.remote,
    })
}

/// Returns the number `N` in `refs/pull/N/head`.
fn pull_number(merge: &str) -> Option<u64> {
    let digits = merge.strip_prefix("refs/pull/")?.strip_suffix("/head")?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|n| plain && *n > 0)
}

/// Splits `refs/remotes/<remote>/<branch>` into remote and branch. The longest matching remote
/// wins, because names of remotes may contain a slash.
fn tracked(name: &str, config: &GitConfig) -> Option<(String, String)> {
    let rest = name.strip_prefix("refs/remotes/")?;
    config
        .remotes
        .iter()
        .filter_map(|remote| {
            let branch = rest.strip_prefix(remote.name.as_str())?.strip_prefix('/')?;
            (!branch.is_empty()).then(|| (remote.name.clone(), branch.to_owned()))
        })
        .max_by_key(|(remote, _)| remote.len())
}

fn resolve(remote: String, config: &GitConfig) -> PushedTo {
    if remote == "." {
        PushedTo::Here
    } else if config.remote(&remote).is_some() {
        PushedTo::Remote(remote)
    } else {
        PushedTo::Url(remote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lines: &[&str]) -> GitConfig {
        let mut output = Vec::new();
        for line in lines {
            let (key, value) = line.split_once('=').unwrap();
            output.extend_from_slice(format!("{key}\n{value}\0").as_bytes());
        }
        GitConfig::parse(&output).unwrap()
    }

    fn head(at: PushedTo, branch: &str) -> CurrentPull {
        CurrentPull::Head {
            at,
            branch: branch.to_owned(),
            upstream: None,
        }
    }

    fn tracking(head: CurrentPull, at: PushedTo, name: &str, has_push_remote: bool) -> CurrentPull {
        let CurrentPull::Head {
            at: place, branch, ..
        } = head
        else {
            panic!("no head branch");
        };
        let upstream = UpstreamBranch {
            at,
            branch: name.to_owned(),
            has_push_remote,
        };
        CurrentPull::Head {
            at: place,
            branch,
            upstream: Some(upstream),
        }
    }

    #[test]
    fn current_pull_follows_order_of_gh() {
        let remote = |name: &str| PushedTo::Remote(name.to_owned());
        let base = [
            "remote.origin.url=o",
            "remote.fork.url=f",
            "remote.a/b.url=x",
        ];
        let cases: &[(&str, &[&str], Option<&str>, CurrentPull)] = &[
            (
                "a fetched pull request wins over everything",
                &["branch.x.merge=refs/pull/7/head", "branch.x.remote=origin"],
                Some("refs/remotes/fork/x"),
                CurrentPull::Number {
                    number: 7,
                    remote: Some("origin".to_owned()),
                },
            ),
            (
                "what git would push to",
                &["branch.x.merge=refs/heads/main", "branch.x.remote=origin"],
                Some("refs/remotes/fork/topic"),
                tracking(
                    head(remote("fork"), "topic"),
                    remote("origin"),
                    "main",
                    false,
                ),
            ),
            (
                "a remote with a slash",
                &[],
                Some("refs/remotes/a/b/topic/1"),
                head(remote("a/b"), "topic/1"),
            ),
            (
                "a push ref without a known remote is ignored",
                &["branch.x.remote=origin"],
                Some("refs/remotes/gone/x"),
                head(remote("origin"), "x"),
            ),
            (
                "the branch's push remote",
                &[
                    "branch.x.pushremote=fork",
                    "remote.pushdefault=a/b",
                    "branch.x.remote=origin",
                ],
                None,
                head(remote("fork"), "x"),
            ),
            (
                "the default push remote",
                &["remote.pushdefault=a/b", "branch.x.remote=origin"],
                None,
                head(remote("a/b"), "x"),
            ),
            (
                "the branch's remote, and not the branch that it tracks",
                &["branch.x.remote=origin", "branch.x.merge=refs/heads/main"],
                None,
                tracking(head(remote("origin"), "x"), remote("origin"), "main", false),
            ),
            (
                "a checkout of a fork's branch under another name",
                &[
                    "branch.x.remote=fork",
                    "branch.x.pushremote=fork",
                    "branch.x.merge=refs/heads/main",
                ],
                None,
                tracking(head(remote("fork"), "x"), remote("fork"), "main", true),
            ),
            (
                "the upstream branch is the push destination",
                &["branch.x.remote=origin", "branch.x.merge=refs/heads/x"],
                Some("refs/remotes/origin/x"),
                head(remote("origin"), "x"),
            ),
            (
                "several upstream branches",
                &[
                    "branch.x.remote=origin",
                    "branch.x.merge=refs/heads/a",
                    "branch.x.merge=refs/heads/b",
                ],
                None,
                head(remote("origin"), "x"),
            ),
            (
                "no upstream branch to push to",
                &["push.default=upstream", "branch.x.remote=fork"],
                None,
                head(remote("fork"), "x"),
            ),
            (
                "no upstream at all",
                &["push.default=tracking"],
                None,
                head(PushedTo::Here, "x"),
            ),
            (
                "a URL as the remote",
                &["branch.x.remote=https://example.org/o/r"],
                None,
                head(PushedTo::Url("https://example.org/o/r".to_owned()), "x"),
            ),
            (
                "a branch of this repository as the upstream",
                &["branch.x.remote=.", "branch.x.merge=refs/heads/main"],
                None,
                head(PushedTo::Here, "x"),
            ),
            (
                "pushing to the upstream",
                &[
                    "push.default=upstream",
                    "branch.x.remote=origin",
                    "branch.x.merge=refs/heads/other",
                ],
                None,
                head(remote("origin"), "other"),
            ),
            (
                "nothing is configured",
                &[],
                None,
                head(PushedTo::Here, "x"),
            ),
            (
                "no pull request has this number",
                &["branch.x.merge=refs/pull/0/head"],
                None,
                head(PushedTo::Here, "x"),
            ),
        ];
        for (what, lines, push_ref, expected) in cases {
            let all: Vec<&str> = base.iter().chain(lines.iter()).copied().collect();
            assert_eq!(&decide("x", &config(&all), *push_ref), expected, "{what}");
        }
    }

    #[tokio::test]
    async fn current_pull_uses_push_ref_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        let run = async |args: &[&str]| {
            git.run_ok(args).await.unwrap();
        };
        run(&["init", "-q", "-b", "topic/é"]).await;
        assert_eq!(
            current_branch(&git).await.unwrap().as_deref(),
            Some("topic/é")
        );
        run(&["remote", "add", "origin", "https://example.org/o/r"]).await;
        run(&[
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "m",
        ])
        .await;
        run(&["update-ref", "refs/remotes/origin/topic/é", "HEAD"]).await;
        run(&["config", "remote.pushDefault", "origin"]).await;
        run(&["config", "push.default", "current"]).await;
        let settings = GitConfig::read(&git).await.unwrap();
        assert_eq!(
            current_pull(&git, &settings).await.unwrap(),
            Some(head(PushedTo::Remote("origin".to_owned()), "topic/é"))
        );
        run(&["checkout", "-q", "--detach"]).await;
        assert_eq!(current_branch(&git).await.unwrap(), None);
        assert_eq!(current_pull(&git, &settings).await.unwrap(), None);
    }

    #[tokio::test]
    async fn current_branch_outside_of_repository_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path()).with_env("GIT_CEILING_DIRECTORIES", dir.path());
        let e = current_branch(&git).await.unwrap_err();
        assert!(
            e.is_not_found() && e.message().contains("is not in a git repository"),
            "{e}"
        );
    }
}
