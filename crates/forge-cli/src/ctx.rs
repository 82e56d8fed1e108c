use std::{borrow::Cow, env, path::PathBuf, sync::Arc, time::Duration};

use forge::{Config, Forges, WorkingCopy};
use forge_core::{
    Error, Locator, Op, Policy, Repo, RepoId, RepoPath, Result, Trust, Warning, locator,
    model::{HeadRef, LocalClone},
};
use forge_git::{Git, GitConfig, WorkingDir};

use crate::{
    args::GlobalArgs,
    ui::{Ui, io_error, progress::Progress},
};

/// Context shared by every command.
#[derive(Debug)]
pub struct Ctx {
    /// Output and prompts.
    pub ui: Ui,
    /// The working directory.
    pub cwd: PathBuf,
    /// The flags of every command.
    pub global: GlobalArgs,
    /// A `Result`, because a broken configuration stops only the commands that need it.
    forges: Result<Forges>,
    place: WorkingDir,
}

/// If the command's target is a locator such as a URL, stores its repository for hints.
fn name_repo(ui: &Ui, forges: &Forges) {
    let named = ui.named();
    let target = named.target.as_deref();
    let parsed = target.and_then(|target| locator::parse(target, forges.hosts()).ok());
    let repo = match parsed.map(|parsed| parsed.locator) {
        Some(Locator::Pull { id, .. }) => id.repo,
        Some(Locator::Issue { repo, .. }) => repo,
        _ => return,
    };
    let repo = forges.absolute(&repo).to_string();
    named.repo_of_target.get_or_init(|| repo);
}

impl Ctx {
    /// Creates the context of the process: reads the configuration and applies it to the output.
    ///
    /// # Errors
    ///
    /// Fails if the working directory is gone.
    pub fn new(mut ui: Ui, global: GlobalArgs) -> Result<Self> {
        let cwd = env::current_dir().map_err(io_error)?;
        let forges = Forges::load(&cwd);
        if let Ok(forges) = &forges {
            ui.configure(forges.config());
            name_repo(&ui, forges);
        }
        Ok(Self {
            ui,
            cwd,
            global,
            forges,
            place: WorkingDir::here(),
        })
    }

    /// Sets how long writes wait until the forge's index (on tangled: the appview) shows them. For
    /// `None`, the configuration sets the duration.
    #[must_use]
    pub fn waiting(mut self, wait: Option<Duration>) -> Self {
        if let Some(wait) = wait {
            self.forges = self.forges.map(|forges| forges.with_wait(wait));
        }
        self
    }

    /// Returns the user's working directory.
    pub fn place(&self) -> &WorkingDir {
        &self.place
    }

    /// Returns configuration, hosts and accounts.
    ///
    /// # Errors
    ///
    /// `config` if the configuration is broken.
    pub fn forges(&self) -> Result<&Forges> {
        self.forges.as_ref().map_err(|e| {
            let again = Error::new(e.kind().clone(), e.message());
            match e.hint() {
                Some(hint) => again.with_hint(hint),
                None => again,
            }
        })
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// The errors of [`Self::forges`].
    pub fn config(&self) -> Result<&Config> {
        Ok(self.forges()?.config())
    }

    /// Returns the configuration for `repo`, including settings from the repository itself.
    ///
    /// # Errors
    ///
    /// The errors of [`Forges::config_for`].
    pub async fn config_for(&self, repo: &Repo) -> Result<Cow<'_, Config>> {
        self.forges()?.config_for(&self.place, repo).await
    }

    /// Warns about ignored parts of configuration files. `forge config` does not call this, because
    /// it lists these parts itself.
    fn warn_of_problems(&self, config: &Config) {
        for problem in config.problems() {
            self.ui
                .warning(&Warning::new(problem.to_string()).with_hint(&problem.hint));
        }
    }

    /// Returns the policy for the requests of a command: the configured deadline, and an observer
    /// that shows a spinner or, with `-v`, each request.
    ///
    /// # Errors
    /// The errors of [`Self::forges`].
    pub fn policy(&self) -> Result<Policy> {
        let verbose = self.global.verbose > 0;
        let progress = Progress::new(verbose, self.ui.clone());
        let mut policy = self.forges()?.policy();
        policy.observer = Some(Arc::new(progress));
        policy.trust = Trust::Person;
        Ok(policy)
    }

