//! The user's working directory: a stranger's repository with a canary in every place from which
//! git takes a program.

use std::{fs, path::PathBuf};

use forge_testkit::{GitDir, Identity, Run, Scratch};

use crate::{
    canaries::{Canaries, Sighting},
    local_world::DATE,
    plant::{Variant, plant},
};

pub struct Ground {
    pub scratch: Scratch,
    pub canaries: Canaries,
    pub repo: PathBuf,
}

impl Ground {
    /// Creates a repository whose `origin` is at `remote`.
    pub fn new(variant: Variant, remote: &str) -> Self {
        Self::filled(variant, remote, |_, _| ()).0
    }

    /// Creates a repository as [`Self::new`] does, and calls `fill` before it plants the canaries.
    pub fn filled<T>(
        variant: Variant,
        remote: &str,
        fill: impl FnOnce(&Scratch, &GitDir) -> T,
    ) -> (Self, T) {
        let scratch = Scratch::new();
        let canaries = Canaries::new(&scratch);
        let git = scratch.repository("repo");
        for branch in ["work-1", "feature-1"] {
            let file = format!("{branch}.txt");
            git.commit(branch, "Work", &[(&file, Some("one\n"))]);
        }
        git.run(["remote", "add", "origin", remote]).ok();
        let filled = fill(&scratch, &git);
        let repo = git.path().to_owned();
        let outside = scratch.path("outside");
        fs::create_dir_all(&outside).unwrap();
        let in_path = [
            "ssh",
            "gpg",
            "ssh-keygen",
            "git-remote-canary",
            "git-remote-canary-vcs",
        ];
        canaries.directory("bin", &in_path);
        plant(variant, &repo.join(".git"), &outside, &canaries);
        let ground = Self {
            scratch,
            canaries,
            repo,
        };
        (ground, filled)
    }

    /// Returns `forge` with Ada's settings, run in the repository.
    pub fn forge(&self) -> Run {
        let bin = self.scratch.path("canaries/bin");
        let path = std::env::var("PATH").unwrap_or_default();
        self.scratch
            .forge(&self.repo, &Identity::ADA)
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("GIT_AUTHOR_DATE", DATE)
            .env("GIT_COMMITTER_DATE", DATE)
            .env("FORGE_TIMEOUT", "2")
            .env("FORGE_WAIT", "1")
            .env("FORGE_PROMPT_DISABLED", "1")
    }

    /// Returns the path of a program that no process may run.
    pub fn program(&self) -> String {
        self.canaries.program("of-an-answer")
    }

    /// Returns the programs that ran although the user did not choose them.
    pub fn ran(&mut self) -> Vec<Sighting> {
        self.canaries.sightings()
    }
}
