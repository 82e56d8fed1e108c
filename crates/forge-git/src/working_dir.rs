use std::path::{Path, PathBuf};

use forge_core::{Result, Trust};
use tokio::sync::OnceCell;

use crate::{Git, GitConfig, path_of, state_files::without_line_end};

/// A directory with its [`Git`], its git configuration, the root of its repository, and the top of
/// its work tree. Configuration, root and top are read on first use.
#[derive(Debug)]
pub struct WorkingDir {
    git: Git,
    config: OnceCell<GitConfig>,
    root: OnceCell<Option<PathBuf>>,
    top: OnceCell<Option<PathBuf>>,
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
            top: OnceCell::new(),
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

    /// Returns the directory from which git resolves a relative URL of a remote: the top of this
    /// work tree, which may be a linked one, or the root of a bare repository. `None` outside of a
    /// repository.
    pub async fn top(&self) -> Option<&Path> {
        let find = async || {
            let printed = self.git.run(["rev-parse", "--show-toplevel"]).await.ok()?;
            match printed.status {
                0 => Some(path_of(without_line_end(&printed.stdout))),
                _ => self.root().await.map(Path::to_owned),
            }
        };
        self.top.get_or_init(find).await.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn top_of_linked_work_tree_is_not_root() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let git = Git::at(&dir);
        let empty_tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        git.run_ok(["init", "--quiet", "main"]).await.unwrap();
        let main = git.in_dir(dir.join("main"));
        main.run_ok(["hash-object", "-wt", "tree", "/dev/null"])
            .await
            .unwrap();
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let commit = [&who[..], &["commit-tree", empty_tree, "-m", "x"]].concat();
        let commit = main.run_ok(commit).await.unwrap();
        let commit = String::from_utf8(commit).unwrap();
        let add = ["worktree", "add", "--quiet", "--detach", "../linked"];
        main.run_ok([&add[..], &[commit.trim()]].concat())
            .await
            .unwrap();
        let place = WorkingDir::at(&dir.join("linked"), Trust::Person);
        assert_eq!(place.top().await, Some(&*dir.join("linked")));
        assert_eq!(place.root().await, Some(&*dir.join("main")));
    }
}
