//! Reads the remotes and branches in the configuration of a repository with one process.

use std::{
    collections::{BTreeMap, HashMap},
    path::{self, PathBuf},
};

use forge_core::{Action, Arg, Error, ErrorKind, Hint, Noun, Param, Result};

use crate::{Git, Version, command_line};

/// A remote with a URL for fetches or for pushes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Name of the remote.
    pub name: String,
    /// URL to fetch from, or else the first one to push to, after `url.<base>.insteadOf` was applied.
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
    /// `branch.<name>.merge`: a full ref at the remote. If there are several, the first one, which
    /// is git's `@{upstream}`.
    pub merge: Option<String>,
    /// True if `branch.<name>.merge` has several values. Git then pushes to no upstream branch.
    pub has_several_merges: bool,
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
    /// `push.default`.
    pub push_default: Option<String>,
    /// `forge.repo`: the default repository of commands.
    pub forge_repo: Option<String>,
}

/// Maximum number of remotes. It limits the work, because each remote is compared with each
/// `url.<base>.insteadOf`.
const MAX_REMOTES: usize = 1000;

/// Names of the preferred remotes, as in gh.
const FIRST: [&str; 3] = ["upstream", "github", "origin"];

/// First version of git in which an empty `remote.<name>.url` removes the URLs before it. Older
/// versions take it for the URL of an empty path.
const EMPTY_URL_RESETS: Version = Version {
    major: 2,
    minor: 46,
};

/// Values of `push.default` that git accepts. Git compares them by case.
const PUSH_DEFAULTS: [&str; 6] = [
    "nothing", "matching", "simple", "upstream", "tracking", "current",
];

impl GitConfig {
    /// Reads the configuration. It is empty for a repository without such settings.
    ///
    /// # Errors
    /// The errors of [`Git::read_config`]; `config` for a value that git refuses, and for an empty
    /// `remote.<name>.url` with a git before 2.46.
    pub async fn read(git: &Git) -> Result<Self> {
        let keys = r"^(remote|branch|url|push|forge)\.";
        let output = git.read_config(&[], keys).await?;
        if let Some(key) = find_empty_url(&output)
            && git.version().await? < EMPTY_URL_RESETS
        {
            let why = "is empty, which versions of git before 2.46 read as the URL of a path";
            return Err(refused_setting(&key, why));
        }
        Self::parse(&output)
    }

