//! State that all calls of a server share: accounts, allow lists, limits and caches.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use forge::{Forges, context::OtherRepos};
use forge_core::{
    Access, AtUri, Error, ErrorKind, Locator, NamedAccounts, Policy, PrKey, Repo, RepoId, RepoPath,
    Result, Trust, call, fingerprint, locator,
    model::{IssueId, LocalClone, PullRequest},
};
use forge_git::{WorkingDir, blocking};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use super::{ServerOptions, Tools};
use crate::{
    budget::{context_cache::ContextCache, diff_cache::DiffCache},
    safety::{accounts::KnownAccounts, allow::canonical, gate::AccessGate, seals::Seals},
};

/// Maximum number of concurrent calls; further calls wait.
const MAX_CONCURRENT_CALLS: usize = 16;

/// Returns the maximum number of concurrent calls on repositories in a directory of this machine:
/// two for each processor.
///
/// Such a call spends its time in git processes. More of them at once finish no sooner, but they
/// delay the writer whose turn it is, and all writers behind it.
fn max_directory_calls() -> usize {
    2 * thread::available_parallelism().map_or(2, NonZero::get)
}

/// How long a call waits for a slot.
const SLOT_TIMEOUT: Duration = Duration::from_secs(60);

struct ServerStateInner {
    forges: Forges,
    options: ServerOptions,
    tools: Tools,
    gate: AccessGate,
    seals: Seals,
    accounts: KnownAccounts,
    turns: Arc<Semaphore>,
    /// The permits for calls on repositories in a directory of this machine.
    directories: Arc<Semaphore>,
    /// The permit for a repeated read, whose results do not count against the memory limit; see
    /// [`ServerState::bounded`]. Only one such read runs at a time.
    large: Arc<Semaphore>,
    default_repo: OnceCell<RepoId>,
    diffs: DiffCache,
    contexts: ContextCache,
}

/// Waits for a permit, at most for [`SLOT_TIMEOUT`]. If the wait times out, the error says with
/// `others` which calls hold the permits.
async fn acquire(
    permits: &Arc<Semaphore>,
    others: impl Fn() -> String,
) -> Result<OwnedSemaphorePermit> {
    match tokio::time::timeout(SLOT_TIMEOUT, Arc::clone(permits).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Error::new(
            ErrorKind::RateLimited {
                bucket: "calls in flight".to_owned(),
                reset: None,
            },
            format!("{} running for {} s", others(), SLOT_TIMEOUT.as_secs()),
        )
        .with_retry(forge_core::Retry::After(Duration::from_secs(5)))
        .with_hint("make fewer calls at once")),
    }
}

/// The state of a server, shared by all clones.
#[derive(Clone)]
pub(crate) struct ServerState(Arc<ServerStateInner>);

