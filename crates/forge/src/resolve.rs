//! Determines the repository of a command without the flag `-R`.

use std::path::{Component, Path, PathBuf};

use forge_core::{
    Error, ErrorKind, Hint, Locator, Repo, RepoId, RepoPath, Result,
    locator::{self, Hosts, ParseLocatorError},
    model::LocalClone,
};
use forge_git::{Remote, WorkingDir, blocking, command_line};

use crate::{Forges, config::Var, registry::KEEP_HERE};

pub(crate) async fn base_repo(forges: &Forges, place: &WorkingDir) -> Result<RepoId> {
    let hosts = forges.hosts();
    if let Some((var, text)) = forges.config().env().first(&[Var::ForgeRepo, Var::GhRepo]) {
        return repository(&text, hosts).map_err(|e| name_source(e, var.name()));
    }
    let (git, config) = (place.git(), place.config().await?);
    if let Some(text) = &config.forge_repo {
        return repository(text, hosts).map_err(|e| name_source(e, "git config forge.repo"));
    }
    let mut candidates = Vec::with_capacity(config.remotes.len());
    for remote in &config.remotes {
        candidates.push(RemoteCandidate::of(remote, place, forges).await);
    }
    if candidates.is_empty() {
        // This call fails outside of a repository. The `git config` call above does not fail there,
        // because it also reads the user's file.
        return Ok(RepoId::local(forge_git::root(git).await?));
    }
    choose(&candidates, hosts)
}

/// Returns true if the environment or git's configuration names the repository of `base_repo`: a
/// variable, `forge.repo`, or `gh repo set-default`.
pub(crate) async fn has_chosen_base(forges: &Forges, place: &WorkingDir) -> Result<bool> {
    let variables = [Var::ForgeRepo, Var::GhRepo];
    if forges.config().env().first(&variables).is_some() {
        return Ok(true);
    }
    let config = place.config().await?;
    let is_resolved = config.remotes.iter().any(|r| r.resolved.is_some());
    Ok(config.forge_repo.is_some() || is_resolved)
}

pub(crate) async fn clone_of(
    forges: &Forges,
    place: &WorkingDir,
    repo: &Repo,
) -> Option<LocalClone> {
    let config = place.config().await.ok()?;
    let mut remotes: Vec<(&str, RepoId)> = Vec::new();
    for remote in &config.remotes {
        if let Ok(id) = remote_repo(forges, place, &remote.url).await {
            remotes.push((remote.name.as_str(), id));
        }
    }
    let of = |ids: &[RepoId]| {
        let keys: Vec<_> = ids.iter().map(RepoId::comparison_key).collect();
        let found = remotes
            .iter()
            .find(|(_, id)| keys.contains(&id.comparison_key()))?;
        let git = place.git();
        Some(LocalClone::new(git.dir(), found.0, git.trust()))
    };
    if let Some(found) = of(std::slice::from_ref(repo.id())) {
        return Some(found);
    }
    let unnamed = matches!(repo.id().path, RepoPath::Did(_) | RepoPath::Record(_));
    if !unnamed || remotes.is_empty() {
        return None;
    }
    let info = repo.info().await.ok()?;
    of(&[&[info.id][..], &info.aliases].concat())
}

/// Returns true if `place` is in `repo` itself, or in a clone of `repo`.
pub(crate) async fn belongs_to(forges: &Forges, place: &WorkingDir, repo: &Repo) -> bool {
    is_in_repository(place, repo).await || clone_of(forges, place, repo).await.is_some()
}

/// Returns true if the `.forge.toml` at `place` may configure work on `repo`.
///
/// Like [`belongs_to`], but a remote on this machine counts only if its URL is the path of `repo`.
/// On the way of another path, the owner of a link or of a `.git` file could lead it to a
/// repository of the user.
pub(crate) async fn may_configure(forges: &Forges, place: &WorkingDir, repo: &Repo) -> bool {
    if is_in_repository(place, repo).await {
        return true;
    }
    let RepoPath::Dir(dir) = &repo.id().path else {
        return clone_of(forges, place, repo).await.is_some();
    };
    let Ok(config) = place.config().await else {
        return false;
    };
    for remote in &config.remotes {
        if let Ok(id) = parse_remote(forges, &remote.url).await
            && let RepoPath::Dir(url) = &id.path
            && let url = without_parents(url)
            // The comparison ignores a slash at the end.
            && (url == *dir || url == dir.join(".git"))
        {
            return true;
        }
    }
    false
}

/// Removes `..` from an absolute path, without a look at the links on the way: `git clone ../r`
/// stores `/srv/w/../r`.
fn without_parents(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            Component::ParentDir if clean.has_root() => {}
            part => clean.push(part),
        }
    }
    clean
}

