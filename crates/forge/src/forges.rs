use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_context::{ContextReq, TicketSource};
use forge_core::{
    Action, Error, ForgeKind, Hint, Locator, Op, Policy, PrKey, Repo, RepoId, RepoPath, Result,
    locator::{self, Hosts, ParseLocatorError},
    model::LocalClone,
};
use forge_git::Place;

#[cfg(feature = "github")]
use crate::github;
#[cfg(feature = "jira")]
use crate::jira;
#[cfg(feature = "tangled")]
use crate::tangled;
use crate::{
    Config,
    auth::{Accounts, Pin},
    config::{self, Env},
    registry, resolve,
};
#[cfg(feature = "tangled")]
use forge_core::AtUri;
#[cfg(feature = "tangled")]
use forge_tangled::IngestionReport;

/// Opens a repository by any locator: `owner/repo`, a URL, a git remote, a path, `local:.`.
///
/// Configuration and accounts are those of the user who runs the process. A locator that names a
/// pull request opens its repository.
///
/// # Errors
/// `invalid_input` for a locator that cannot be understood, `config` for a broken configuration,
/// and what the backend says when it opens the repository.
pub async fn open(locator: &str) -> Result<Repo> {
    let forges = Forges::load(Path::new("."))?;
    let policy = forges.policy();
    Ok(forges.open_locator(locator, policy).await?.0)
}

/// Configuration, hosts and accounts: what is needed to open any repository.
#[derive(Clone, Debug)]
pub struct Forges {
    config: Config,
    hosts: Hosts,
    accounts: Accounts,
    cwd: PathBuf,
    wait: Option<Duration>,
    /// What ssh has said about names that no configuration of ours knows.
    ssh_hosts: Arc<Mutex<BTreeMap<String, Option<String>>>>,
    #[cfg(feature = "github")]
    github: Arc<github::Shared>,
    #[cfg(feature = "tangled")]
    tangled: Arc<tangled::Shared>,
}

