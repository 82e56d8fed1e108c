//! Tests `forge pr watch`: the events that end a watch, the exit codes, and the requests.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use forge_github_double::{
    Fault,
    state::{ReviewState, Rule, Ruleset},
};
use forge_testkit::{Output, Run};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    tangled::world::{Tangled, WIDGET},
    world::World,
};

impl Hub {
    fn watch(&self, more: &[&str]) -> Run {
        let args = ["pr", "watch", "1", "-R", REPO, "--interval", "100ms"];
        self.forge(&[&args, more].concat())
    }

    /// Starts a watch, calls `then` after the first read of the watch, and returns the output.
    fn watch_while(&self, more: &[&str], then: impl FnOnce(&Self)) -> Output {
        let run = self.watch(more);
        self.double.reset_record();
        let watching = thread::spawn(move || run.output());
        while self.double.counts().api == 0 && !watching.is_finished() {
            thread::sleep(Duration::from_millis(5));
        }
        // Waits until the read that is in progress has received its response.
        thread::sleep(Duration::from_millis(200));
        then(self);
        watching.join().unwrap()
    }
}

fn lines(out: &Output) -> Vec<String> {
    out.stdout_text()
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect()
}

#[test]
fn watch_waits_until_checks_register_and_finish() {
    for (state, outcome, code) in [("SUCCESS", "passed", 0), ("FAILURE", "failed", 1)] {
        let hub = Hub::with_pull();
        let out = hub.watch_while(&[], |hub| {
            hub.double.seed().check(REPO, 1, "CI", "build", state);
        });
        let out = out.exits(code);
        let first = out.stdout_text().lines().next().unwrap().to_owned();
        assert!(first.starts_with("seen\t\t\topen at "), "{first}");
        assert!(first.ends_with(", no check has reported yet"), "{first}");
        let status = state.to_lowercase();
        let change = format!("check\tCI / build\t\t{status}");
        assert_eq!(lines(&out), [change, format!("end\tchecks\t\t{outcome}")]);
        assert!(out.stderr.is_empty(), "{out:?}");
    }
}

/// A ruleset that requires the check `deploy`.
fn deploy_ruleset() -> Ruleset {
    let parameters = json!({ "required_status_checks": [{ "context": "deploy" }] });
    Ruleset {
        include: vec!["~DEFAULT_BRANCH".to_owned()],
        rules: vec![Rule {
            kind: "required_status_checks".to_owned(),
            parameters,
        }],
        ..Ruleset::default()
    }
}

#[test]
fn watch_awaits_unreported_required_check() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.ruleset(REPO, deploy_ruleset());
    seed.check(REPO, 1, "CI", "build", "SUCCESS");
    drop(seed);
    let out = hub.watch(&["--timeout", "0s"]).output().exits(8);
    let seen = out.stdout_text();
    assert!(seen.contains(", a required check is missing"), "{seen}");
    assert_eq!(lines(&out), ["end\t\t\tpending"]);
    let out = hub.watch_while(&["--timeout", "5s"], |hub| {
        hub.double.seed().check(REPO, 1, "CI", "deploy", "SUCCESS");
    });
    let came = "check\tCI / deploy\t\tsuccess";
    assert_eq!(lines(&out.exits(0)), [came, "end\tchecks\t\tpassed"]);
}

#[test]
fn watch_counts_check_and_status_of_equal_name() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.check(REPO, 1, "CI", "test", "FAILURE");
    seed.status(REPO, 1, "CI / test", "SUCCESS");
    drop(seed);
    let out = hub.watch(&[]).output().exits(1);
    let said = out.stdout_text();
    assert!(said.contains("checks: 1 passed, 1 failed, "), "{said}");
    assert_eq!(lines(&out), ["end\tchecks\t\tfailed"]);
}

#[test]
fn watch_with_absurd_retry_after_ends_as_pending() {
    let hub = Hub::with_pull();
    let wait = Some(18_446_744_073_709_551_000);
    hub.double.fault(Fault::secondary(429, wait).always());
    let out = hub.watch(&["--timeout", "5s"]).output().exits(8);
    assert!(
        out.stderr_text()
            .contains("the deadline is before the next request")
    );
}

