//! Finds the installed versions of git.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest git that `forge` accepts.
const MIN_VERSION: (u32, u32) = (2, 38);

/// A git program and its version.
#[derive(Debug)]
pub struct GitProgram {
    /// Path of the program.
    pub program: PathBuf,
    /// Version, such as `2.39.5`.
    pub version: String,
}

impl GitProgram {
    fn ask(program: PathBuf) -> Option<Self> {
        let out = Command::new(&program).arg("version").output().ok()?;
        let said = String::from_utf8(out.stdout).ok()?;
        let version = said
            .strip_prefix("git version ")?
            .split_whitespace()
            .next()?
            .to_owned();
        Some(Self { program, version })
    }

    /// Returns true if this version is close to the oldest supported one.
    pub fn is_old(&self) -> bool {
        self.numbers() < Some((MIN_VERSION.0, MIN_VERSION.1 + 2))
    }

    fn numbers(&self) -> Option<(u32, u32)> {
        let mut parts = self.version.split('.').map(|p| p.parse().ok());
        Some((parts.next()??, parts.next()??))
    }
}

/// Returns the git in use: `FORGE_GIT`, else the first in `PATH`.
pub fn current() -> Option<GitProgram> {
    GitProgram::ask(std::env::var_os("FORGE_GIT").map_or_else(|| "git".into(), PathBuf::from))
}

/// Returns the oldest other supported git, in the directories of distributions and in `PATH`.
pub fn find_oldest_git(current: &GitProgram) -> Option<GitProgram> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/bin").to_path_buf()])
        .filter_map(|dir| GitProgram::ask(dir.join("git")))
        .filter(|git| git.numbers() >= Some(MIN_VERSION) && git.numbers() < current.numbers())
        .min_by_key(GitProgram::numbers)
}