impl ServerState {
    /// Creates the state of a server with these tools.
    ///
    /// # Errors
    ///
    /// Fails with `internal` if the system provides no random numbers for the seals.
    pub fn new(forges: Forges, options: ServerOptions, tools: Tools) -> Result<Self> {
        Ok(Self(Arc::new(ServerStateInner {
            gate: AccessGate::new(
                options.repos.clone(),
                options.paths.clone(),
                options.writable.clone(),
            ),
            seals: Seals::new()?,
            accounts: KnownAccounts::default(),
            turns: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)),
            directories: Arc::new(Semaphore::new(max_directory_calls())),
            large: Arc::new(Semaphore::new(1)),
            default_repo: OnceCell::new(),
            diffs: DiffCache::default(),
            contexts: ContextCache::default(),
            forges,
            options,
            tools,
        })))
    }

    pub fn options(&self) -> &ServerOptions {
        &self.0.options
    }

    pub fn forges(&self) -> &Forges {
        &self.0.forges
    }

    pub fn seals(&self) -> &Seals {
        &self.0.seals
    }

    pub fn diffs(&self) -> &DiffCache {
        &self.0.diffs
    }

    pub fn contexts(&self) -> &ContextCache {
        &self.0.contexts
    }

    /// Returns hashes of the credentials for a host and for Jira. The hashes are part of cache
    /// keys, because the visible content depends on both accounts.
    pub async fn accounts_at(&self, host: &str) -> Option<(u64, u64)> {
        let (accounts, host) = (self.0.forges.accounts().clone(), host.to_owned());
        // Reading the credential store blocks, because it is a file.
        let read = tokio::task::spawn_blocking(move || {
            let found = accounts.credential(&host).ok().flatten();
            let secret = found.map(|c| c.secret.expose().to_owned());
            (fingerprint(&secret), accounts.jira_fingerprint())
        });
        read.await.ok()
    }

    pub fn tools(&self) -> &Tools {
        &self.0.tools
    }

    /// Waits for one of the slots that limit concurrent calls.
    pub async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        acquire(&self.0.turns, || {
            format!("{MAX_CONCURRENT_CALLS} other calls were")
        })
        .await
    }

    /// Waits for one of the permits that limit concurrent calls on repositories in a directory of
    /// this machine.
    pub async fn directory_turn(&self) -> Result<OwnedSemaphorePermit> {
        acquire(&self.0.directories, || {
            "other calls on repositories of this machine were".to_owned()
        })
        .await
    }

    /// Takes all slots, so that calls wait until the permit is dropped.
    #[cfg(test)]
    pub fn take_all_slots(&self) -> Option<OwnedSemaphorePermit> {
        let all = u32::try_from(MAX_CONCURRENT_CALLS).ok()?;
        Arc::clone(&self.0.turns).try_acquire_many_owned(all).ok()
    }

    /// Runs a read, and counts the memory of its results until the read ends. If the results of all
    /// running calls together exceed the limit, this read fails and is repeated without being
    /// counted. Only one repeated read runs at a time.
    ///
    /// # Errors
    ///
    /// Fails with `rate_limited` if other repeated reads take too long.
    pub async fn bounded<R: Future>(&self, read: impl Fn() -> R) -> Result<R::Output> {
        let (found, was_refused) = call::kept(true, Box::pin(read())).await;
        if !was_refused {
            return Ok(found);
        }
        drop(found);
        let others = || "other calls with large answers were".to_owned();
        let _large = acquire(&self.0.large, others).await?;
        Ok(call::kept(false, Box::pin(read())).await.0)
    }

    /// Parses the repository of a locator; without a locator, returns the server's default
    /// repository. Makes no request.
    pub async fn repo_id(&self, named: Option<&str>) -> Result<RepoId> {
        let Some(text) = named else {
            let place = WorkingDir::at(&self.0.options.dir, Trust::Guarded);
            let find = || self.0.forges.base_repo(&place);
            return self
                .0
                .default_repo
                .get_or_try_init(find)
                .await
                .cloned()
                .map_err(|e| {
                    Error::invalid(
                        "repo",
                        format!(
                            "no repository is named, and none is found here: {}",
                            e.message()
                        ),
                    )
                    .with_hint("pass repo: owner/repo, a URL or a path")
                });
        };
        match locator::parse(text, self.0.forges.hosts())?.locator {
            Locator::Repo(id) => Ok(self.0.forges.absolute(&id)),
            Locator::Pull { id, .. } => Ok(self.0.forges.absolute(&id.repo)),
            Locator::Issue { repo, .. } => Ok(repo),
            Locator::Record(uri) => Err(Error::invalid(
                "repo",
                format!("{uri} names a record, not a repository"),
            )
            .with_hint("pass the repository's own locator, and the at-uri as number")),
        }
    }

    /// Returns the directory where the server was started.
    pub fn place(&self) -> WorkingDir {
        WorkingDir::at(&self.0.options.dir, Trust::Guarded)
    }

    /// Returns the clone at the server's start directory, if the clone is of this repository.
    pub async fn clone_of(&self, repo: &Repo) -> Option<LocalClone> {
        let place = WorkingDir::at(&self.0.options.dir, Trust::Guarded);
        self.0.forges.clone_of(&place, repo).await
    }

    /// Returns true if the allow lists permit reading this repository. Makes no request.
    pub fn may_read(&self, id: &RepoId) -> bool {
        self.0.gate.check(id, false).is_ok()
    }

    /// Returns the other repositories that may be read if a pull request's text refers to them.
    /// Only repositories on an allow list may be read.
    pub fn other_repos(&self) -> OtherRepos {
        let server = self.clone();
        OtherRepos::only(move |id| server.0.gate.restricts(false) && server.may_read(id))
    }

    /// Opens a repository, if the allow lists permit the access.
    pub async fn open(&self, id: &RepoId, write: bool) -> Result<Repo> {
        self.learn_own(id).await?;
        let trust = self.ask_gate(id, move |gate, id| {
            gate.check(id, write)?;
            Ok(gate.trust(id))
        });
        let trust = trust.await?;
        if trust == Trust::Guarded {
            self.check_borrowed_objects(id).await?;
        }
        let mut policy = self.policy(write);
        policy.trust = trust;
        let repo = self.0.forges.open(id, policy).await?;
        self.learn_own(repo.id()).await?;
        self.check_opened(&repo, write).await?;
        Ok(repo)
    }

    async fn check_borrowed_objects(&self, id: &RepoId) -> Result<()> {
        let check = |gate: &AccessGate, id: &RepoId| gate.check_borrowed_objects(id);
        if self.ask_gate(id, check).await.is_ok() {
            return Ok(());
        }
        // The lender can be an own directory of the server.
        self.0.gate.learn_own(self.own_directories()).await;
        self.ask_gate(id, check).await
    }

    /// Runs a check of [`AccessGate`] on a thread that may block, because the check resolves
    /// symbolic links in a directory's path.
    async fn ask_gate<T: Send + 'static>(
        &self,
        id: &RepoId,
        ask: impl FnOnce(&AccessGate, &RepoId) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (server, id) = (self.clone(), id.clone());
        blocking(move || ask(&server.0.gate, &id)).await
    }

    /// Determines the directories that calls may access although neither `--allow-repo` nor
    /// `--allow-path` lists them. Does nothing if checking `id` does not need them.
    async fn learn_own(&self, id: &RepoId) -> Result<()> {
        let needs_own = self.ask_gate(id, |gate, id| Ok(gate.needs_own(id)));
        if needs_own.await? {
            self.0.gate.learn_own(self.own_directories()).await;
        }
        Ok(())
    }

    async fn check_opened(&self, repo: &Repo, write: bool) -> Result<()> {
        match repo.id().path {
            RepoPath::Dir(_) => {
                let check = move |gate: &AccessGate, id: &RepoId| gate.check(id, write);
                self.ask_gate(repo.id(), check).await
            }
            _ => self.0.gate.check_opened(repo, write).await,
        }
    }

    /// Returns the directories that calls may access although neither `--allow-repo` nor
    /// `--allow-path` lists them:
    /// - the server's start directory, and the repository that contains it
    /// - the repositories to which listed work trees belong
    ///
    /// What the configuration of such a repository names is not allowed: a path of a remote,
    /// `forge.repo`, or a `.git` file that leads to a repository without this work tree. An archive
    /// that a person unpacked could have them.
    async fn own_directories(&self) -> Vec<PathBuf> {
        let mut own = Vec::new();
        if self.0.options.repos.is_empty() {
            own.push(self.0.options.dir.clone());
            own.extend(repository_of(&self.0.options.dir).await);
        }
        for dir in self.0.gate.linked() {
            own.extend(repository_of(dir).await);
        }
        own.iter().map(|path| canonical(path)).collect()
    }

    /// Checks that the allow lists permit changes of a repository.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::open`] does.
    pub async fn may_change(&self, repo: &Repo) -> Result<()> {
        let check = |gate: &AccessGate, id: &RepoId| gate.check(id, true);
        self.ask_gate(repo.id(), check).await?;
        self.check_opened(repo, true).await
    }

    /// Checks that the allow lists permit changes of a pull request's head branch, which may be in
    /// a fork. The check makes no request: the forge has just reported the pull request, so the
    /// fork's name is current.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied`; the error names the fork. A list permits no change of a fork
    /// that the forge does not name.
    pub fn may_change_head(&self, pull: &PullRequest) -> Result<()> {
        match &pull.head_repo {
            Some(fork) => self.0.gate.check(fork, true),
            None if pull.is_cross_repository() => self.0.gate.check_unknown_head(&pull.id),
            None => Ok(()),
        }
    }

    /// Checks that a merge may close an issue: the allow lists must permit changes of the issue's
    /// repository. The check makes no request.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied`; the error names the repository.
    pub fn may_close(&self, issue: &IssueId) -> Result<()> {
        self.0.gate.check(&issue.repo, true)
    }

    /// With an allow list, refuses a record of an account that has no known relation to `repo`.
    /// Otherwise resolving the account would send a request to a host of the caller's choice.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied` before any request to another host.
    pub async fn authorize_record(&self, repo: &Repo, key: &PrKey, write: bool) -> Result<()> {
        match key {
            PrKey::Record(uri) if self.0.gate.restricts(write) => {
                let uri = AtUri::parse(uri)?;
                self.0
                    .accounts
                    .authorize_record(&self.0.gate, repo, &uri)
                    .await
            }
            _ => Ok(()),
        }
    }

    /// Remembers the author of a new pull request for [`Self::authorize_record`].
    pub fn remember_author(&self, pull: &PullRequest) {
        self.0.accounts.remember_author(pull);
    }

    /// Finds the repository and key of a pull request from its record.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if there is an allow list, because finding the repository would
    /// need a request before the permission check.
    pub async fn open_record(&self, uri: &AtUri, write: bool) -> Result<(Repo, PrKey)> {
        if !self.0.gate.is_open() {
            return Err(
                Error::invalid("repo", format!("cannot tell the repository of {uri}"))
                    .with_hint("pass repo as well: this server is limited to certain repositories"),
            );
        }
        let policy = self.policy(write);
        let (repo, key) = self.0.forges.open_locator(&uri.to_string(), policy).await?;
        Ok((repo, key.unwrap_or_else(|| uri.clone().into())))
    }

    fn policy(&self, write: bool) -> Policy {
        let mut policy = self.0.forges.policy();
        policy.access = if write && self.0.options.write {
            Access::Write
        } else {
            Access::ReadOnly
        };
        policy.trust = Trust::Named;
        if self.0.gate.restricts(write) {
            policy.accounts = NamedAccounts::OfRepository;
        }
        policy
    }
}

/// Returns the repository that has `dir` in one of its work trees. The person who sets `GIT_DIR`
/// chose the repository.
async fn repository_of(dir: &Path) -> Option<PathBuf> {
    let place = WorkingDir::at(dir, Trust::Guarded);
    let root = forge_git::root(place.git()).await.ok()?;
    let top = place.top().await?.to_owned();
    let is_named = std::env::var_os("GIT_DIR").is_some();
    let known = root.clone();
    let has = blocking(move || Ok(forge_git::has_work_tree(&known, &top))).await;
    (is_named || has.unwrap_or(false)).then_some(root)
}
