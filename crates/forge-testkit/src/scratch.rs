use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{GitDir, Identity, Run, forge_binary};

/// A directory with a separate home: no configuration of the user or the machine reaches a program
/// that runs in the directory.
#[derive(Debug)]
pub struct Scratch {
    root: TempDir,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// Creates an empty directory.
    ///
    /// # Panics
    ///
    /// Panics if the directory cannot be created.
    #[must_use]
    pub fn new() -> Self {
        let root = TempDir::with_prefix("forge-test-").expect("a temporary directory");
        fs::create_dir_all(root.path().join("home/.config")).expect("a home");
        let config =
            "[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
        fs::write(root.path().join("home/.gitconfig"), config).expect("git's configuration");
        Self { root }
    }

    /// Returns a path inside the directory.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(below)
    }

    /// Writes a file inside the directory and returns its path.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be written.
    pub fn write(&self, below: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("a path inside has a parent")).expect("directory");
        fs::write(&path, content).expect("a file in the scratch directory");
        path
    }

    /// Returns a [`Run`] of `program` in the root of the directory, with this home.
    pub fn run(&self, program: impl Into<PathBuf>) -> Run {
        self.variables()
            .into_iter()
            .fold(Run::new(program, self.root.path()), |run, (key, value)| {
                run.env(key, value)
            })
    }

    /// Returns a [`Run`] of the `forge` binary in `dir`, as `identity`, with this home.
    #[must_use]
    pub fn forge(&self, dir: &Path, identity: &Identity) -> Run {
        identity
            .variables()
            .into_iter()
            .fold(self.run(forge_binary()), |run, (key, value)| {
                run.env(key, value)
            })
            .dir(dir)
    }

    /// Creates a repository named `below`, with a first commit on `main`.
    #[must_use]
    pub fn repository(&self, below: impl AsRef<Path>) -> GitDir {
        GitDir::init(&self.path(below), &[])
    }

    /// Returns the environment that isolates a program: its home, and git's configuration.
    fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.path("home");
        vec![
            ("XDG_CONFIG_HOME", home.join(".config")),
            ("XDG_CACHE_HOME", home.join(".cache")),
            ("XDG_DATA_HOME", home.join(".local/share")),
            ("XDG_STATE_HOME", home.join(".local/state")),
            ("GIT_CONFIG_GLOBAL", home.join(".gitconfig")),
            ("GIT_CONFIG_NOSYSTEM", PathBuf::from("1")),
            ("HOME", home),
            // No test may reach a network host or the tokens of the user's own gh.
            ("HTTPS_PROXY", PathBuf::from("http://127.0.0.1:9")),
            ("GH_PATH", self.path("no-gh")),
        ]
    }
}
