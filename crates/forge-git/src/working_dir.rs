use std::path::{Path, PathBuf};

use forge_core::{Result, Trust};
use tokio::sync::OnceCell;

use crate::{Git, GitConfig};

/// A directory with its [`Git`], its git configuration, and the root of its repository.
/// Configuration and root are read on first use.
#[derive(Debug)]
pub struct WorkingDir {
    git: Git,
    config: OnceCell<GitConfig>,
    root: OnceCell<Option<PathBuf>>,
}

impl WorkingDir {
    /// Returns the current directory, or the repository that `GIT_DIR` names, with
    /// [`Trust::Person`].
    #[must_use]
    pub fn here() -> Self {
        Self::of(Git::here())
    }

    /// Returns the directory `dir` with the given trust. `GIT_DIR` applies if `dir` is the current
    /// directory of the process, as for git.
    #[must_use]
    pub fn at(dir: &Path, trust: Trust) -> Self {
        let here = dir == Path::new(".") || std::env::current_dir().is_ok_and(|cwd| cwd == dir);
        let git = if here { Git::here() } else { Git::at(dir) };
        Self::of(git.with_trust(trust))
    }

    fn of(git: Git) -> Self {
        Self {
            git,
            config: OnceCell::new(),
            root: OnceCell::new(),
        }
    }

    /// Returns git for this directory.
    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Returns the git configuration of this directory.
    ///
    /// # Errors
    /// The errors of [`GitConfig::read`].
    pub async fn config(&self) -> Result<&GitConfig> {
        self.config
            .get_or_try_init(|| GitConfig::read(&self.git))
            .await
    }

    /// Returns the root of the repository without symbolic links, or `None` outside of a
    /// repository.
    pub async fn root(&self) -> Option<&Path> {
        let find = async || crate::root(&self.git).await.ok()?.canonicalize().ok();
        self.root.get_or_init(find).await.as_deref()
    }
}
