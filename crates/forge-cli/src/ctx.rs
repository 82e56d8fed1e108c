use std::{borrow::Cow, env, path::PathBuf, sync::Arc, time::Duration};

use forge::{Config, Forges, WorkingCopy};
use forge_core::{
    Error, Locator, Policy, Repo, RepoId, RepoPath, Result, Trust, Warning, locator,
    model::{HeadRef, LocalClone},
};
use forge_git::{Git, GitConfig, Place};

use crate::{
    args::GlobalArgs,
    ui::{Ui, io_error, progress::Progress},
};

/// What every command has at hand.
#[derive(Debug)]
pub struct Ctx {
    /// Where output goes.
    pub ui: Ui,
    /// The directory it was started in.
    pub cwd: PathBuf,
    /// The flags of every command.
    pub global: GlobalArgs,
    /// A broken configuration stops the commands that need it, and not the others.
    forges: Result<Forges>,
    place: Place,
}

/// Hints name the repository that the pull request or issue of the command line is in.
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
    /// From the process: reads the configuration, and tells the printer what it says.
    ///
    /// # Errors
    /// When the working directory is gone.
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
            place: Place::here(),
        })
    }

    /// The same, whose writes wait so long for an index to show them; `None` leaves that to the
    /// configuration.
    #[must_use]
    pub fn waiting(mut self, wait: Option<Duration>) -> Self {
        if let Some(wait) = wait {
            self.forges = self.forges.map(|forges| forges.with_wait(wait));
        }
        self
    }

    /// Where the user stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Configuration, hosts and accounts.
    ///
    /// # Errors
    /// `config` when the configuration is broken.
    pub fn forges(&self) -> Result<&Forges> {
        self.forges.as_ref().map_err(|e| {
            let again = Error::new(e.kind().clone(), e.message());
            match e.hint() {
                Some(hint) => again.with_hint(hint),
                None => again,
            }
        })
    }

    /// The configuration.
    ///
    /// # Errors
    /// As [`Self::forges`].
    pub fn config(&self) -> Result<&Config> {
        Ok(self.forges()?.config())
    }

    /// The configuration for work on `repo`, with what the repository itself may set.
    ///
    /// # Errors
    /// As [`Forges::config_for`].
    pub async fn config_for(&self, repo: &Repo) -> Result<Cow<'_, Config>> {
        self.forges()?.config_for(&self.place, repo).await
    }

    /// Says on stderr what the configuration files hold that nothing reads. For commands that do not
    /// list it themselves, as `forge config` does.
    fn warn_of_problems(&self, config: &Config) {
        for problem in config.problems() {
            self.ui
                .warning(&Warning::new(problem.to_string()).with_hint(&problem.hint));
        }
    }

    /// The policy of a command: the configured deadline, a spinner, and what `-v` prints.
    ///
    /// # Errors
    /// As [`Self::forges`].
    pub fn policy(&self) -> Result<Policy> {
        let verbose = self.global.verbose > 0;
        let progress = Progress::new(self.ui.err_is_tty(), verbose, self.ui.writes());
        Ok(Policy {
            observer: Some(Arc::new(progress)),
            trust: Trust::Person,
            ..self.forges()?.policy()
        })
    }

    /// The repository of `-R`, or the one that the working directory stands for.
    ///
    /// # Errors
    /// As [`Forges::open_locator`] and [`Forges::base_repo`].
    pub async fn repo(&self, flag: Option<&str>) -> Result<Repo> {
        let forges = self.forges()?;
        match flag {
            Some(locator) => {
                // `.forge.toml` of the working directory is about another repository.
                self.warn_of_problems(&forges.config().without_repo_file());
                Ok(forges.open_locator(locator, self.policy()?).await?.0)
            }
            None => {
                self.warn_of_problems(forges.config());
                let id = forges.base_repo(&self.place).await?;
                let policy = Policy {
                    trust: self.trust_in(&id).await?,
                    ..self.policy()?
                };
                forges.open(&id, policy).await
            }
        }
    }

    /// How far the base repository is trusted: the one that the user stands in as a person's own; one
    /// on this machine that a remote or `forge.repo` leads to runs nothing.
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

    /// The directory that the user works in, beside the forges of its remotes.
    ///
    /// # Errors
    /// As [`Self::forges`].
    pub fn working_copy(&self) -> Result<WorkingCopy<'_>> {
        Ok(WorkingCopy::new(self.forges()?, &self.place))
    }

    /// See [`WorkingCopy::is`].
    pub async fn is_here(&self, repo: &Repo) -> bool {
        match self.working_copy() {
            Ok(here) => here.is(repo).await,
            Err(_) => false,
        }
    }

    /// See [`WorkingCopy::current_head`].
    ///
    /// # Errors
    /// As [`WorkingCopy::current_head`].
    pub async fn current_head(&self, repo: &Repo) -> Result<Option<HeadRef>> {
        self.working_copy()?.current_head(repo).await
    }

    /// See [`WorkingCopy::remote_of`].
    pub async fn remote_of(&self, repo: &Repo, owner: Option<&str>) -> Option<String> {
        self.working_copy().ok()?.remote_of(repo, owner).await
    }

    /// The clone that the user works in, if `repo` is one of its remotes.
    pub async fn clone_of(&self, repo: &Repo) -> Option<LocalClone> {
        self.forges().ok()?.clone_of(&self.place, repo).await
    }

    /// Git where the user stands.
    #[must_use]
    pub fn git(&self) -> &Git {
        self.place.git()
    }

    /// What git's configuration says there.
    ///
    /// # Errors
    /// As [`GitConfig::read`].
    pub async fn git_config(&self) -> Result<&GitConfig> {
        self.place.config().await
    }
}