#[test]
fn watch_ended_by_deadline_reports_pending_checks() {
    let hub = Hub::with_pull();
    let out = hub.watch(&["--timeout", "0s"]).output().exits(8);
    assert_eq!(lines(&out), ["end\t\t\tpending"]);
    hub.double
        .seed()
        .check(REPO, 1, "CI", "build", "IN_PROGRESS");
    let out = hub.watch(&["--timeout", "250ms"]).output().exits(8);
    assert_eq!(lines(&out), ["end\t\t\tpending"]);
}

#[test]
fn watch_for_review_or_state_prints_the_event() {
    let hub = Hub::with_pull();
    let out = hub.watch_while(&["--until", "review"], |hub| {
        let mut seed = hub.double.seed();
        seed.review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
    });
    let came = "review\tada\t\tchanges_requested";
    assert_eq!(lines(&out.exits(1)), [came, "end\treview\t\tfailed"]);
    // A review that only comments also ends the watch, which then passes.
    let out = hub.watch_while(&["--until", "review"], |hub| {
        let mut seed = hub.double.seed();
        seed.review(REPO, 1, "ada", ReviewState::Commented, "See above.");
    });
    let came = "review\tada\t\tcommented";
    assert_eq!(lines(&out.exits(0)), [came, "end\treview\t\tpassed"]);
    let out = hub.watch_while(&["--until", "review,state"], |hub| {
        hub.forge(&["pr", "merge", "1", "-R", REPO, "--merge"]).ok();
    });
    assert_eq!(
        lines(&out.exits(0)),
        ["state\t\topen\tmerged", "end\tstate\t\tpassed"]
    );
    // A merged pull request no longer changes, so the watch ends.
    let out = hub.watch(&["--until", "review"]).output().exits(0);
    assert_eq!(lines(&out), ["end\t\t\tpassed"]);
}

#[test]
fn watch_for_verdict_prints_changed_requirements() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    seed.check(REPO, 1, "CI", "build", "IN_PROGRESS");
    drop(seed);
    let out = hub.watch_while(&["--until", "verdict", "--json"], |hub| {
        hub.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    });
    let out = out.exits(0);
    let said = out.stderr_text();
    assert!(
        said.contains("requirement checks_finished: unmet → met\n"),
        "{said}"
    );
    assert!(said.ends_with("end verdict: passed\n"), "{said}");
    let mut verdict = out.json()["verdict"].clone();
    assert_eq!(verdict["readyToMerge"], true);
    let args = ["pr", "context", "1", "-R", REPO, "--json", "verdict"];
    let mut wanted = hub.forge(&args).output().success().json()["verdict"].clone();
    for verdict in [&mut verdict, &mut wanted] {
        verdict["checkedAt"] = Value::Null;
    }
    assert_eq!(verdict, wanted);
}

/// The final verdict uses the rules at the end of the watch, not those at its start.
#[test]
fn watch_verdict_follows_a_new_ruleset() {
    let hub = Hub::with_pull();
    let more = ["--until", "verdict", "--timeout", "2s"];
    let out = hub.watch_while(&more, |hub| {
        let mut seed = hub.double.seed();
        seed.ruleset(REPO, deploy_ruleset());
        seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    });
    let said = out.stdout_text();
    assert!(
        said.contains("requirement\tapproved\tunmet\tmet\n"),
        "{said}"
    );
    let came = "requirement\tchecks_reported\tunknown\tunmet\n";
    assert!(said.contains(came), "{said}");
    assert!(!said.contains("passed"), "{said}");
    let open = out.stderr_text();
    assert!(open.contains("checks_reported is not met: "), "{open}");
    assert_ne!(out.code, Some(0), "{said}");
}

#[test]
fn watch_retries_failed_rules_request() {
    let hub = Hub::with_pull();
    hub.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    let rules = format!("/repos/{REPO}/rules/branches/main");
    hub.double.fault(Fault::status(403).on_path(&rules));
    let more = ["--until", "verdict", "--timeout", "5s"];
    let out = hub.watch_while(&more, |hub| {
        let mut seed = hub.double.seed();
        seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    });
    let end = lines(&out.exits(0));
    assert_eq!(end.last().unwrap(), "end\tverdict\t\tpassed");
}