    /// Prints which records of an operation the index of the forge may not show. A failure to find
    /// out is left to the operation.
    pub async fn warn_of_index(&self, repo: &Repo, op: Op, has_labels: bool) {
        for limit in repo.index_limits().await.unwrap_or_default() {
            if limit.concerns(op, has_labels) {
                self.ui.warn_of_index_limit(&limit);
            }
        }
    }

    /// Returns the repository of `-R`, or that of the working directory.
    ///
    /// # Errors
    /// The errors of [`Forges::open_locator`] and [`Forges::base_repo`].
    pub async fn repo(&self, flag: Option<&str>) -> Result<Repo> {
        let forges = self.forges()?;
        match flag {
            Some(locator) => {
                // The `.forge.toml` of the working directory is not used, because it may belong to
                // another repository.
                self.warn_of_problems(&forges.config().without_repo_file());
                let opened = forges.open_locator(locator, self.policy()?).await;
                Ok(opened.map_err(|e| with_list_hint(e, locator))?.0)
            }
            None => {
                self.warn_of_problems(forges.config());
                let id = forges.base_repo(&self.place).await?;
                let trust = self.trust_in(&id).await?;
                let mut policy = self.policy()?;
                policy.trust = trust;
                forges.open(&id, policy).await
            }
        }
    }

    /// Returns whether the git configuration of the base repository may start programs:
    /// - The repository of the working directory may, because it is the user's own.
    /// - A different local repository, named by a remote or by `forge.repo`, must not.
    async fn trust_in(&self, id: &RepoId) -> Result<Trust> {
        let RepoPath::Dir(dir) = &id.path else {
            return Ok(Trust::Person);
        };
        let config = self.git_config().await?;
        if config.remotes.is_empty() && config.forge_repo.is_none() {
            return Ok(Trust::Person);
        }
        let dir = self.cwd.join(dir).canonicalize().ok();
        Ok(match dir.as_deref() == self.place.root().await {
            true => Trust::Person,
            false => Trust::Named,
        })
    }

    /// Returns the working directory, with the forges of its remotes.
    ///
    /// # Errors
    /// The errors of [`Self::forges`].
    pub fn working_copy(&self) -> Result<WorkingCopy<'_>> {
        Ok(WorkingCopy::new(self.forges()?, &self.place))
    }

    /// Returns true if `repo` is the repository at the working directory (see [`WorkingCopy::is`]).
    pub async fn is_here(&self, repo: &Repo) -> bool {
        match self.working_copy() {
            Ok(here) => here.is(repo).await,
            Err(_) => false,
        }
    }

    /// Returns the current branch as a head reference for `repo` (see
    /// [`WorkingCopy::current_head`]).
    ///
    /// # Errors
    /// The errors of [`WorkingCopy::current_head`].
    pub async fn current_head(&self, repo: &Repo) -> Result<Option<HeadRef>> {
        self.working_copy()?.current_head(repo).await
    }

    /// Returns the name of the remote for `repo` (see [`WorkingCopy::remote_of`]).
    pub async fn remote_of(&self, repo: &Repo, owner: Option<&str>) -> Option<String> {
        self.working_copy().ok()?.remote_of(repo, owner).await
    }

    /// Returns the user's clone, if `repo` is one of its remotes.
    pub async fn clone_of(&self, repo: &Repo) -> Option<LocalClone> {
        self.forges().ok()?.clone_of(&self.place, repo).await
    }

    /// Returns a git handle for the working directory.
    #[must_use]
    pub fn git(&self) -> &Git {
        self.place.git()
    }

    /// Returns git's configuration of the working directory.
    ///
    /// # Errors
    /// The errors of [`GitConfig::read`].
    pub async fn git_config(&self) -> Result<&GitConfig> {
        self.place.config().await
    }
}

/// Adds a hint if one `-R` contains several repositories, separated by commas.
fn with_list_hint(e: Error, locator: &str) -> Error {
    let is_path = locator.starts_with(['/', '.', '~']) || locator.contains(':');
    match locator.contains(',') && !is_path {
        true => e.with_hint("repeat the flag for each repository, as in `pr list -R a/b -R c/d`"),
        false => e,
    }
}
