//! Pull requests and issues kept inside a git repository, under `refs/forge/`.
//!
//! [`Local::open`] finds the repository; what it gives is a [`Forge`] like any other. The history of
//! a pull request is the history of its ref (`git log --first-parent refs/forge/pulls/7`), every
//! write is a compare-and-swap on that ref. A work tree is touched in one case: its files follow a
//! merge into the branch that it has checked out. `docs/local.md` has the
//! format.
//!
//! A plain repository has no accounts and no permissions: whoever can write to it can write as
//! anybody. The viewer is whom git's own configuration names.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_core::{
    Capabilities, Error, Forge, ForgeInfo, ForgeKind, PrId, PrKey, RepoId, RepoPath, Result, Trust,
    WebPage, model::IssueId,
};
use forge_git::Git;

mod attachments;
mod caps;
mod checks;
mod diff;
mod ident;
mod issues;
mod labels;
mod links;
mod merge;
mod paging;
mod pulls;
mod repo_file;
mod repos;
mod repository;
mod reviews;
mod store;
mod validate;
mod work_trees;

use repository::Repository;
use store::Store;

pub use caps::CAPABILITIES;
pub use store::Shared;

/// The pull requests of one git repository.
#[derive(Debug)]
pub struct Local {
    repository: Repository,
    store: Store,
    info: ForgeInfo,
}

impl Local {
    /// The repository at `path`: a work tree or a directory in it, a linked work tree, a bare
    /// repository, or a `.git` directory. `trust` says who chose the path.
    ///
    /// # Errors
    /// `not_found` when there is none; `config` when git is older than 2.38; `git` when git refuses
    /// it, as it does with a repository that belongs to somebody else, and with a bare one that
    /// nobody named by its own path.
    pub async fn open(path: &Path, trust: Trust) -> Result<Arc<Self>> {
        Self::open_with(path, trust, None).await
    }

    /// As [`Local::open`], with what earlier ones have left for later ones.
    ///
    /// # Errors
    /// As [`Local::open`].
    pub async fn open_shared(path: &Path, trust: Trust, shared: Arc<Shared>) -> Result<Arc<Self>> {
        Self::open_with(path, trust, Some(shared)).await
    }

    async fn open_with(
        path: &Path,
        trust: Trust,
        shared: Option<Arc<Shared>>,
    ) -> Result<Arc<Self>> {
        let repository = Repository::find(path, trust).await?;
        let store = Store {
            git: repository.git.clone(),
            common_dir: repository.common_dir.clone(),
            url: repository.url(),
            shared,
        };
        let info = ForgeInfo {
            kind: ForgeKind::LOCAL,
            host: String::new(),
        };
        Ok(Arc::new(Self {
            repository,
            store,
            info,
        }))
    }

    /// What names the repository: its main work tree, or itself when it is bare.
    #[must_use]
    pub fn id(&self) -> &RepoId {
        &self.repository.id
    }

    /// That directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.repository.root
    }

    pub(crate) fn git(&self) -> &Git {
        &self.repository.git
    }

    /// Git in the work tree that was named or that the process stands in: for who somebody is and how
    /// commits are signed.
    pub(crate) fn here(&self) -> &Git {
        &self.repository.here
    }

    pub(crate) fn url(&self) -> String {
        self.repository.url()
    }

    /// Refuses an id of another repository.
    pub(crate) fn check(&self, repo: &RepoId) -> Result<()> {
        let ours = match &repo.path {
            RepoPath::Dir(dir) if repo.kind == ForgeKind::LOCAL => {
                dir == &self.repository.root || canonical(dir) == self.repository.root
            }
            _ => false,
        };
        if ours {
            return Ok(());
        }
        Err(Error::invalid(
            "repo",
            format!("{repo} is not {}, which is open here", self.url()),
        )
        .with_hint("open the repository that you mean"))
    }

    /// The number of one of our pull requests.
    pub(crate) fn number(&self, pr: &PrId) -> Result<u64> {
        self.check(&pr.repo)?;
        match &pr.key {
            PrKey::Number(n) => Ok(*n),
            PrKey::Record(_) => Err(Error::invalid(
                "pr",
                format!("{pr} is no pull request of a git repository"),
            )
            .with_hint("name it by its number")),
        }
    }

    /// The number of one of our issues.
    pub(crate) fn issue_number(&self, issue: &IssueId) -> Result<u64> {
        self.check(&issue.repo)?;
        match &issue.key {
            PrKey::Number(n) => Ok(*n),
            PrKey::Record(_) => Err(Error::invalid(
                "issue",
                format!("{issue} is no issue of a git repository"),
            )
            .with_hint("name it by its number")),
        }
    }

    pub(crate) fn pr(&self, number: u64) -> PrId {
        PrId::number(self.id().clone(), number)
    }
}

fn canonical(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

impl Forge for Local {
    fn info(&self) -> &ForgeInfo {
        &self.info
    }

    fn capabilities(&self) -> &'static Capabilities {
        &caps::CAPABILITIES
    }

    fn concurrency(&self) -> NonZeroUsize {
        // Each call runs git processes; more at once than this is slower, not faster.
        NonZeroUsize::MIN.saturating_add(3)
    }

    fn web_page(&self, _: &RepoId, _: &WebPage<'_>) -> Option<String> {
        None
    }
}
