//! Reads the remotes and branches in the configuration of a repository with one process.

use std::{
    collections::{BTreeMap, HashMap},
    path::{self, PathBuf},
};

use forge_core::{Action, Arg, Error, Hint, Noun, Param, Result};

use crate::Git;

/// A remote with a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Name of the remote.
    pub name: String,
    /// URL to fetch from, after `url.<base>.insteadOf` was applied.
    pub url: String,
    /// The value that `gh repo set-default` wrote: `base`, or a repository.
    pub resolved: Option<String>,
}

/// Git's configuration of one branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchConfig {
    /// `branch.<name>.remote`: the name of a remote, a URL, or `.` for this repository.
    pub remote: Option<String>,
    /// `branch.<name>.pushRemote`: the name of a remote or a URL.
    pub push_remote: Option<String>,
    /// `branch.<name>.merge`: a full ref at the remote.
    pub merge: Option<String>,
    /// `branch.<name>.gh-merge-base`: the base branch for pull requests of this branch.
    pub merge_base: Option<String>,
}

/// Remotes, branches and the keys `forge.*` in git's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitConfig {
    /// Remotes that have a URL: first `upstream`, `github` and `origin`, then the others in the
    /// order of the configuration. There are at most 1,000.
    pub remotes: Vec<Remote>,
    /// The configured branches, by name.
    pub branches: BTreeMap<String, BranchConfig>,
    /// `remote.pushDefault`.
    pub push_default_remote: Option<String>,
    /// `push.default`, in lower case.
    pub push_default: Option<String>,
    /// `forge.repo`: the default repository of commands.
    pub forge_repo: Option<String>,
}

/// Maximum number of remotes. It limits the work, because each remote is compared with each
/// `url.<base>.insteadOf`.
const MAX_REMOTES: usize = 1000;

/// Names of the preferred remotes, as in gh.
const FIRST: [&str; 3] = ["upstream", "github", "origin"];

impl GitConfig {
    /// Reads the configuration. It is empty for a repository without such settings.
    ///
    /// # Errors
    /// The errors of [`Git::read_config`].
    pub async fn read(git: &Git) -> Result<Self> {
        let keys = r"^(remote|branch|url|push|forge)\.";
        Ok(Self::parse(&git.read_config(&[], keys).await?))
    }

