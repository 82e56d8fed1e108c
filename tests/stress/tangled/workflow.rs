//! Tests claims by many programs on tangled, where each author sets the order of their own records.

use std::{process::Stdio, thread, time::Duration};

use forge_tangled_world::Fault;
use forge_testkit::{Output, Run};
use serde_json::{Value, json};

use super::hall::Hall;

const CLAIMERS: usize = 20;
const APPLY: &str = "com.atproto.repo.applyWrites";
const COMMENT: &str = "sh.tangled.feed.comment";

/// A program whose claim succeeded, with its output.
struct Claimed {
    holder: String,
    id: String,
    output: Output,
}

/// A workflow with one issue that waits for research.
struct Board {
    hall: Hall,
    issue: String,
}

impl Board {
    fn new() -> Self {
        let hall = Hall::new();
        let run = |args: &[&str]| on(&hall, args).text();
        run(&["workflow", "init"]);
        let issue = run(&["issue", "create", "-t", "One", "-b", ""]);
        let issue = issue.trim().to_owned();
        run(&[
            "workflow",
            "set-state",
            &issue,
            "Research Needed",
            "-c",
            "triage",
        ]);
        Self { hall, issue }
    }

    fn claim(&self, holder: &str, lease: &str) -> Run {
        let args = ["workflow", "claim", &self.issue, "-c", "research"];
        let more = ["--holder", holder, "--lease", lease, "--json"];
        on(&self.hall, &[&args[..], &more].concat())
    }

    fn heartbeat(&self, claim: &str) -> Output {
        let args = ["workflow", "heartbeat", &self.issue, "--claim", claim];
        on(&self.hall, &args).output()
    }

    /// Makes concurrent claims. Returns the winners, judged by their own output, and the outputs of
    /// the others.
    fn race(&self, count: usize) -> (Vec<Claimed>, Vec<Output>) {
        let name = |n: usize| format!("agent-{n:02}");
        let ended: Vec<Output> = thread::scope(|scope| {
            let claims = (0..count).map(|n| self.claim(&name(n), "3600"));
            let running: Vec<_> = claims
                .map(|run| scope.spawn(move || run.output()))
                .collect();
            running.into_iter().map(|r| r.join().unwrap()).collect()
        });
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        for (n, output) in ended.into_iter().enumerate() {
            if output.code != Some(0) {
                lost.push(output);
                continue;
            }
            let said: Value = output.json();
            let id = said["claim"]["id"].as_str().unwrap().to_owned();
            let holder = name(n);
            won.push(Claimed { holder, id, output });
        }
        (won, lost)
    }

    /// Returns the id of the only valid claim. Asserts that the other claims are refused and that
    /// each race is reported.
    fn only_valid_claim(&self, won: &[Claimed], lost: &[Output]) -> String {
        let holds = |c: &&Claimed| self.heartbeat(&c.id).code == Some(0);
        let kept: Vec<&Claimed> = won.iter().filter(holds).collect();
        let [kept] = kept.as_slice() else {
            panic!("{} of {} keep it", kept.len(), won.len());
        };
        let told = won.iter().map(|c| c.output.stderr_text());
        let told: String = told.collect();
        for other in won.iter().filter(|c| c.holder != kept.holder) {
            let refused = self.heartbeat(&other.id).stderr_text();
            assert!(refused.contains(&kept.holder), "{refused}");
            assert!(told.contains("at the same time"), "{told}");
        }
        for out in lost {
            let said = out.stderr_text();
            let known = won.iter().any(|c| said.contains(&c.holder));
            assert!(known || said.contains("others changed"), "{said}");
        }
        kept.id.clone()
    }
}

fn on(hall: &Hall, args: &[&str]) -> Run {
    hall.forge(&[args, &["-R", "tangled:alice.test/widget"]].concat())
}

#[test]
fn tangled_claim_race_has_a_single_winner() {
    let board = Board::new();
    let (won, lost) = board.race(CLAIMERS);
    assert_eq!(won.len() + lost.len(), CLAIMERS);
    let claim = board.only_valid_claim(&won, &lost);
    let done = ["workflow", "set-state", &board.issue, "__COMPLETE__"];
    let done = [&done[..], &["-c", "research", "--claim", &claim]].concat();
    on(&board.hall, &done).ok();
}

/// A claim has the time of its author's clock, so the claim of a slow clock counts as the earlier
/// one. The other holder's next write fails and reports this.
#[test]
fn tangled_race_with_slow_clock_has_one_holder() {
    let board = Board::new();
    let claimed = board.claim("agent-1", "3600").output().success().json();
    let first = claimed["claim"]["id"].as_str().unwrap();
    let (pds, alice) = (board.hall.world.pds(), &board.hall.alice);
    let comments = pds.records(&alice.did, COMMENT).into_iter();
    let mut texts = comments.map(|(_, _, value)| value);
    let text = |value: &Value| value["body"]["text"].as_str().unwrap().to_owned();
    let mut slow = texts.find(|value| text(value).contains(first)).unwrap();
    let second = "51051051051051ab";
    let copy = text(&slow).replace(first, second);
    slow["body"]["text"] = json!(copy.replace("agent-1", "agent-2"));
    let behind = chrono::Utc::now() - chrono::Duration::minutes(10);
    slow["createdAt"] = json!(behind.to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
    pds.add(&alice.did, COMMENT, slow);
    let refused = board.heartbeat(first).exits(1).stderr_text();
    assert!(refused.contains("agent-2"), "{refused}");
    let _ = board.heartbeat(second).success();
    let other = board.claim("agent-3", "3600").output().exits(1);
    let _ = other.says("agent-2 holds it");
}

#[test]
fn tangled_race_with_killed_claimer_has_one_holder() {
    for wait in [0, 40, 80, 120, 200, 400] {
        let board = Board::new();
        let mut child = (board.claim("killed", "1").command())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        thread::sleep(Duration::from_millis(2_100));
        let (won, lost) = board.race(4);
        board.only_valid_claim(&won, &lost);
    }
}

#[test]
fn tangled_race_with_lost_responses_has_one_holder() {
    // The test loses the response to the claim, and then the response to the move of the issue.
    for skip in 0..2 {
        let board = Board::new();
        let pds = board.hall.world.pds();
        pds.host()
            .fault(Fault::reset().committed().on(APPLY).skip(skip));
        let (won, lost) = board.race(4);
        assert_eq!(pds.host().faults_left(), 0, "{skip}");
        let claim = board.only_valid_claim(&won, &lost);
        let done = ["workflow", "set-state", &board.issue, "__COMPLETE__"];
        let done = [&done[..], &["-c", "research", "--claim", &claim]].concat();
        on(&board.hall, &done).ok();
    }
}
