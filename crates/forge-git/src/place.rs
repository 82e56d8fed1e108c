use std::path::{Path, PathBuf};

use forge_core::{Result, Trust};
use tokio::sync::OnceCell;

use crate::{Git, GitConfig};

/// Where somebody stands: git in a directory, and what is configured there, read once and no
/// earlier than somebody asks.
#[derive(Debug)]
pub struct Place {
    git: Git,
    config: OnceCell<GitConfig>,
    root: OnceCell<Option<PathBuf>>,
}

impl Place {
    /// The current directory, or what `GIT_DIR` says: a person stands there.
    #[must_use]
    pub fn here() -> Self {
        Self::of(Git::here())
    }

    /// `dir`, chosen by `trust`. Where that is the process's own directory, `GIT_DIR` counts, as it
    /// does for git.
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

    /// Git there.
    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// What is configured there.
    ///
    /// # Errors
    /// As [`GitConfig::read`].
    pub async fn config(&self) -> Result<&GitConfig> {
        self.config
            .get_or_try_init(|| GitConfig::read(&self.git))
            .await
    }

    /// The directory that names the repository there, without symbolic links; `None` outside of a
    /// repository.
    pub async fn root(&self) -> Option<&Path> {
        let find = async || crate::root(&self.git).await.ok()?.canonicalize().ok();
        self.root.get_or_init(find).await.as_deref()
    }
}