async fn is_in_repository(place: &WorkingDir, repo: &Repo) -> bool {
    let root = forge_git::root(place.git()).await.ok();
    let root = root.and_then(|root| root.canonicalize().ok());
    root.is_some_and(|root| RepoId::local(root) == *repo.id())
}

/// Returns the repository at the URL of a remote of `place`. A repository on this machine gets the
/// directory by which the repository is known once it is open, so the two ids can be compared.
pub(crate) async fn remote_repo(
    forges: &Forges,
    place: &WorkingDir,
    url: &str,
) -> Result<RepoId, ParseLocatorError> {
    let mut repo = parse_remote(forges, url).await?;
    if let RepoPath::Dir(dir) = &mut repo.path {
        if dir.is_relative()
            && let Some(top) = place.top().await
        {
            *dir = top.join(&*dir);
        }
        let named = dir.clone();
        if named.is_absolute()
            && let Ok(Some(root)) = blocking(move || Ok(forge_git::root_at(&named))).await
        {
            *dir = root;
        }
    }
    Ok(repo)
}

async fn parse_remote(forges: &Forges, url: &str) -> Result<RepoId, ParseLocatorError> {
    let hosts = forges.hosts();
    let unknown = match locator::parse_remote(url, hosts) {
        Err(ParseLocatorError::UnknownHost { host }) if is_ssh(url) => host,
        parsed => return parsed,
    };
    // The port is cut off, because an alias in `ssh_config` has no port.
    let name = unknown.split(':').next().unwrap_or_default();
    let Some(real) = forges.ssh_host(name).await else {
        return Err(ParseLocatorError::UnknownHost { host: unknown });
    };
    if hosts.kind_of(&real).is_none() {
        return Err(ParseLocatorError::UnknownHost { host: real });
    }
    locator::parse_remote(url, &hosts.clone().with_alias(name, &real))
}

/// Returns true if git uses ssh for a remote. In this case the host may be an alias in
/// `ssh_config`.
fn is_ssh(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => ["ssh", "git+ssh", "ssh+git"]
            .iter()
            .any(|s| s.eq_ignore_ascii_case(scheme)),
        None => true,
    }
}

fn repository(text: &str, hosts: &Hosts) -> Result<RepoId> {
    match locator::parse(text, hosts)?.locator {
        Locator::Repo(repo) => Ok(repo),
        _ => Err(Error::invalid("repo", "the value is not a repository")
            .with_hint("set it to a repository without a number, such as owner/repo")),
    }
}

/// Adds `place`, the variable or setting with the malformed repository, to the error `e`.
fn name_source(e: Error, place: &str) -> Error {
    let hint = e.hint().cloned().unwrap_or(Hint::new("or unset it"));
    Error::invalid("repo", format!("{place}: {e}"))
        .with_hint(hint.map_text(|text| format!("correct {place}; {text}")))
        .with_source(e)
}

/// Maximum number of remotes that an error names.
const MAX_NAMED_REMOTES: usize = 5;

/// A git remote, and what its URL refers to.
struct RemoteCandidate<'a> {
    remote: &'a Remote,
    meaning: RemoteMeaning,
}

enum RemoteMeaning {
    /// A repository at a known host, or an existing repository on this machine.
    Repo(RepoId),
    /// A host that the configuration does not contain.
    UnknownHost(String),
    /// Not a repository of a forge. The text is the reason.
    Unusable(String),
}

impl<'a> RemoteCandidate<'a> {
    async fn of(remote: &'a Remote, place: &WorkingDir, forges: &Forges) -> Self {
        let meaning = match remote_repo(forges, place, &remote.url).await {
            Ok(RepoId {
                path: RepoPath::Dir(dir),
                ..
            }) if !is_repository(&dir) => {
                RemoteMeaning::Unusable("there is no repository at its path".to_owned())
            }
            Ok(repo) => RemoteMeaning::Repo(repo),
            Err(ParseLocatorError::UnknownHost { host }) => RemoteMeaning::UnknownHost(host),
            Err(e) => RemoteMeaning::Unusable(e.to_string()),
        };
        Self { remote, meaning }
    }
}

/// Returns true if git would accept a directory as a repository: a work tree, or a git directory.
fn is_repository(dir: &Path) -> bool {
    dir.join(".git").exists() || (dir.join("HEAD").is_file() && dir.join("objects").is_dir())
}

