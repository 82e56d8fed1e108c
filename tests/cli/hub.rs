//! The GitHub double with one repository, and users whose tokens the double accepts.

use forge_github_double::{ALL_SCOPES, GitHubDouble, Options, PullSeed, state::Permission};
use forge_testkit::{Identity, Run, Scratch};

pub const REPO: &str = "octo/tools";
pub const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";

/// The double, and a home directory of Ada's.
pub struct Hub {
    pub double: GitHubDouble,
    pub scratch: Scratch,
}

impl Hub {
    pub fn new() -> Self {
        let double = GitHubDouble::start(Options::default()).unwrap();
        {
            let mut seed = double.seed();
            seed.org("octo", &[("ada", Permission::Admin)]);
            seed.token(TOKEN, "ada", ALL_SCOPES);
            seed.repo_with_readme(REPO);
            seed.collaborator(REPO, "grace", Permission::Write);
            seed.team("octo", "core", &["grace"]);
            seed.label(REPO, "bug");
            seed.milestone(REPO, "v1.0");
            seed.project("octo", "Roadmap", &["Todo"]);
            seed.commit(REPO, "feature", &[("a.txt", Some("one\n"))], "Add a");
        }
        Self {
            double,
            scratch: Scratch::new(),
        }
    }

    /// Creates a hub with Grace's pull request 1 from branch `work`.
    pub fn with_pull() -> Self {
        let hub = Self::new();
        hub.open_work();
        hub
    }

    /// Opens Grace's pull request from branch `work`.
    pub fn open_work(&self) {
        self.double.seed().open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: "Work",
                head: "work",
                ..PullSeed::default()
            },
        );
    }

    /// Returns `forge` with Ada's token.
    pub fn forge(&self, args: &[&str]) -> Run {
        let run = self.scratch.forge(&self.scratch.path(""), &Identity::ADA);
        self.as_ada(run).args(args)
    }

    /// Adds Ada's token to a program's environment.
    pub fn as_ada(&self, run: Run) -> Run {
        self.double
            .env(TOKEN)
            .into_iter()
            .fold(run, |run, (key, value)| run.env(key, value))
    }
}
