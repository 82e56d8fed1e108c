//! Tests many processes that claim one issue, and processes that are killed while they claim.

use std::{process::Stdio, thread, time::Duration};

use forge_github_double::{ALL_SCOPES, Fault, GitHubDouble, Options, state::Permission};
use forge_testkit::{Identity, Output, Run, Scratch};
use serde_json::Value;

const REPO: &str = "octo/tools";
const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";
const CLAIMERS: usize = 20;

/// Where the issues are stored.
enum Place {
    Repository(forge_testkit::GitDir),
    GitHub(GitHubDouble),
}

struct World {
    scratch: Scratch,
    place: Place,
}

impl World {
    /// Creates a git repository. The states of ralph's workflow are fields of its issues.
    fn local() -> Self {
        let scratch = Scratch::new();
        let git = scratch.repository("repo");
        Self {
            scratch,
            place: Place::Repository(git),
        }
    }

    /// Creates a GitHub double. The states of ralph's workflow are labels of its issues.
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

    /// Returns `forge` without a repository argument.
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

    /// Opens issue `number` in the state *Research Needed*.
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

    /// Makes concurrent claims. Returns the winner and its claim, which the errors of the other
    /// processes must name.
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
fn claim_race_of_twenty_has_a_single_winner() {
    for world in [World::local(), World::github()] {
        world.issue("1");
        let (_, claim) = world.race("1", CLAIMERS);
        world.complete("1", &claim).ok();
    }
}

#[test]
fn stale_holder_is_refused_and_names_current_holder() {
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

/// Shifts the clock of a run by this many minutes, with git's environment variables.
fn wrong_clock(run: Run, minutes: i64) -> Run {
    let now = chrono::Utc::now() + chrono::Duration::minutes(minutes);
    let date = now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    run.env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", date)
}

#[test]
fn claim_race_with_wrong_clocks_has_one_holder() {
    let world = World::local();
    world.issue("1");
    let clocks = [-10, 0, 10];
    let ended: Vec<Output> = thread::scope(|scope| {
        let claims = (0..CLAIMERS).map(|n| {
            let run = world.claim("1", &format!("agent-{n:02}"), "3600");
            wrong_clock(run, clocks[n % clocks.len()])
        });
        let running: Vec<_> = claims
            .map(|run| scope.spawn(move || run.output()))
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let won: Vec<&Output> = ended.iter().filter(|out| out.code == Some(0)).collect();
    let [winner] = won.as_slice() else {
        panic!("{ended:?}");
    };
    let claim = winner.json()["claim"]["id"].as_str().unwrap().to_owned();
    for minutes in clocks {
        let other = world.claim("1", "other", "3600");
        let refused = wrong_clock(other, minutes).output().exits(1).stderr_text();
        assert!(refused.contains("holds it"), "{refused}");
    }
    // If a lease is shorter than the clock difference, it ends early and its holder gets a warning.
    world.complete("1", &claim).ok();
    world.issue("2");
    let early = wrong_clock(world.claim("2", "early", "60"), -10);
    let early = early.output().success().json()["claim"]["id"].clone();
    let (winner, claim) = world.race("2", 4);
    let refused = world.complete("2", early.as_str().unwrap());
    let refused = refused.output().exits(1).stderr_text();
    assert!(refused.contains(&winner), "{refused}");
    world.complete("2", &claim).ok();
}

#[test]
fn github_lease_survives_a_wrong_clock() {
    for minutes in [-10, 10] {
        let world = World::github();
        let Place::GitHub(double) = &world.place else {
            panic!("the double");
        };
        double.seed().set_clock_ahead(60 * minutes);
        world.issue("1");
        let first = world.claim("1", "first", "300").output().success().json();
        // GitHub's clock is ten minutes behind, so a lease of five minutes has expired by any other
        // clock.
        for _ in 0..2 {
            let refused = world.claim("1", "second", "300").output().exits(1);
            let refused = refused.stderr_text();
            assert!(refused.contains("first"), "{minutes}: {refused}");
        }
        let claim = first["claim"]["id"].as_str().unwrap();
        world.complete("1", claim).ok();
    }
}

#[test]
fn claim_race_with_killed_claimers_has_one_holder() {
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
fn github_race_with_lost_responses_has_one_holder() {
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

impl World {
    /// Creates a new issue, and a pull request that closes it but was merged without moving it.
    /// Returns both URLs.
    fn merged(&self, branch: &str) -> (String, String) {
        let issue = self.forge(&["issue", "create", "-t", branch, "-b", ""]);
        let issue = issue.text().trim().to_owned();
        let files = [(branch, Some("x\n"))];
        match &self.place {
            Place::Repository(git) => {
                git.commit(branch, branch, &files);
            }
            Place::GitHub(double) => {
                double.seed().commit(REPO, branch, &files, branch);
            }
        }
        let create = ["pr", "create", "-H", branch, "-B", "main", "-t", branch];
        let create = [&create[..], &["-b", "", "--closes", &issue]].concat();
        let pull = self.forge(&create).text().trim().to_owned();
        let nowhere = ["config", "set", "workflow.definition", "/nowhere.toml"];
        self.run(&nowhere).ok();
        self.forge(&["pr", "merge", &pull, "--squash"]).ok();
        self.run(&["config", "unset", "workflow.definition"]).ok();
        (issue, pull)
    }
}

#[test]
fn killed_reconcile_moves_issue_once() {
    for world in [World::local(), World::github()] {
        let store = match world.place {
            Place::Repository(_) => "fields",
            Place::GitHub(_) => "labels",
        };
        world.run(&["config", "set", "workflow.store", store]).ok();
        for (n, wait) in [0, 20, 40, 60, 90, 140, 220].into_iter().enumerate() {
            let (issue, pull) = world.merged(&format!("work-{n}"));
            let reconcile = || world.forge(&["workflow", "reconcile", &pull]);
            for _ in 0..2 {
                let mut child = (reconcile().command())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                thread::sleep(Duration::from_millis(wait));
                child.kill().unwrap();
                child.wait().unwrap();
            }
            for _ in 0..3 {
                reconcile().ok();
            }
            let view = ["issue", "view", &issue, "--json", "state,comments"];
            let view = world.forge(&view).output().success().json();
            assert_eq!(view["state"], "CLOSED");
            let comments = view["comments"].as_array().unwrap().iter();
            let bodies = comments.map(|c| c["body"].as_str().unwrap());
            let merges = bodies.filter(|body| body.contains("by the merge of"));
            assert_eq!(merges.count(), 1, "{wait} ms: {view}");
            let group = ["workflow", "group", &issue, "--json", "issues"];
            let group = world.forge(&group).output().success().json();
            assert_eq!(group["issues"][0]["workflowState"], "Done");
        }
    }
}

#[test]
fn concurrent_reconciles_move_an_issue_once() {
    let world = World::github();
    world
        .run(&["config", "set", "workflow.store", "labels"])
        .ok();
    let (issue, pull) = world.merged("work");
    let ended: Vec<Value> = thread::scope(|scope| {
        let running: Vec<_> = (0..4)
            .map(|_| world.forge(&["workflow", "reconcile", &pull, "--json"]))
            .map(|run| scope.spawn(move || run.output().success().json()))
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let moved = |report: &Value| report["transitioned"].as_array().unwrap().len();
    assert_eq!(ended.iter().map(moved).sum::<usize>(), 1, "{ended:?}");
    let view = ["issue", "view", &issue, "--json", "comments"];
    let view = world.forge(&view).output().success().json();
    let comments = view["comments"].as_array().unwrap().iter();
    let bodies = comments.map(|c| c["body"].as_str().unwrap());
    let merges = bodies.filter(|body| body.contains("by the merge of"));
    assert_eq!(merges.count(), 1, "{view}");
}
