//! The GitHub double that both programs use.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_github_double::{
    ALL_SCOPES, GitHubDouble, Options, PullSeed, state::Permission, state::ReviewState,
};
use forge_testkit::{Run, Scratch, forge_binary, git_program};

use crate::gh;

const TOKEN: &str = "gho_monalisa0canary0monalisa0canary0mona";

/// Number of programs; program 0 is forge.
pub const PROGRAMS: usize = 2;

/// A double with a repository for reading and one for writing, and a clone of each.
pub struct Hub {
    pub double: GitHubDouble,
    pub scratch: Scratch,
    gh: PathBuf,
}

/// Number of pull requests in the repository for reading.
const PULLS: usize = 40;

impl Hub {
    /// Creates a hub with `sets` sets of pull requests. In each of the `turns`, a program changes
    /// one pull request of a set.
    pub fn new(latency: Duration, gh: &Path, sets: usize, turns: usize) -> Self {
        let options = Options {
            latency,
            // The double computes mergeability at once, as if a view had requested it earlier.
            merge_state_lag: Some(0),
            ..Options::default()
        };
        let hub = Self {
            double: GitHubDouble::start(options).unwrap(),
            scratch: Scratch::new(),
            gh: gh.to_owned(),
        };
        hub.fill(sets * turns * PROGRAMS, turns);
        let config = hub.scratch.path("home/.gitconfig");
        let mut text = fs::read_to_string(&config).unwrap();
        text.push_str(
            "[user]\n\tname = Mona Lisa\n\temail = mona@example.com\n\
             [credential \"http://github.localhost\"]\n\
             \thelper = \"!f() { echo username=x; echo password=$GH_TOKEN; }; f\"\n",
        );
        fs::write(&config, text).unwrap();
        for place in [Place::Reading, Place::Changes] {
            let url = format!("http://github.localhost/{}.git", place.repo());
            let clone = ["clone", "--quiet", "--branch", place.branch(), &url];
            hub.at_home(hub.scratch.run(git_program()))
                .args(clone)
                .arg(place.dir())
                .ok();
        }
        hub
    }

    /// Opens a large pull request in the repository for reading.
    pub fn large_pull(&self) -> u64 {
        self.double.seed().large_pull(Place::Reading.repo())
    }

    fn fill(&self, changes: usize, turns: usize) {
        let mut seed = self.double.seed();
        seed.named_user("mona", "Mona Lisa");
        seed.token(TOKEN, "mona", ALL_SCOPES);
        for place in [Place::Reading, Place::Changes] {
            let repo = place.repo();
            seed.repo_with_readme(repo);
            seed.collaborator(repo, "mona", Permission::Admin);
            seed.collaborator(repo, "reviewer", Permission::Write);
            for label in ["bug", "help wanted"] {
                seed.label(repo, label);
            }
            seed.milestone(repo, "v1.0");
        }
        let repo = Place::Reading.repo();
        for n in 1..=PULLS {
            let pull = PullSeed {
                author: if n % 10 == 0 { "mona" } else { "octocat" },
                title: &format!("Change number {n} of the tools"),
                body: &"What it does, and why.\n".repeat(20),
                head: &format!("topic-{n}"),
                labels: if n % 2 == 0 { &["bug"] } else { &[] },
                ..PullSeed::default()
            };
            seed.open_pull(repo, &pull);
        }
        let number = SEEN.parse().unwrap();
        for n in 0..10 {
            let body = format!("Comment {n}: what somebody thinks of it.\n");
            seed.comment(repo, number, "octocat", &body);
        }
        seed.review(repo, number, "reviewer", ReviewState::Approved, "Good.");
        for job in ["build", "test", "lint", "docs", "audit"] {
            seed.check(repo, number, "CI", job, "SUCCESS");
        }
        let repo = Place::Changes.repo();
        seed.many_pulls(repo, changes);
        for command in CREATING {
            for turn in 0..turns {
                for program in 0..PROGRAMS {
                    let branch = branch(command, program, turn);
                    let files = [(branch.as_str(), Some("new\n"))];
                    seed.commit(repo, &branch, &files, "Something new");
                }
            }
        }
    }

    /// Returns the program with this number, run in the clone `place`.
    pub fn program(&self, program: usize, place: Place) -> Run {
        let run = if program == 0 {
            self.scratch.run(forge_binary())
        } else {
            gh::quiet(self.scratch.run(&self.gh))
        };
        self.at_home(run).dir(self.scratch.path(place.dir()))
    }

    fn at_home(&self, run: Run) -> Run {
        let run = run
            .env("GH_CONFIG_DIR", self.scratch.path("home/gh"))
            .env("GIT_TERMINAL_PROMPT", "0");
        self.double
            .env(TOKEN)
            .into_iter()
            .fold(run, |run, (key, value)| run.env(key, value))
    }

    /// Deletes gh's cache.
    pub fn delete_gh_cache(&self) {
        let cache = self.scratch.path("home/.cache/gh");
        if cache.exists() {
            fs::remove_dir_all(cache).unwrap();
        }
    }

    /// Runs a command, and returns how many REST and GraphQL requests it sends.
    pub fn count(&self, run: &Run) -> usize {
        self.double.reset_record();
        run.ok();
        self.double.counts().api
    }
}

/// The clone and the branch in which a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Reading,
    Changes,
}

impl Place {
    fn repo(self) -> &'static str {
        match self {
            Self::Reading => "octocat/tools",
            Self::Changes => "octocat/changes",
        }
    }

    fn dir(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Changes => "changes",
        }
    }

    /// Returns the name of the branch that is checked out in this place.
    fn branch(self) -> &'static str {
        match self {
            Self::Reading => "topic-40",
            Self::Changes => "main",
        }
    }
}

/// The pull request that reading commands use.
pub const SEEN: &str = "40";

/// Commands that need a branch without a pull request.
pub const CREATING: [&str; 2] = ["create", "create-with-metadata"];

/// Returns the branch that a command of [`CREATING`] uses in a turn.
pub fn branch(command: &str, program: usize, turn: usize) -> String {
    format!("{command}-{program}-{turn}")
}