    /// Parses the output of `git config --null --get-regexp`.
    ///
    /// # Errors
    /// `config` for a value that git refuses: a key without a value, and an unknown `push.default`.
    pub fn parse(output: &[u8]) -> Result<Self> {
        let mut config = Self::default();
        let mut urls = RemoteUrls::default();
        for (key, value) in entries(output) {
            let Some((section, name, field)) = split_key(key) else {
                continue;
            };
            let required = || value.ok_or_else(|| refused_setting(&lossy(key), "has no value"));
            match (section, name, field) {
                (b"url", Some(base), b"insteadof") => urls.add_rewrite(base, required()?),
                (b"remote", Some(name), b"url") => {
                    add_url(&mut urls.remote(name).urls, required()?);
                }
                (b"remote", Some(name), b"pushurl") => {
                    add_url(&mut urls.remote(name).push_urls, required()?);
                }
                (b"remote", Some(name), b"gh-resolved") => {
                    urls.remote(name).resolved = Some(lossy(required()?));
                }
                (b"remote", None, b"pushdefault") => {
                    config.push_default_remote = Some(lossy(required()?));
                }
                (b"push", None, b"default") => {
                    let value = lossy(required()?);
                    if !PUSH_DEFAULTS.contains(&value.as_str()) {
                        return Err(refused_setting("push.default", "has an unknown value"));
                    }
                    config.push_default = Some(value);
                }
                (b"forge", None, b"repo") => config.forge_repo = Some(lossy(required()?)),
                (
                    b"branch",
                    Some(name),
                    b"remote" | b"pushremote" | b"merge" | b"gh-merge-base",
                ) => {
                    // The name of a branch with a pull request is UTF-8.
                    if let Ok(name) = std::str::from_utf8(name) {
                        let branch = config.branches.entry(name.to_owned()).or_default();
                        branch.set(field, lossy(required()?));
                    }
                }
                _ => {}
            }
        }
        config.remotes = urls.resolve();
        Ok(config)
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

impl BranchConfig {
    fn set(&mut self, field: &[u8], value: String) {
        match field {
            b"remote" => self.remote = Some(value),
            b"pushremote" => self.push_remote = Some(value),
            b"gh-merge-base" => self.merge_base = Some(value),
            _ if self.merge.is_none() => self.merge = Some(value),
            _ => self.has_several_merges = true,
        }
    }
}

/// URLs of the remotes, and the rules that rewrite them. Values are bytes, because git compares
/// bytes.
#[derive(Default)]
struct RemoteUrls {
    remotes: HashMap<Vec<u8>, ConfiguredRemote>,
    rewrites: Vec<Rewrite>,
}

#[derive(Default)]
struct ConfiguredRemote {
    /// Place of the remote in the order of the configuration.
    order: usize,
    urls: Vec<Vec<u8>>,
    push_urls: Vec<Vec<u8>>,
    resolved: Option<String>,
}

impl ConfiguredRemote {
    /// Returns the URL from which git fetches: the first one. Without one, git pushes to the first
    /// `pushurl`.
    fn first_url(&self) -> Option<&Vec<u8>> {
        self.urls.first().or_else(|| self.push_urls.first())
    }
}

/// Adds a URL to a list. An empty value removes the URLs before it.
fn add_url(urls: &mut Vec<Vec<u8>>, url: &[u8]) {
    if url.is_empty() {
        urls.clear();
    } else {
        urls.push(url.to_owned());
    }
}

/// The settings `url.<base>.insteadOf` of one base.
struct Rewrite {
    base: Vec<u8>,
    prefixes: Vec<Vec<u8>>,
}

impl RemoteUrls {
    fn remote(&mut self, name: &[u8]) -> &mut ConfiguredRemote {
        let order = self.remotes.len();
        let new = || ConfiguredRemote {
            order,
            ..ConfiguredRemote::default()
        };
        self.remotes.entry(name.to_owned()).or_insert_with(new)
    }

    fn add_rewrite(&mut self, base: &[u8], prefix: &[u8]) {
        let prefix = prefix.to_owned();
        match self
            .rewrites
            .iter_mut()
            .find(|rewrite| rewrite.base == base)
        {
            Some(rewrite) => rewrite.prefixes.push(prefix),
            None => self.rewrites.push(Rewrite {
                base: base.to_owned(),
                prefixes: vec![prefix],
            }),
        }
    }

    /// Returns the remotes that have a URL, each with one URL. Leaves out names and URLs that are not
    /// UTF-8: forges have no such names.
    fn resolve(self) -> Vec<Remote> {
        let rank = |name: &[u8]| {
            let first = FIRST.iter().position(|first| first.as_bytes() == name);
            first.unwrap_or(FIRST.len())
        };
        let mut remotes: Vec<_> = self.remotes.into_iter().collect();
        remotes.retain(|(_, remote)| remote.first_url().is_some());
        remotes.sort_by_key(|(name, remote)| (rank(name), remote.order));
        remotes.truncate(MAX_REMOTES);
        let resolve = |(name, remote): (Vec<u8>, ConfiguredRemote)| {
            let url = rewrite(remote.first_url()?, &self.rewrites);
            Some(Remote {
                name: String::from_utf8(name).ok()?,
                url: String::from_utf8(url).ok()?,
                resolved: remote.resolved,
            })
        };
        remotes.into_iter().filter_map(resolve).collect()
    }
}

/// Returns the keys and values of the entries. A key without a value, which means `true`, has no
/// newline.
fn entries(output: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    output
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let mut parts = entry.splitn(2, |byte| *byte == b'\n');
            (parts.next().unwrap_or_default(), parts.next())
        })
}

/// Section, subsection and last part of a key.
type KeyParts<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

/// Splits a key into its parts. Git ignores case only in the first and
/// the last one, and prints these in lower case.
fn split_key(key: &[u8]) -> Option<KeyParts<'_>> {
    let first = key.iter().position(|byte| *byte == b'.')?;
    let last = key.iter().rposition(|byte| *byte == b'.')?;
    let subsection = key.get(first + 1..last);
    Some((key.get(..first)?, subsection, key.get(last + 1..)?))
}