impl Forges {
    /// The forges of the user who runs this process and works in `cwd`: reads `config.toml` of the
    /// user and `.forge.toml` of the repository that `cwd` is in, where they exist.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load(cwd: &Path) -> Result<Self> {
        Ok(Self {
            cwd: cwd.to_owned(),
            ..Self::from_parts(Config::load(Env::process(), cwd)?)
        })
    }

    /// The forges of a configuration that the caller has made.
    #[must_use]
    pub fn from_parts(config: Config) -> Self {
        let hosts = config.hosts();
        let accounts = Accounts::new(&config);
        Self {
            config,
            hosts,
            accounts,
            cwd: PathBuf::from("."),
            wait: None,
            ssh_hosts: Arc::default(),
            #[cfg(feature = "github")]
            github: Arc::default(),
            #[cfg(feature = "tangled")]
            tangled: Arc::default(),
        }
    }

    /// Has writes wait so long for an index to show them, whatever the configuration says; zero does
    /// not wait. For forges that show a write at once it changes nothing. It counts for what is
    /// opened afterwards.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        #[cfg(feature = "tangled")]
        {
            self.tangled = Arc::default();
        }
        self
    }

    /// How long writes wait for an index to show them.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait.unwrap_or_else(|| self.config.wait())
    }

    /// Looks where a record of the AT Protocol is, and who shows it.
    ///
    /// # Errors
    /// `invalid_input` for what is no at-uri, or a record that is no part of a pull request;
    /// `not_found`.
    #[cfg(feature = "tangled")]
    pub async fn check_ingestion(&self, uri: &str) -> Result<IngestionReport> {
        let uri = AtUri::parse(uri)?;
        self.tangled.usual_host(self)?.check_ingestion(&uri).await
    }

    /// Puts one of the user's records once more, with a change that means nothing, so that an index
    /// which has lost it looks at it again.
    ///
    /// # Errors
    /// As [`Self::check_ingestion`]; `permission_denied` for somebody else's record.
    #[cfg(feature = "tangled")]
    pub async fn put_again(&self, uri: &str) -> Result<IngestionReport> {
        let uri = AtUri::parse(uri)?;
        self.tangled.usual_host(self)?.put_again(&uri).await
    }

    /// What its GitHub hosts share.
    #[cfg(feature = "github")]
    pub(crate) fn github(&self) -> &github::Shared {
        &self.github
    }

    /// What its tangled hosts share.
    #[cfg(feature = "tangled")]
    pub(crate) fn tangled(&self) -> &tangled::Shared {
        &self.tangled
    }

    /// The configuration. What a repository may set is in [`Self::config_for`].
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration for work on `repo`, for somebody who stands at `place`: `.forge.toml` of
    /// there counts for its own repository alone.
    ///
    /// # Errors
    /// `config` for an error in the `.forge.toml` that counts.
    pub async fn config_for(&self, place: &Place, repo: &Repo) -> Result<Cow<'_, Config>> {
        // Most repositories have no such file, and cost no process.
        if !self.config.has_repo_file() {
            return Ok(Cow::Borrowed(&self.config));
        }
        if !resolve::is_of(self, place, repo).await {
            return Ok(Cow::Owned(self.config.without_repo_file()));
        }
        self.config.check_repo_file()?;
        Ok(Cow::Borrowed(&self.config))
    }

    /// The hosts that are known.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The accounts.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// What a login is to be pinned to: the account that its name leads to now. `None` on forges
    /// whose names do not change hands.
    ///
    /// # Errors
    /// As [`Accounts::login`]; as the forge, when the name cannot be looked up.
    pub async fn pin_login(
        &self,
        host: &str,
        kind: Option<&ForgeKind>,
        account: &str,
    ) -> Result<Option<Pin>> {
        let (host, kind, account) = self.accounts.check_login(host, kind, account)?;
        registry::pin_login(self, &kind, &host, account).await
    }

    /// What is a ticket of an issue tracker, and who is asked for it: JIRA, where the configuration or
    /// a login says where that is, and as whom. Nothing is asked yet.
    #[must_use]
    pub fn tickets(&self) -> TicketSource {
        let mut keys = self.config.ticket_keys();
        // A store that cannot be used is an error of what asks for a ticket.
        keys.base_url = self.accounts.jira_url().unwrap_or_default();
        #[cfg(feature = "jira")]
        let tracker = keys.enabled.then(|| jira::tracker(self)).flatten();
        #[cfg(not(feature = "jira"))]
        let tracker = None;
        TicketSource { keys, tracker }
    }

    /// What is wanted of a bundle by somebody who names nothing: as the configuration says.
    #[must_use]
    pub fn context_req(&self) -> ContextReq {
        ContextReq {
            include: self.config.context_include(),
            tickets: self.tickets(),
            settings: self.config.context_settings(),
            ..ContextReq::new(self.hosts.clone())
        }
    }

    /// The policy that the configuration asks for: its timeout, with write access. Waiting for an
    /// index does not count into it.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            deadline: self.config.timeout() + self.wait.unwrap_or_default(),
            ..Policy::default()
        }
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// `config` when this build has no backend for its kind; what the backend says.
    pub async fn open(&self, id: &RepoId, policy: Policy) -> Result<Repo> {
        registry::open(self, &self.absolute(id), policy).await
    }

    /// Opens the repository of a locator; where the locator names a pull request, with its key.
    ///
    /// # Errors
    /// `invalid_input` for a locator that cannot be understood or names an issue; as
    /// [`Self::open`].
    pub async fn open_locator(&self, text: &str, policy: Policy) -> Result<(Repo, Option<PrKey>)> {
        let locator = locator::parse(text, &self.hosts)?.locator;
        #[cfg(feature = "tangled")]
        if let Locator::Record(uri) = &locator {
            return registry::open_record(self, uri, policy).await;
        }
        let (id, key) = self.target(locator)?;
        Ok((self.open(&id, policy).await?, key))
    }

    /// Opens the repository of a locator that names an issue, and says which one. `owner/repo#7`
    /// and `file:///…#7` name a pull request or an issue, whichever is asked for.
    ///
    /// # Errors
    /// As [`Self::open_locator`]; `invalid_input` for what names no issue.
    pub async fn open_issue(&self, text: &str, policy: Policy) -> Result<(Repo, PrKey)> {
        let (id, key) = match self.issue_locator(text)? {
            #[cfg(feature = "tangled")]
            Locator::Record(uri) => {
                let id = self.tangled().issue_of_record(self, &uri).await?;
                (id.repo, id.key)
            }
            #[cfg(not(feature = "tangled"))]
            Locator::Record(uri) => return Err(registry::no_backend_for_record(&uri)),
            Locator::Issue { repo, key } => (repo, key),
            Locator::Pull { id, .. } => (id.repo, id.key),
            Locator::Repo(repo) => return Err(no_issue(&repo)),
        };
        Ok((self.open(&id, policy).await?, key))
    }

    /// What a text that is no number names: [`Locator::Issue`] or [`Locator::Record`]. Nothing is
    /// asked of a forge.
    ///
    /// # Errors
    /// `invalid_input` for what names no issue: above all the URL of a pull request, with what shows
    /// that.
    pub fn issue_locator(&self, text: &str) -> Result<Locator> {
        let shown = forge_core::text::one_line(text);
        let is_pull = || {
            let message = format!("'{shown}' is a pull request, not an issue");
            Error::invalid("issue", message).with_hint(
                Hint::new("look at the pull request").with_action(Action::op(Op::PrView)),
            )
        };
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        if is_url && (text.contains("/pull/") || text.contains("/pulls/")) {
            return Err(is_pull());
        }
        match locator::parse(text, &self.hosts)?.locator {
            // In a git repository pull requests and issues have numbers of their own.
            Locator::Pull { id, .. } if id.repo.numbers_issues_apart() => Err(is_pull()),
            // `owner/repo#7` and its like.
            Locator::Pull { id, .. } => Ok(Locator::Issue {
                repo: id.repo,
                key: id.key,
            }),
            Locator::Repo(repo) => Err(no_issue(&repo)),
            found => Ok(found),
        }
    }

    /// The repository that a command without `-R` means to somebody who stands at `place`.
    ///
    /// In this order: `FORGE_REPO`, `GH_REPO`, `forge.repo` of git's configuration, the remote that
    /// `gh repo set-default` chose, then the remotes `upstream`, `github`, `origin` and the others
    /// whose host is known or that are repositories on this machine. A repository without any
    /// remote means itself.
    ///
    /// # Errors
    /// `not_found` outside of a repository; `config` when no remote is at a known host, with the
    /// hosts; `invalid_input` for a variable that is no locator.
    pub async fn base_repo(&self, place: &Place) -> Result<RepoId> {
        resolve::base_repo(self, place).await
    }

    /// The clone at `place`, if one of its remotes stands for `repo`: what some forges need for a
    /// large diff, or for a merge that is a push. A repository that is named by DID or at-uri is
    /// asked for its other names.
    pub async fn clone_of(&self, place: &Place, repo: &Repo) -> Option<LocalClone> {
        resolve::clone_of(self, place, repo).await
    }

    /// The repository that the URL of a git remote names. An ssh remote whose host is not known may
    /// have a name of `ssh_config`: then `ssh -G` is asked which host that is, once per name.
    ///
    /// # Errors
    /// As [`locator::parse_remote`]; an unknown host is the one that ssh goes to.
    pub async fn remote_repo(&self, url: &str) -> Result<RepoId, ParseLocatorError> {
        resolve::remote_repo(self, url).await
    }

    /// See [`forge_git::ssh_host`]. An environment that is not the process's has no ssh.
    pub(crate) async fn ssh_host(&self, name: &str) -> Option<String> {
        if !self.config.env().is_process() {
            return None;
        }
        let known = || {
            let hosts = self.ssh_hosts.lock();
            hosts.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(host) = known().get(name) {
            return host.clone();
        }
        let host = forge_git::ssh_host(name).await;
        known().insert(name.to_owned(), host.clone());
        host
    }

    /// Splits a locator into repository and pull request.
    pub(crate) fn target(&self, locator: Locator) -> Result<(RepoId, Option<PrKey>)> {
        match locator {
            Locator::Repo(repo) => Ok((repo, None)),
            Locator::Pull { id, .. } => Ok((id.repo, Some(id.key))),
            Locator::Record(uri) => Err(registry::no_backend_for_record(&uri)),
            Locator::Issue { repo, key } => Err(Error::invalid(
                "repo",
                format!("issue {key} of {repo} is not a pull request"),
            )
            .with_hint(format!("for the repository alone, pass '{repo}'"))),
        }
    }

    /// A path relative to where the caller stands, made absolute; the rest as it is.
    #[must_use]
    pub fn absolute(&self, id: &RepoId) -> RepoId {
        let RepoPath::Dir(dir) = &id.path else {
            return id.clone();
        };
        let home = dir
            .strip_prefix("~")
            .ok()
            .zip(config::home_dir(self.config.env()));
        let dir = match home {
            Some((rest, home)) => home.join(rest),
            None => self.cwd.join(dir),
        };
        RepoId {
            path: RepoPath::Dir(std::path::absolute(&dir).unwrap_or(dir)),
            ..id.clone()
        }
    }
}

fn no_issue(repo: &RepoId) -> Error {
    let message = format!("'{repo}' is a repository, not an issue");
    Error::invalid("issue", message).with_hint("pass the number or the URL of an issue")
}