#[test]
fn watch_json_of_checks_has_the_final_verdict() {
    let hub = Hub::with_pull();
    hub.double.seed().check(REPO, 1, "CI", "build", "FAILURE");
    let out = hub.watch(&["--json", "-q", ".verdict.readyToMerge"]);
    let out = out.output().exits(1);
    assert_eq!(out.stdout_text(), "false\n");
}

#[test]
fn watch_costs_one_request_per_poll() {
    let hub = Hub::with_pull();
    hub.double
        .seed()
        .check(REPO, 1, "CI", "build", "IN_PROGRESS");
    for until in ["checks", "review", "state", "verdict"] {
        hub.double.reset_record();
        let more = ["--until", until, "--timeout", "0s"];
        let _ = hub.watch(&more).output().exits(8);
        let counts = hub.double.counts();
        assert_eq!(counts.queries, 1, "{until}");
        // A watch for the verdict sends one more request, which reads the rules of the base branch.
        let rules = usize::from(until == "verdict");
        assert_eq!(counts.rest, rules, "{until}");
    }
    hub.double.reset_record();
    let more = ["--until", "verdict", "--timeout", "3s"];
    let _ = hub.watch(&more).output().exits(8);
    let counts = hub.double.counts();
    assert!(counts.queries > 2, "{counts:?}");
    assert_eq!(counts.rest, 1, "the rules are read once");
}

#[test]
fn watch_prints_when_the_rate_limit_resets() {
    let hub = Hub::with_pull();
    let reset = forge_core::Timestamp::now().unix() + 3_600;
    hub.double.fault(Fault::exhausted(reset).always());
    let out = hub.watch(&["--timeout", "5s"]).output().exits(8);
    let said = out.stderr_text();
    assert!(said.contains("rate limit"), "{said}");
    assert!(
        said.contains("the deadline is before the next request"),
        "{said}"
    );
}

#[test]
fn watch_of_local_pull_waits_for_state() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "watch", "1"]).output().exits(1);
    let said = out.stderr_text();
    assert!(
        said.contains("Reading checks is not possible here"),
        "{said}"
    );
    let until = ["pr", "watch", "1", "--until", "state", "-i", "100ms"];
    let watching = {
        let run = world.forge(&until);
        thread::spawn(move || run.output())
    };
    thread::sleep(Duration::from_millis(300));
    world.forge(&["pr", "close", "1"]).ok();
    let out = watching.join().unwrap().exits(1);
    let closed = out.stdout_text();
    assert!(closed.ends_with("end\tstate\t\tfailed\n"), "{closed}");
    let out = world.forge(&["pr", "watch", "1", "--until", "merge"]);
    assert!(out.output().exits(1).stderr_text().contains("'merge'"));
}

#[test]
fn watch_of_tangled_pull_waits_for_state() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let watch = |more: &[&str]| {
        let args = ["pr", "watch", &uri, "-R", WIDGET, "-i", "100ms"];
        t.forge(&t.bob, &[&args, more].concat())
    };
    let out = watch(&["--until", "review"]).output().exits(1);
    assert!(
        out.stderr_text().contains("is not possible here"),
        "{out:?}"
    );
    let run = watch(&["--until", "state"]);
    let watching = thread::spawn(move || run.output());
    thread::sleep(Duration::from_millis(500));
    t.forge(&t.bob, &["pr", "close", &uri, "-R", WIDGET, "--no-wait"])
        .ok();
    let out = watching.join().unwrap().exits(1);
    let closed = ["state\t\topen\tclosed", "end\tstate\t\tfailed"];
    assert_eq!(lines(&out), closed);
}

/// Starts a watch with a timeout of one hour, and reads its first line.
fn endless(hub: &Hub) -> (Child, BufReader<std::process::ChildStdout>) {
    let more = ["--interval", "1h", "--timeout", "1h"];
    let args = ["pr", "watch", "1", "-R", REPO];
    let mut command = hub.forge(&[&args[..], &more].concat()).command();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("seen\t"), "{line}");
    (child, output)
}

#[test]
fn watch_ends_once_stdout_is_closed() {
    let hub = Hub::with_pull();
    let (mut child, output) = endless(&hub);
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn interrupted_watch_prints_last_state() {
    let hub = Hub::with_pull();
    let (mut child, _output) = endless(&hub);
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("stopped; last seen: open at "), "{said}");
}