/// Returns the key of an empty `remote.<name>.url`.
fn find_empty_url(output: &[u8]) -> Option<String> {
    let is_empty_url = |(key, value): &(&[u8], Option<&[u8]>)| {
        let parts = split_key(key);
        matches!(parts, Some((b"remote", Some(_), b"url"))) && value.is_some_and(<[u8]>::is_empty)
    };
    entries(output)
        .find(is_empty_url)
        .map(|(key, _)| lossy(key))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the error for a setting that git refuses.
fn refused_setting(key: &str, why: &str) -> Error {
    let shown = forge_core::text::one_line(key);
    let message = format!("cannot read git's configuration: {shown} {why}");
    let look = command_line(["git", "config", "--show-origin", "--get-all", key]);
    Error::new(ErrorKind::Config, message).with_hint(format!(
        "look at it with `{look}`, and correct or remove it"
    ))
}

/// Applies `url.<base>.insteadOf`: the longest matching prefix wins, and among equal ones the first
/// base. An empty prefix matches every URL.
///
/// Source: `alias_url` in git's `remote.c`.
fn rewrite(url: &[u8], rewrites: &[Rewrite]) -> Vec<u8> {
    let mut longest = 0;
    let mut rewritten = None;
    for rewrite in rewrites {
        for prefix in &rewrite.prefixes {
            let is_longer = rewritten.is_none() || longest < prefix.len();
            if is_longer && let Some(rest) = url.strip_prefix(prefix.as_slice()) {
                longest = prefix.len();
                rewritten = Some([&rewrite.base, rest].concat());
            }
        }
    }
    rewritten.unwrap_or_else(|| url.to_owned())
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
        GitConfig::parse(&output).unwrap()
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
        let config = GitConfig::parse(output.as_bytes()).unwrap();
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
    fn push_url_counts_without_other_url() {
        let config = parse(&[
            ("remote.a.pushurl", "gone"),
            ("remote.a.pushurl", ""),
            ("remote.a.pushurl", "gh:o/r"),
            ("remote.a.pushurl", "second"),
            ("remote.b.pushurl", "push"),
            ("remote.b.url", "fetch"),
            ("remote.c.pushurl", "x"),
            ("remote.c.pushurl", ""),
            ("url.https://github.com/.insteadof", "gh:"),
        ]);
        let urls: Vec<_> = config.remotes.iter().map(|r| (&*r.name, &*r.url)).collect();
        assert_eq!(urls, [("a", "https://github.com/o/r"), ("b", "fetch")]);
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
            b"remote.a.url\nline\nbreak\0remote.b.url\n\xff\0forge.repo\nlocal:.\0\xff\nx\0branch.x.y.merge\nrefs/heads/z\0branch.x.y.rebase\0",
        )
        .unwrap();
        let urls: Vec<_> = config.remotes.iter().map(|r| &*r.url).collect();
        assert_eq!(urls, ["line\nbreak"]);
        assert_eq!(config.forge_repo.as_deref(), Some("local:."));
        assert_eq!(config.branch("x.y").merge.as_deref(), Some("refs/heads/z"));
        assert_eq!(config.branch("none"), BranchConfig::default());
    }

    #[test]
    fn first_of_several_upstreams_counts() {
        let config = parse(&[("branch.x.merge", "refs/heads/a"), ("branch.x.merge", "")]);
        let branch = config.branch("x");
        assert_eq!(branch.merge.as_deref(), Some("refs/heads/a"));
        assert!(branch.has_several_merges);
    }

    #[tokio::test]
    async fn settings_that_git_refuses_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let path = dir.path().join(".git/config");
        let plain = std::fs::read_to_string(&path).unwrap();
        for (key, lines) in [
            ("remote.a.url", "[remote \"a\"]\n\turl\n"),
            ("url.x.insteadof", "[url \"x\"]\n\tinsteadOf\n"),
            ("remote.pushdefault", "[remote]\n\tpushDefault\n"),
            ("branch.main.merge", "[branch \"main\"]\n\tmerge\n"),
            ("push.default", "[push]\n\tdefault\n"),
            ("push.default", "[push]\n\tdefault =\n"),
            ("push.default", "[push]\n\tdefault = Upstream\n"),
        ] {
            std::fs::write(&path, format!("{plain}{lines}")).unwrap();
            let e = GitConfig::read(&git).await.unwrap_err();
            assert_eq!(e.code(), "config", "{lines}");
            assert!(e.message().contains(key), "{e}");
            assert!(e.hint().unwrap().text().contains("--get-all"), "{e:?}");
        }
    }

    /// A generator of pseudorandom numbers (xorshift), so that each run has the same cases.
    struct Dice(u64);

    impl Dice {
        fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            choices[usize::try_from(self.0 % choices.len() as u64).unwrap()]
        }
    }

    /// Returns a configuration with URLs and rewriting rules, many of them empty or ambiguous.
    fn generate_config(dice: &mut Dice) -> String {
        let mut text = String::new();
        let urls = [
            "",
            "a",
            "ab:o/r",
            "abc/r",
            "https://h.example/o/r",
            "git@h.example:o/r",
            "/srv/r",
            "../r",
            "a b",
            "x\\\\y",
        ];
        for _ in 0..12 {
            let name = dice.pick(&["origin", "upstream", "a.b", "x/y", "Origin", "é", "p", "q"]);
            let key = dice.pick(&["url", "URL", "url", "fetch", "pushurl"]);
            let value = match key {
                "fetch" => "+refs/heads/*:refs/remotes/z/*",
                _ => dice.pick(&urls),
            };
            text.push_str(&format!("[remote \"{name}\"]\n\t{key} = \"{value}\"\n"));
        }
        for _ in 0..4 {
            let base = dice.pick(&["", "https://h.example/", "git@h.example:", "/srv/", "a"]);
            let prefix = dice.pick(&["", "a", "ab:", "ab", "https://", "none", "git@h.example:o"]);
            let key = dice.pick(&["insteadOf", "insteadof", "pushInsteadOf", "other"]);
            text.push_str(&format!("[url \"{base}\"]\n\t{key} = \"{prefix}\"\n"));
        }
        text
    }

    /// Returns the names and URLs of `git remote -v`, sorted by name: the URL for fetches, or else
    /// the first one for pushes.
    async fn remotes_of_git(git: &Git) -> BTreeMap<String, String> {
        let printed = String::from_utf8(git.run_ok(["remote", "-v"]).await.unwrap()).unwrap();
        let mut urls = BTreeMap::new();
        for kind in [" (fetch)", " (push)"] {
            for line in printed.lines().filter_map(|line| line.strip_suffix(kind)) {
                let (name, url) = line.split_once('\t').unwrap();
                urls.entry(name.to_owned()).or_insert(url.to_owned());
            }
        }
        urls
    }

    #[tokio::test]
    async fn urls_of_generated_configurations_are_those_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        if git.version().await.unwrap() < EMPTY_URL_RESETS {
            return;
        }
        let path = dir.path().join(".git/config");
        let plain = std::fs::read_to_string(&path).unwrap();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut compared = 0;
        for _ in 0..200 {
            let generated = generate_config(&mut dice);
            std::fs::write(&path, format!("{plain}{generated}")).unwrap();
            let config = GitConfig::read(&git).await.unwrap();
            let of_git = remotes_of_git(&git).await;
            for remote in &config.remotes {
                compared += 1;
                assert_eq!(of_git.get(&remote.name), Some(&remote.url), "{generated}");
            }
            // Git lists a remote without a URL by its name, with the name as the URL.
            let other = of_git.len() - config.remotes.len();
            let without_url = generated.matches("[remote").count();
            assert!(other < without_url, "{of_git:?}\n{generated}");
        }
        assert!(compared > 400, "{compared}");
    }

    #[tokio::test]
    async fn url_from_environment_is_rewritten_as_by_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path())
            .with_env("GIT_CONFIG_COUNT", "3")
            .with_env("GIT_CONFIG_KEY_0", "remote.origin.url")
            .with_env("GIT_CONFIG_VALUE_0", "x:o/r")
            .with_env("GIT_CONFIG_KEY_1", "url.https://h.example/.insteadOf")
            .with_env("GIT_CONFIG_VALUE_1", "x:")
            .with_env("GIT_CONFIG_KEY_2", "url.https://other.example/.insteadOf")
            .with_env("GIT_CONFIG_VALUE_2", "");
        git.run_ok(["init", "-q"]).await.unwrap();
        let config = GitConfig::read(&git).await.unwrap();
        assert_eq!(config.remotes[0].url, "https://h.example/o/r");
        let url = git.run_ok(["ls-remote", "--get-url", "origin"]).await;
        assert_eq!(url.unwrap(), b"https://h.example/o/r\n");
    }

    #[test]
    fn empty_url_is_found_for_old_git() {
        let of = |text: &str| find_empty_url(text.replace('|', "\0").as_bytes());
        assert_eq!(
            of("remote.a.url\nx|remote.b.url\n|"),
            Some("remote.b.url".to_owned())
        );
        assert_eq!(
            of("remote.a.url\nx|remote.b.pushurl\n|url.x.insteadof\n|"),
            None
        );
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