    /// Parses the output of `git config --null --get-regexp`.
    #[must_use]
    pub fn parse(output: &[u8]) -> Self {
        let mut config = Self::default();
        let mut remotes: Vec<Remote> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut instead: Vec<(String, String)> = Vec::new();
        for (key, value) in entries(output) {
            // Git ignores case only in the first and the last part of a key.
            let Some((section, rest)) = key.split_once('.') else {
                continue;
            };
            let (name, field) = match rest.rsplit_once('.') {
                Some((name, field)) => (Some(name), field),
                None => (None, rest),
            };
            match (section, name, field) {
                ("remote", None, "pushdefault") => config.push_default_remote = Some(value),
                ("remote", Some(name), "url" | "gh-resolved") => {
                    let at = *places.entry(name.to_owned()).or_insert_with(|| {
                        remotes.push(Remote {
                            name: name.to_owned(),
                            url: String::new(),
                            resolved: None,
                        });
                        remotes.len() - 1
                    });
                    if let Some(remote) = remotes.get_mut(at) {
                        match field {
                            // If a remote has several URLs, git fetches from the first one.
                            "url" if remote.url.is_empty() => remote.url = value,
                            "gh-resolved" => remote.resolved = Some(value),
                            _ => {}
                        }
                    }
                }
                ("url", Some(base), "insteadof") => instead.push((value, base.to_owned())),
                ("push", None, "default") => {
                    config.push_default = Some(value.to_ascii_lowercase());
                }
                ("forge", None, "repo") => config.forge_repo = Some(value),
                ("branch", Some(name), _) => {
                    let branch = config.branches.entry(name.to_owned()).or_default();
                    match field {
                        "remote" => branch.remote = Some(value),
                        "pushremote" => branch.push_remote = Some(value),
                        "merge" => branch.merge = Some(value),
                        "gh-merge-base" => branch.merge_base = Some(value),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        remotes.retain(|remote| !remote.url.is_empty());
        remotes.sort_by_key(|remote| {
            FIRST
                .iter()
                .position(|name| *name == remote.name)
                .unwrap_or(FIRST.len())
        });
        remotes.truncate(MAX_REMOTES);
        for remote in &mut remotes {
            remote.url = rewrite(&remote.url, &instead);
        }
        config.remotes = remotes;
        config
    }

    /// Returns the remote with this name.
    #[must_use]
    pub fn remote(&self, name: &str) -> Option<&Remote> {
        self.remotes.iter().find(|remote| remote.name == name)
    }

    /// Returns the settings of a branch; empty if there are none.
    #[must_use]
    pub fn branch(&self, name: &str) -> BranchConfig {
        self.branches.get(name).cloned().unwrap_or_default()
    }
}

/// Returns the keys and values of the entries. Skips an entry that is not UTF-8, because it cannot
/// belong to a forge or to the branch of a pull request: their names are UTF-8.
fn entries(output: &[u8]) -> impl Iterator<Item = (String, String)> {
    output.split(|b| *b == 0).filter_map(|entry| {
        let text = std::str::from_utf8(entry).ok()?;
        // A key without a value has no newline and means `true`.
        let (key, value) = text.split_once('\n').unwrap_or((text, "true"));
        (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    })
}

/// Applies `url.<base>.insteadOf`: the longest matching prefix wins.
///
/// Source: git-config(1).
fn rewrite(url: &str, instead: &[(String, String)]) -> String {
    instead
        .iter()
        .filter(|(prefix, _)| !prefix.is_empty())
        .filter_map(|(prefix, base)| Some((prefix.len(), base, url.strip_prefix(prefix.as_str())?)))
        .max_by_key(|(length, ..)| *length)
        .map_or_else(|| url.to_owned(), |(_, base, rest)| format!("{base}{rest}"))
}

/// Returns the directory that identifies the repository: the main work tree, or the git directory
/// if it is not called `.git` (a bare repository or a separate git directory). Respects `GIT_DIR`.
///
/// # Errors
/// `not_found` outside of a repository; `git` if git refuses the repository.
pub async fn root(git: &Git) -> Result<PathBuf> {
    let output = git
        .run(["rev-parse", "--path-format=absolute", "--git-common-dir"])
        .await?;
    if output.status == 0 {
        let common = path_of(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout));
        return Ok(root_of(common));
    }
    if output
        .stderr
        .windows(20)
        .any(|w| w == b"not a git repository")
    {
        return Err(Error::not_found(
            Noun::Repo,
            format!("{} is not in a git repository", shown_dir(git)),
        )
        .with_hint(
            Hint::new("go to a repository, or name one, such as owner/repo")
                .with_action(Action::again(&[(Param::Repo, Arg::Choose)])),
        ));
    }
    Err(output.error("rev-parse"))
}

/// Returns the directory that identifies the repository whose work trees share the git directory
/// `common`.
pub(crate) fn root_of(common: PathBuf) -> PathBuf {
    let is_dot_git = common.file_name().is_some_and(|name| name == ".git");
    match common.parent() {
        Some(work_tree) if is_dot_git => work_tree.to_owned(),
        _ => common,
    }
}

fn shown_dir(git: &Git) -> String {
    path::absolute(git.dir())
        .unwrap_or_else(|_| git.dir().to_owned())
        .display()
        .to_string()
}

/// Converts git's output to a path. On systems where paths are text, invalid UTF-8 is replaced.
#[cfg(unix)]
#[must_use]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Converts git's output to a path. On systems where paths are text, invalid UTF-8 is replaced.
#[cfg(not(unix))]
#[must_use]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(entries: &[(&str, &str)]) -> GitConfig {
        let mut output = Vec::new();
        for (key, value) in entries {
            output.extend_from_slice(format!("{key}\n{value}\0").as_bytes());
        }
        GitConfig::parse(&output)
    }

    #[test]
    fn remotes_are_sorted_and_need_a_url() {
        let config = parse(&[
            ("remote.zeta.url", "z"),
            ("remote.origin.url", "o"),
            ("remote.origin.url", "second"),
            ("remote.alpha.url", "a"),
            ("remote.nourl.fetch", "+refs/*:refs/*"),
            ("remote.github.url", "g"),
            ("remote.upstream.url", "u"),
            ("remote.upstream.gh-resolved", "base"),
            ("remote.my.dotted.name.url", "d"),
        ]);
        let names: Vec<_> = config.remotes.iter().map(|r| (&*r.name, &*r.url)).collect();
        assert_eq!(
            names,
            [
                ("upstream", "u"),
                ("github", "g"),
                ("origin", "o"),
                ("zeta", "z"),
                ("alpha", "a"),
                ("my.dotted.name", "d"),
            ]
        );
        assert_eq!(
            config.remote("upstream").unwrap().resolved.as_deref(),
            Some("base")
        );
    }

    #[test]
    fn remotes_above_limit_are_left_out() {
        let mut output = String::new();
        for n in 0..3 * MAX_REMOTES {
            output.push_str(&format!("remote.r{n}.url\nu\0"));
        }
        output.push_str("remote.origin.url\no\0");
        let config = GitConfig::parse(output.as_bytes());
        assert_eq!(config.remotes.len(), MAX_REMOTES);
        assert_eq!(
            (&*config.remotes[0].name, &*config.remotes[1].name),
            ("origin", "r0")
        );
    }

    #[tokio::test]
    async fn oversized_configuration_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        assert!(GitConfig::read(&git).await.is_ok());
        let url = "x".repeat(5 << 20);
        let config = format!("[remote \"origin\"]\n\turl = {url}\n");
        std::fs::write(dir.path().join(".git/config"), config).unwrap();
        let e = GitConfig::read(&git).await.unwrap_err();
        assert_eq!(e.code(), "config", "{e:?}");
        assert!(git.settings(r"^remote\.").await.is_err());
    }

    #[test]
    fn longest_rewritten_prefix_wins() {
        let config = parse(&[
            ("url.https://github.com/.insteadof", "gh:"),
            ("url.git@work.example:.insteadof", "gh:work/"),
            ("remote.a.url", "gh:o/r"),
            ("remote.b.url", "gh:work/r"),
            ("remote.c.url", "https://other.example/x"),
        ]);
        let urls: Vec<_> = config.remotes.iter().map(|r| &*r.url).collect();
        assert_eq!(
            urls,
            [
                "https://github.com/o/r",
                "git@work.example:r",
                "https://other.example/x"
            ]
        );
    }

    #[test]
    fn odd_config_values_are_parsed() {
        let config = GitConfig::parse(
            b"remote.a.url\nline\nbreak\0push.default\0forge.repo\nlocal:.\0\xff\nx\0branch.x.y.merge\nrefs/heads/z\0",
        );
        assert_eq!(config.remotes[0].url, "line\nbreak");
        assert_eq!(config.push_default.as_deref(), Some("true"));
        assert_eq!(config.forge_repo.as_deref(), Some("local:."));
        assert_eq!(config.branch("x.y").merge.as_deref(), Some("refs/heads/z"));
        assert_eq!(config.branch("none"), BranchConfig::default());
    }

    #[tokio::test]
    async fn root_of_each_repository_kind_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let git = Git::at(&top).with_env("GIT_CEILING_DIRECTORIES", &top);
        assert!(root(&git).await.unwrap_err().is_not_found());
        git.run_ok(["init", "-q", "work\nline"]).await.unwrap();
        git.run_ok(["init", "-q", "--bare", "bare.git"])
            .await
            .unwrap();
        let work = top.join("work\nline");
        std::fs::create_dir(work.join("sub")).unwrap();
        assert_eq!(root(&Git::at(work.join("sub"))).await.unwrap(), work);
        assert_eq!(root(&Git::at(work.join(".git"))).await.unwrap(), work);
        let elsewhere = Git::at(&top).with_env("GIT_DIR", work.join(".git"));
        assert_eq!(root(&elsewhere).await.unwrap(), work);
        let bare = Git::at(top.join("bare.git"));
        let refused = root(&bare).await.unwrap_err();
        assert!(
            refused.message().contains("safe.bareRepository"),
            "{refused}"
        );
        assert_eq!(
            root(&bare.opening_bare()).await.unwrap(),
            top.join("bare.git")
        );
    }
}
