//! Pull requests and issues kept inside a git repository, under `refs/forge/`.
//!
//! [`Local::open`] finds the repository and returns a [`Forge`]. The history of a pull request is
//! the history of its ref (`git log --first-parent refs/forge/pulls/7`), and every write is a
//! compare-and-swap on that ref. Files of work trees change in one case: if a write moves a branch
//! that is checked out. `docs/reference/local.md` describes the format.
//!
//! A plain repository has no accounts and no permissions: anyone with write access to the
//! repository can write under any name. The viewer is the user of git's configuration.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
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

use labels::SortedLabels;
use repository::LocalRepository;
use store::EventStore;

pub use caps::CAPABILITIES;
pub use store::StoreCache;

/// The pull requests and issues of one git repository.
#[derive(Debug)]
pub struct Local {
    repository: LocalRepository,
    store: EventStore,
    info: ForgeInfo,
    sorted_labels: Mutex<Option<SortedLabels>>,
}

impl Local {
    /// Opens the repository at `path`: a work tree or a directory in it, a linked work tree, a bare
    /// repository, or a `.git` directory. `trust` says who chose the path, and so which programs
    /// git may start.
    ///
    /// # Errors
    /// - `not_found`: there is no repository.
    /// - `config`: git is older than 2.38.
    /// - `git`: git refuses the repository, for example because it belongs to another user, or
    ///   because it is bare and was not named by its exact path.
    pub async fn open(path: &Path, trust: Trust) -> Result<Arc<Self>> {
        Self::open_with(path, trust, None).await
    }

    /// Like [`Local::open`], but uses the cache `shared`, which several calls share.
    ///
    /// # Errors
    /// The errors of [`Local::open`].
    pub async fn open_shared(
        path: &Path,
        trust: Trust,
        shared: Arc<StoreCache>,
    ) -> Result<Arc<Self>> {
        Self::open_with(path, trust, Some(shared)).await
    }

    async fn open_with(
        path: &Path,
        trust: Trust,
        shared: Option<Arc<StoreCache>>,
    ) -> Result<Arc<Self>> {
        let repository = LocalRepository::find(path, trust).await?;
        let store = EventStore {
            git: repository.git.clone(),
            common_dir: repository.common_dir.clone(),
            url: repository.url(),
            shared,
        };
        Ok(Arc::new(Self {
            repository,
            store,
            info: ForgeInfo::new(ForgeKind::LOCAL, ""),
            sorted_labels: Mutex::default(),
        }))
    }

    /// Returns the id of the repository: the path of the main work tree, or of the bare repository.
    #[must_use]
    pub fn id(&self) -> &RepoId {
        &self.repository.id
    }

    /// Returns the directory of the main work tree, or of the bare repository.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.repository.root
    }

    pub(crate) fn git(&self) -> &Git {
        &self.repository.git
    }

    /// Returns the [`Git`] for diffs that are shown to users. It ignores the attribute files of
    /// work trees.
    pub(crate) fn git_for_diffs(&self) -> Git {
        self.git()
            .without_work_tree(self.repository.common_dir.as_path())
    }

    /// Returns the [`Git`] that runs in the work tree that the user named or is in. Used for the
    /// identity of the viewer and for signing commits.
    pub(crate) fn user_git(&self) -> &Git {
        &self.repository.user_git
    }

    pub(crate) fn url(&self) -> String {
        self.repository.url()
    }

    /// Refuses the id of another repository.
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

    /// Returns the number of a pull request. Refuses a pull request of another repository.
    pub(crate) fn number(&self, pr: &PrId) -> Result<u64> {
        self.check(&pr.repo)?;
        match &pr.key {
            PrKey::Number(n) => Ok(*n),
            PrKey::Record(_) => Err(Error::invalid(
                "pr",
                format!("{pr} is not a pull request of a git repository"),
            )
            .with_hint("name it by its number")),
        }
    }

    /// Returns the number of an issue. Refuses an issue of another repository.
    pub(crate) fn issue_number(&self, issue: &IssueId) -> Result<u64> {
        self.check(&issue.repo)?;
        match &issue.key {
            PrKey::Number(n) => Ok(*n),
            PrKey::Record(_) => Err(Error::invalid(
                "issue",
                format!("{issue} is not an issue of a git repository"),
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
        // Each call runs git processes. More than four calls at once would be slower.
        NonZeroUsize::MIN.saturating_add(3)
    }

    fn web_page(&self, _: &RepoId, _: &WebPage<'_>) -> Option<String> {
        None
    }
}
