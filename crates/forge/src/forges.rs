use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_context::{ContextReq, TicketSource};
use forge_core::{
    Action, Error, ErrorKind, ForgeKind, Hint, Locator, Op, Policy, PrKey, Repo, RepoId, RepoPath,
    Result, Secret,
    locator::{self, Hosts, ParseLocatorError},
    model::{Actor, LocalClone},
};
use forge_git::WorkingDir;

#[cfg(feature = "github")]
use crate::github;
#[cfg(feature = "jira")]
use crate::jira;
#[cfg(feature = "tangled")]
use crate::tangled;
use crate::{
    Config, ExternalBackend, ForgesBuilder,
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
/// Uses the configuration and the accounts of the user who runs the process. If the locator is a
/// pull request, opens the repository of this pull request.
///
/// # Errors
/// `invalid_input` for a malformed locator, `config` for an invalid configuration, and the errors
/// of the backend when it opens the repository.
pub async fn open(locator: &str) -> Result<Repo> {
    let forges = Forges::load(Path::new("."))?;
    let policy = forges.policy();
    Ok(forges.open_locator(locator, policy).await?.0)
}

/// Configuration, hosts and accounts: everything that is needed to open a repository.
#[derive(Clone, Debug)]
pub struct Forges {
    config: Config,
    hosts: Hosts,
    accounts: Accounts,
    cwd: PathBuf,
    wait: Option<Duration>,
    /// The backends that the program registered.
    external: Arc<[ExternalBackend]>,
    /// Results of `ssh -G` for host names that are not in the configuration.
    ssh_hosts: Arc<Mutex<BTreeMap<String, Option<String>>>>,
    #[cfg(feature = "github")]
    github: Arc<github::SharedGithub>,
    #[cfg(feature = "local")]
    local: Arc<forge_local::StoreCache>,
    #[cfg(feature = "tangled")]
    tangled: Arc<tangled::SharedTangled>,
}

impl Forges {
    /// Returns a builder, for a program with additional backends.
    #[must_use]
    pub fn builder() -> ForgesBuilder {
        ForgesBuilder::default()
    }

    /// Returns the forges of the user who runs this process. Reads the user's `config.toml`, and
    /// the `.forge.toml` of the repository that contains `cwd`, if these files exist.
    ///
    /// # Errors
    /// The errors of [`Config::load`].
    pub fn load(cwd: &Path) -> Result<Self> {
        Ok(Self {
            cwd: cwd.to_owned(),
            ..Self::from_parts(Config::load(Env::process(), cwd)?)
        })
    }

    /// Builds the forges from the caller's own configuration.
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
            external: Arc::default(),
            ssh_hosts: Arc::default(),
            #[cfg(feature = "github")]
            github: Arc::default(),
            #[cfg(feature = "local")]
            local: Arc::default(),
            #[cfg(feature = "tangled")]
            tangled: Arc::default(),
        }
    }

    /// Sets how long a write waits until the forge shows it. The time replaces the configured time,
    /// and zero means no wait. Forges with a separate index, such as tangled, show a write late. On
    /// other forges a write never waits. The value applies to repositories that are opened
    /// afterwards.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        #[cfg(feature = "tangled")]
        {
            self.tangled = Arc::default();
        }
        self
    }

    /// Returns how long a write waits until the index of the forge shows it.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait.unwrap_or_else(|| self.config.wait())
    }

    /// Reports where an atproto record is stored and which services show it.
    ///
    /// # Errors
    /// `invalid_input` if the text is not an at-uri, or if the record is unrelated to pull
    /// requests; `not_found` if there is no such record.
    #[cfg(feature = "tangled")]
    pub async fn check_ingestion(&self, uri: &str) -> Result<IngestionReport> {
        let uri = AtUri::parse(uri)?;
        self.tangled.usual_host(self)?.check_ingestion(&uri).await
    }

    /// Writes one of the user's records again with an insignificant change. An index that lost the
    /// record then ingests it again.
    ///
    /// # Errors
    /// The errors of [`Self::check_ingestion`]; `permission_denied` for another account's record.
    #[cfg(feature = "tangled")]
    pub async fn retry_ingestion(&self, uri: &str) -> Result<IngestionReport> {
        let uri = AtUri::parse(uri)?;
        self.tangled.usual_host(self)?.put_again(&uri).await
    }

    /// Adds the backends that a program registers. `hosts` replaces the known hosts and includes
    /// the hosts of these backends.
    pub(crate) fn with_external(mut self, hosts: Hosts, backends: Vec<ExternalBackend>) -> Self {
        self.hosts = hosts;
        self.external = backends.into();
        self
    }

    pub(crate) fn external(&self, kind: &ForgeKind) -> Option<&ExternalBackend> {
        self.external.iter().find(|b| b.kind() == kind)
    }

    /// Returns the state shared by the GitHub hosts.
    #[cfg(feature = "github")]
    pub(crate) fn github(&self) -> &github::SharedGithub {
        &self.github
    }

    /// Returns the cache that the repositories on this machine share.
    #[cfg(feature = "local")]
    pub(crate) fn local(&self) -> Arc<forge_local::StoreCache> {
        Arc::clone(&self.local)
    }

    #[cfg(feature = "tangled")]
    pub(crate) fn tangled(&self) -> &tangled::SharedTangled {
        &self.tangled
    }

    /// Returns the configuration of the current directory. For work on a repository, use
    /// [`Self::config_for`].
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration for work on `repo` at `place`. The `.forge.toml` at `place` is
    /// ignored if it belongs to another repository.
    ///
    /// # Errors
    /// `config` for an error in the `.forge.toml` of `repo`.
    pub async fn config_for(&self, place: &WorkingDir, repo: &Repo) -> Result<Cow<'_, Config>> {
        // Without a `.forge.toml`, which is the usual case, no git process is needed.
        if !self.config.has_repo_file() {
            return Ok(Cow::Borrowed(&self.config));
        }
        if !resolve::may_configure(self, place, repo).await {
            return Ok(Cow::Owned(self.config.without_repo_file()));
        }
        self.config.check_repo_file()?;
        Ok(Cow::Borrowed(&self.config))
    }

    /// Returns the known hosts.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Returns the accounts.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Returns the pin for a login: the permanent id of the account that currently has the name.
    /// `None` on forges where an account name never gets another owner.
    ///
    /// # Errors
    /// The errors of [`Accounts::login`]; the forge's errors if the name cannot be resolved.
    pub async fn pin_login(
        &self,
        host: &str,
        kind: Option<&ForgeKind>,
        account: &str,
    ) -> Result<Option<Pin>> {
        let (host, kind, account) = self.accounts.check_login(host, kind, account)?;
        registry::pin_login(self, &kind, &host, account).await
    }

    /// Asks the host which account a secret belongs to. Does not store the secret. `None` on forges
    /// that cannot find the account from the secret.
    ///
    /// # Errors
    ///
    /// `invalid_input` in the cases of [`Accounts::login`]; `unauthenticated` if the host refuses
    /// the secret; `network` or another transport error if the host does not answer.
    pub async fn verify_login(
        &self,
        host: &str,
        kind: Option<&ForgeKind>,
        secret: &Secret,
    ) -> Result<Option<Actor>> {
        let (host, kind) = self.accounts.check_login_host(host, kind)?;
        let asked = registry::secret_owner(self, &kind, &host, secret).await;
        asked.map_err(|e| not_verified(&host, e))
    }

    /// Returns the secret of another program's login at `host`, for example of gh's login. The
    /// secret is used if forge's own store has no account for the host. `None` if the host is
    /// unknown or there is no such login.
    ///
    /// # Errors
    ///
    /// `unauthenticated` if there is a login but it cannot be read.
    pub async fn other_login(&self, host: &str) -> Result<Option<Secret>> {
        match self.accounts.check_login_host(host, None) {
            Ok((host, kind)) => registry::other_login(self, &kind, &host).await,
            Err(_) => Ok(None),
        }
    }

    /// Returns the patterns of ticket keys (such as `ABC-123`) and the issue tracker that has the
    /// tickets. The tracker is JIRA if the configuration or a login has the URL and the credentials
    /// of JIRA. Sends no request.
    #[must_use]
    pub fn tickets(&self) -> TicketSource {
        let mut tickets = TicketSource::default();
        tickets.keys = self.config.ticket_keys();
        // A store of accounts that cannot be read is not an error here. The error is reported when
        // a ticket is requested.
        tickets.keys.base_url = self.accounts.jira_url().unwrap_or_default();
        #[cfg(feature = "jira")]
        if tickets.keys.enabled {
            tickets.tracker = jira::tracker(self);
        }
        tickets
    }

    /// Returns the request for a context bundle (`forge pr context`), with the configured defaults.
    #[must_use]
    pub fn context_req(&self) -> ContextReq {
        let mut req = ContextReq::new(self.hosts.clone());
        req.include = self.config.context_include();
        req.tickets = self.tickets();
        req.settings = self.config.context_settings();
        req
    }

    /// Returns a policy with write access and the configured timeout. The time of
    /// [`Self::with_wait`], in which a write waits for the forge, does not count towards the
    /// timeout.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.deadline = self.config.timeout() + self.wait.unwrap_or_default();
        policy
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// `config` if this build has no backend for the repository's kind of forge; the errors of the
    /// backend.
    pub async fn open(&self, id: &RepoId, policy: Policy) -> Result<Repo> {
        registry::open(self, &self.absolute(id), policy).await
    }

    /// Opens the repository of a locator. If the locator names a pull request, also returns the key
    /// of the pull request.
    ///
    /// # Errors
    /// `invalid_input` for a malformed locator or an issue; also the errors of [`Self::open`].
    pub async fn open_locator(&self, text: &str, policy: Policy) -> Result<(Repo, Option<PrKey>)> {
        let locator = locator::parse(text, &self.hosts)?.locator;
        #[cfg(feature = "tangled")]
        if let Locator::Record(uri) = &locator {
            return registry::open_record(self, uri, policy).await;
        }
        let (id, key) = self.target(locator)?;
        Ok((self.open(&id, policy).await?, key))
    }

    /// Opens the repository of a locator and returns the key of its issue. A locator such as
    /// `owner/repo#7` or `file:///…#7` can mean a pull request or an issue. Here it means an issue.
    ///
    /// # Errors
    /// The errors of [`Self::open_locator`]; `invalid_input` for anything but an issue.
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

    /// Parses the locator of an issue: [`Locator::Issue`] or [`Locator::Record`]. Sends no request.
    ///
    /// # Errors
    /// `invalid_input` for anything but an issue. For the URL of a pull request, the hint is the
    /// command that shows the pull request.
    pub fn issue_locator(&self, text: &str) -> Result<Locator> {
        let shown = forge_core::text::one_line(text);
        let is_pull = || {
            let message = format!("'{shown}' is a pull request, not an issue");
            Error::invalid("issue", message)
                .with_hint(Hint::new("view the pull request").with_action(Action::op(Op::PrView)))
        };
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        if is_url && (text.contains("/pull/") || text.contains("/pulls/")) {
            return Err(is_pull());
        }
        match locator::parse(text, &self.hosts)?.locator {
            // If the forge numbers pull requests and issues separately, this locator means a pull
            // request.
            Locator::Pull { id, .. } if id.repo.numbers_issues_apart() => Err(is_pull()),
            // A locator such as `owner/repo#7` can mean an issue.
            Locator::Pull { id, .. } => Ok(Locator::Issue {
                repo: id.repo,
                key: id.key,
            }),
            Locator::Repo(repo) => Err(no_issue(&repo)),
            found => Ok(found),
        }
    }

    /// Returns the repository that a command without the flag `-R` uses in the directory `place`.
    ///
    /// It is the first of these that exists:
    /// 1. the variable `FORGE_REPO`
    /// 2. the variable `GH_REPO`
    /// 3. `forge.repo` in git's configuration
    /// 4. the remote that `gh repo set-default` chose
    /// 5. the remotes `upstream`, `github`, `origin`, then any other remote
    /// 6. the git repository at `place`, if it has no remotes
    ///
    /// A remote counts only if its host is known or it is a repository on this machine.
    ///
    /// # Errors
    /// - `not_found`: the directory is not in a repository.
    /// - `config`: no remote is at a known host. The error names the hosts.
    /// - `invalid_input`: a variable or setting has a malformed locator.
    pub async fn base_repo(&self, place: &WorkingDir) -> Result<RepoId> {
        resolve::base_repo(self, place).await
    }

    /// Returns the clone at `place`, if one of its remotes is `repo`. Some forges need a clone for
    /// a large diff, or for a merge by push. If `repo` was opened by a DID or an at-uri, its other
    /// names are first read from the forge.
    pub async fn clone_of(&self, place: &WorkingDir, repo: &Repo) -> Option<LocalClone> {
        resolve::clone_of(self, place, repo).await
    }

    /// Returns the repository at the URL of a git remote of the clone at `place`. The directory of a
    /// repository on this machine is absolute, without links and without `.git`, as in the id of the
    /// opened repository. An unknown host in an ssh URL may be an alias in `ssh_config`. Therefore
    /// `ssh -G` resolves each unknown host once.
    ///
    /// # Errors
    ///
    /// The errors of [`locator::parse_remote`]. If ssh resolved an unknown host, the message has
    /// the resolved name.
    pub async fn remote_repo(
        &self,
        place: &WorkingDir,
        url: &str,
    ) -> Result<RepoId, ParseLocatorError> {
        resolve::remote_repo(self, place, url).await
    }

    /// Resolves an alias in `ssh_config`; see [`forge_git::ssh_host`]. Does not run ssh in a fixed
    /// environment (see `Env::fixed`).
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

    /// Splits a locator into the repository and the key of the pull request.
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

    /// Makes a relative path absolute, based on the current directory. Returns any other id
    /// unchanged.
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

/// Returns the error for a login if the host did not confirm the secret.
fn not_verified(host: &str, e: Error) -> Error {
    let hint = match (e.kind(), e.hint()) {
        (ErrorKind::Unauthenticated { .. }, _) => {
            Hint::new("pass the whole token, or create a new token in the settings of that account")
        }
        (_, Some(hint)) => hint.clone(),
        (_, None) => Hint::new("check the name of the host and the connection, then log in again"),
    };
    let message = format!("the token for {host} is not stored: {}", e.message());
    Error::new(e.kind().clone(), message)
        .with_hint(hint)
        .with_retry(e.retry())
        .with_source(e)
}

fn no_issue(repo: &RepoId) -> Error {
    let message = format!("'{repo}' is a repository, not an issue");
    Error::invalid("issue", message).with_hint("pass the number or the URL of an issue")
}