fn choose(candidates: &[RemoteCandidate<'_>], hosts: &Hosts) -> Result<RepoId> {
    for candidate in candidates {
        match (candidate.remote.resolved.as_deref(), &candidate.meaning) {
            (Some("base"), RemoteMeaning::Repo(repo)) => return Ok(repo.clone()),
            // The value is from `gh repo set-default`. If no remote belongs to the chosen
            // repository, gh writes `owner/repo` or `HOST/owner/repo` instead of `base`.
            (Some(text), RemoteMeaning::Repo(beside)) if text != "base" => {
                // `owner/repo` refers to the host of the remote. If the remote is a local path, it
                // has no host, and the default host applies.
                let hosts = match beside.host.as_str() {
                    "" => hosts.clone(),
                    host => hosts.clone().with_default_host(host),
                };
                return repository(text, &hosts).map_err(|e| {
                    name_source(
                        e,
                        &command_line([
                            "git",
                            "config",
                            &format!("remote.{}.gh-resolved", candidate.remote.name),
                        ]),
                    )
                });
            }
            _ => {}
        }
    }
    let first = candidates.iter().find_map(|c| match &c.meaning {
        RemoteMeaning::Repo(repo) => Some(repo.clone()),
        _ => None,
    });
    first.ok_or_else(|| no_known_remote(candidates))
}

fn no_known_remote(candidates: &[RemoteCandidate<'_>]) -> Error {
    let mut unknown = None;
    let mut list = Vec::new();
    for candidate in candidates {
        let name = &candidate.remote.name;
        match &candidate.meaning {
            RemoteMeaning::UnknownHost(host) => {
                unknown.get_or_insert(host);
                list.push(format!("{name} is at {host}"));
            }
            RemoteMeaning::Unusable(why) => list.push(format!("{name}: {why}")),
            RemoteMeaning::Repo(_) => {}
        }
    }
    let more = list.len().saturating_sub(MAX_NAMED_REMOTES);
    if more > 0 {
        list.truncate(MAX_NAMED_REMOTES);
        list.push(format!("and {more} more"));
    }
    let hint = match unknown {
        Some(host) => ParseLocatorError::UnknownHost { host: host.clone() }.hint(),
        None => Hint::new(
            "name the repository; or pass 'local:.' to use local pull requests, which are stored \
             in this clone",
        )
        .with_action(KEEP_HERE),
    };
    Error::new(
        ErrorKind::Config,
        format!(
            "no remote of this repository is at a known host ({})",
            list.join("; ")
        ),
    )
    .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use forge_core::{Action, Arg, Call, Param, Trust};
    use forge_git::Git;

    use crate::{Config, config::Env};

    struct Repository {
        dir: tempfile::TempDir,
        git: Git,
    }

    impl Repository {
        async fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::at(dir.path());
            git.run_ok(["init", "-q"]).await.unwrap();
            Self { dir, git }
        }

        fn root(&self) -> PathBuf {
            self.dir.path().canonicalize().unwrap()
        }

        async fn set(&self, key: &str, value: &str) -> &Self {
            self.git.run_ok(["config", key, value]).await.unwrap();
            self
        }

        async fn base(&self, vars: &[(&str, &str)]) -> Result<RepoId> {
            let env = Env::fixed(vars.iter().copied());
            Forges::from_parts(Config::without_files(env))
                .base_repo(&WorkingDir::at(self.dir.path(), Trust::Person))
                .await
        }

        async fn text(&self) -> String {
            self.base(&[]).await.unwrap().to_string()
        }
    }

    #[tokio::test]
    async fn repository_without_remotes_is_base_repo() {
        let place = Repository::new().await;
        assert_eq!(place.base(&[]).await.unwrap(), RepoId::local(place.root()));
    }

    #[tokio::test]
    async fn remote_preference_follows_gh() {
        let place = Repository::new().await;
        place
            .set("remote.zeta.url", "https://github.com/zeta/r")
            .await;
        assert_eq!(place.text().await, "github.com/zeta/r");
        place
            .set("remote.origin.url", "git@github.com:origin/r.git")
            .await;
        assert_eq!(place.text().await, "github.com/origin/r");
        place
            .set(
                "remote.upstream.url",
                "ssh://git@unknown.example/upstream/r",
            )
            .await;
        assert_eq!(place.text().await, "github.com/origin/r");
        place
            .set("remote.github.url", "https://github.com/github/r")
            .await;
        assert_eq!(place.text().await, "github.com/github/r");
        place
            .set("remote.upstream.url", "https://github.com/upstream/r")
            .await;
        assert_eq!(place.text().await, "github.com/upstream/r");
        place.set("remote.zeta.gh-resolved", "base").await;
        assert_eq!(place.text().await, "github.com/zeta/r");
        place.set("remote.zeta.gh-resolved", "chosen/one").await;
        assert_eq!(place.text().await, "github.com/chosen/one");
        place.set("forge.repo", "tangled.org/@a.example/r").await;
        assert!(
            place.text().await.contains("tangled"),
            "{}",
            place.text().await
        );
        let env = [("GH_REPO", "gh/r"), ("FORGE_REPO", "forge/r")];
        let repo = |id: RepoId| id.to_string();
        assert_eq!(
            place.base(&env[..1]).await.map(repo).unwrap(),
            "github.com/gh/r"
        );
        assert_eq!(
            place.base(&env).await.map(repo).unwrap(),
            "github.com/forge/r"
        );
    }

    #[tokio::test]
    async fn unknown_hosts_are_named_with_recovery() {
        let place = Repository::new().await;
        place
            .set("remote.origin.url", "https://token@git.example.org/o/r")
            .await;
        place.set("remote.gone.url", "/nonexistent/r").await;
        let e = place.base(&[]).await.unwrap_err();
        assert_eq!(e.code(), "config");
        assert!(e.message().contains("origin is at git.example.org"), "{e}");
        assert!(
            e.message()
                .contains("gone: there is no repository at its path"),
            "{e}"
        );
        assert!(!e.message().contains("token"), "{e}");
        let hint = e.hint().unwrap();
        let login = Action::new(Call::Login)
            .with(Param::Host, "git.example.org")
            .with(Param::Kind, "github");
        assert_eq!(hint.action(), Some(&login));
        assert!(hint.text().contains("'local:.'"), "{hint}");
    }

    #[tokio::test]
    async fn error_names_five_of_many_remotes() {
        let place = Repository::new().await;
        let remote = |n: u32| format!("[remote \"r{n}\"]\n\turl = https://h{n}.example/o/r\n");
        let config: String = (0..20).map(remote).collect();
        std::fs::write(place.root().join(".git/config"), config).unwrap();
        let e = place.base(&[]).await.unwrap_err();
        assert!(
            e.message().ends_with("r4 is at h4.example; and 15 more)"),
            "{e}"
        );
    }

    #[tokio::test]
    async fn remote_on_this_machine_is_local() {
        let place = Repository::new().await;
        let bare = tempfile::tempdir().unwrap();
        let bare_path = bare.path().canonicalize().unwrap();
        Git::at(&bare_path)
            .run_ok(["init", "-q", "--bare"])
            .await
            .unwrap();
        let url = format!("file://{}", bare_path.display());
        place.set("remote.origin.url", &url).await;
        assert_eq!(place.base(&[]).await.unwrap(), RepoId::local(&bare_path));
        std::fs::create_dir(place.root().join("near")).unwrap();
        Git::at(place.root().join("near"))
            .run_ok(["init", "-q"])
            .await
            .unwrap();
        place.set("remote.upstream.url", "./near").await;
        assert_eq!(
            place.base(&[]).await.unwrap(),
            RepoId::local(place.root().join("./near"))
        );
    }

    #[tokio::test]
    async fn invalid_repo_variable_or_setting_is_named() {
        let place = Repository::new().await;
        let e = place.base(&[("GH_REPO", "nonsense")]).await.unwrap_err();
        assert!(e.message().starts_with("GH_REPO: "), "{e}");
        let e = place.base(&[("FORGE_REPO", "o/r#7")]).await.unwrap_err();
        assert_eq!(e.message(), "FORGE_REPO: the value is not a repository");
        place.set("forge.repo", "x").await;
        let e = place.base(&[]).await.unwrap_err();
        assert!(e.message().starts_with("git config forge.repo: "), "{e}");
    }

    #[test]
    fn ssh_aliases_apply_only_to_ssh_urls() {
        for url in [
            "git@mine:o/r",
            "mine:o/r",
            "ssh://git@mine/o/r",
            "GIT+SSH://mine/o/r",
        ] {
            assert!(is_ssh(url), "{url}");
        }
        for url in ["https://mine.example/o/r", "git://mine/o/r", "file:///o/r"] {
            assert!(!is_ssh(url), "{url}");
        }
    }

    #[tokio::test]
    async fn base_repo_outside_repository_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let forges = Forges::from_parts(Config::without_files(Env::fixed([("HOME", "/h")])));
        let e = forges
            .base_repo(&WorkingDir::at(dir.path(), Trust::Person))
            .await
            .unwrap_err();
        assert!(e.is_not_found(), "{e:?}");
        let again = e.hint().and_then(Hint::action).unwrap();
        assert_eq!(again, &Action::again(&[(Param::Repo, Arg::Choose)]));
    }
}
