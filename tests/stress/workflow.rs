//! Many processes that claim one issue, and claimers that are killed.

use std::{process::Stdio, thread, time::Duration};

use forge_testkit::{
    Identity, Output, Run, Scratch,
    github::{ALL_SCOPES, Fault, GitHubDouble, Options, state::Permission},
};
use serde_json::Value;

const REPO: &str = "octo/tools";
const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";
const CLAIMERS: usize = 20;

/// Where the issues are.
enum Place {
    Repository(forge_testkit::GitDir),
    GitHub(GitHubDouble),
}

struct World {
    scratch: Scratch,
    place: Place,
}

impl World {
    /// A git repository; ralph's states are fields of its issues.
    fn local() -> Self {
        let scratch = Scratch::new();
        let git = scratch.repository("repo");
        Self {
            scratch,
            place: Place::Repository(git),
        }
    }

    /// The GitHub double; ralph's states are labels.
    fn github() -> Self {
        let double = GitHubDouble::start(Options::default()).unwrap();
        {
            let mut seed = double.seed();
            seed.org("octo", &[("ada", Permission::Admin)]);
            seed.token(TOKEN, "ada", ALL_SCOPES);
            seed.repo_with_readme(REPO);
        }
        let world = Self {
            scratch: Scratch::new(),
            place: Place::GitHub(double),
        };
        let prefix = ["config", "set", "workflow.label_prefix", "state: "];
        world.run(&prefix).ok();
        world.forge(&["workflow", "init"]).ok();
        world
    }

    /// `forge`, without a repository.
    fn run(&self, args: &[&str]) -> Run {
        let dir = match &self.place {
            Place::Repository(git) => git.path().to_owned(),
            Place::GitHub(_) => self.scratch.path(""),
        };
        let mut run = self.scratch.forge(&dir, &Identity::ADA);
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            run = run.without_env(name);
        }
        if let Place::GitHub(double) = &self.place {
            for (key, value) in double.env(TOKEN) {
                run = run.env(key, value);
            }
        }
        run.args(args)
    }

    fn forge(&self, args: &[&str]) -> Run {
        match &self.place {
            Place::Repository(_) => self.run(args),
            Place::GitHub(_) => self.run(&[args, &["-R", REPO]].concat()),
        }
    }

    /// Opens issue `number` in *Research Needed*.
    fn issue(&self, number: &str) {
        self.forge(&["issue", "create", "-t", "One", "-b", ""]).ok();
        let to = ["workflow", "set-state", number, "Research Needed"];
        self.forge(&[&to[..], &["-c", "triage"]].concat()).ok();
    }

    fn claim(&self, number: &str, holder: &str, lease: &str) -> Run {
        self.forge(&[
            "workflow", "claim", number, "-c", "research", "--holder", holder, "--lease", lease,
            "--json",
        ])
    }

    /// Claims by many processes at once: the winner and its claim. The others name it.
    fn race(&self, number: &str, count: usize) -> (String, String) {
        let name = |n: usize| format!("agent-{n:02}");
        let ended: Vec<Output> = thread::scope(|scope| {
            let claims = (0..count).map(|n| self.claim(number, &name(n), "3600"));
            let running: Vec<_> = claims
                .map(|run| scope.spawn(move || run.output()))
                .collect();
            running.into_iter().map(|r| r.join().unwrap()).collect()
        });
        let won: Vec<usize> = (0..count).filter(|n| ended[*n].code == Some(0)).collect();
        let [winner] = won.as_slice() else {
            panic!("{number}: {won:?} of {ended:?}");
        };
        for out in ended.iter().filter(|out| out.code != Some(0)) {
            let said = out.stderr_text();
            assert!(said.contains(&name(*winner)), "{said}");
        }
        let claim: Value = ended[*winner].json();
        let id = claim["claim"]["id"].as_str().unwrap().to_owned();
        (name(*winner), id)
    }

    fn complete(&self, number: &str, claim: &str) -> Run {
        self.forge(&[
            "workflow",
            "set-state",
            number,
            "__COMPLETE__",
            "-c",
            "research",
            "--claim",
            claim,
        ])
    }
}

#[test]
fn one_of_twenty_processes_wins_a_claim() {
    for world in [World::local(), World::github()] {
        world.issue("1");
        let (_, claim) = world.race("1", CLAIMERS);
        world.complete("1", &claim).ok();
    }
}

#[test]
fn stale_holder_is_refused_and_names_who_holds() {
    for world in [World::local(), World::github()] {
        world.issue("1");
        let dead = world.claim("1", "dead", "1").output().success().json();
        let dead = dead["claim"]["id"].as_str().unwrap().to_owned();
        thread::sleep(Duration::from_millis(2_100));
        let (winner, claim) = world.race("1", CLAIMERS);
        let refused = world.complete("1", &dead).output().exits(1).stderr_text();
        assert!(refused.contains(&winner), "{refused}");
        world.complete("1", &claim).ok();
    }
}

#[test]
fn killed_claimers_leave_each_issue_to_one() {
    for world in [World::local(), World::github()] {
        let numbers: Vec<String> = (1..=12).map(|n: u64| n.to_string()).collect();
        for number in &numbers {
            world.issue(number);
        }
        for (n, number) in (0_u64..).zip(&numbers) {
            let mut child = (world.claim(number, "killed", "1").command())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(6 * n));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        thread::sleep(Duration::from_millis(2_100));
        for number in &numbers {
            let (_, claim) = world.race(number, 4);
            world.complete(number, &claim).ok();
        }
    }
}

#[test]
fn lost_answers_of_github_leave_one_holder() {
    for skip in 0..2 {
        let world = World::github();
        world.issue("1");
        let Place::GitHub(double) = &world.place else {
            panic!("the double");
        };
        double.fault(Fault::status(502).on_mutations().committed().skip(skip));
        let (_, claim) = world.race("1", 6);
        world.complete("1", &claim).ok();
    }
}
