use std::path::{Path, PathBuf};

use forge_core::{Result, Trust};
use tokio::sync::OnceCell;

use crate::{Git, GitConfig};

/// Git in a directory, with its configuration and root, each read once on first use.
#[derive(Debug)]
pub struct WorkingDir {
    git: Git,
    config: OnceCell<GitConfig>,
    root: OnceCell<Option<PathBuf>>,
}

impl WorkingDir {
    /// Returns the current directory, or the repository of `GIT_DIR`, with a person's trust.
    #[must_use]
    pub fn here() -> Self {
        Self::of(Git::here())
    }

    /// Returns the directory `dir`, chosen with `trust`. `GIT_DIR` applies if `dir` is the current
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

    /// Git in this directory.
    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Git's configuration in this directory.
    ///
    /// # Errors
    /// The errors of [`GitConfig::read`].
    pub async fn config(&self) -> Result<&GitConfig> {
        self.config
            .get_or_try_init(|| GitConfig::read(&self.git))
            .await
    }

    /// Returns the repository's root without symbolic links; `None` outside of a repository.
    pub async fn root(&self) -> Option<&Path> {
        let find = async || crate::root(&self.git).await.ok()?.canonicalize().ok();
        self.root.get_or_init(find).await.as_deref()
    }
}
