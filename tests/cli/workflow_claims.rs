//! Tests claims in a git repository: an issue has at most one holder at a time, even if processes
//! die.

use std::{
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use forge_testkit::{Output, git_program};
use serde_json::json;

use crate::world::World;

/// Runs the commands concurrently, and returns their exit codes, stdout and stderr.
fn at_once(commands: Vec<Command>) -> Vec<(Option<i32>, String, String)> {
    let children = commands.into_iter().map(|mut command| {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let children: Vec<_> = children.collect();
    let ended = children.into_iter().map(|child| {
        let out = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    });
    ended.collect()
}

/// Lets agents 0 to `count` claim an issue concurrently. Asserts that exactly one succeeds and that
/// the others name its claim.
fn race(world: &World, count: usize) -> String {
    let claims = (0..count).map(|n| {
        let holder = format!("agent-{n}");
        let args = [
            "workflow", "claim", "1", "-c", "research", "--holder", &holder,
        ];
        world.now(&args).command()
    });
    let ended = at_once(claims.collect());
    let won: Vec<usize> = (0..count).filter(|n| ended[*n].0 == Some(0)).collect();
    assert_eq!(won.len(), 1, "{ended:?}");
    let winner = format!("agent-{}", won[0]);
    for (code, _, stderr) in ended.iter().filter(|(code, ..)| *code != Some(0)) {
        assert_eq!(*code, Some(1), "{stderr}");
        assert!(stderr.contains(&format!("{winner} holds it")), "{stderr}");
    }
    winner
}

#[test]
fn twenty_claims_at_once_have_one_winner() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    race(&world, 20);
    assert_eq!(world.state("1"), "Research in Progress");
}

#[test]
fn expired_claim_has_one_new_holder() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    let stale = world.claim("1", "research", &["--holder", "dead", "--lease", "1"]);
    sleep(Duration::from_millis(1100));
    let winner = race(&world, 8);
    let args = [
        "set-state",
        "1",
        "__COMPLETE__",
        "-c",
        "research",
        "--claim",
        &stale,
    ];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains(&format!("{winner} holds it now")), "{text}");
    assert_eq!(world.state("1"), "Research in Progress");
}

/// Repeats a claim until it succeeds.
fn claim_in_time(world: &World, holder: &str) -> Output {
    let begun = Instant::now();
    loop {
        let args = [
            "workflow", "claim", "1", "-c", "research", "--holder", holder,
        ];
        let out = world.now(&args).output();
        if out.code == Some(0) || begun.elapsed() > Duration::from_secs(20) {
            return out.success();
        }
        assert!(out.stderr_text().contains("holder-1 holds it"), "{out:?}");
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn claim_of_killed_holder_ends_after_lease() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    let script = "id=$(\"$FORGE\" workflow claim 1 -c research --holder holder-1 --lease 3 \\\n\
                  --json -q .claim.id) || exit 1\n\
                  while \"$FORGE\" workflow heartbeat 1 --claim \"$id\"; do sleep 0.3; done";
    let run = world.now(&[]);
    let program = run.command().get_program().to_owned();
    let run = run.program("/bin/sh").env("FORGE", program);
    let mut holder = (run.args(["-c", script]).command())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while world.state("1") != "Research in Progress" {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "nothing was claimed"
        );
    }
    sleep(Duration::from_millis(3500));
    // Without the heartbeats, the lease would have expired.
    let args = ["claim", "1", "-c", "research", "--holder", "holder-2"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains("holder-1 holds it"), "{text}");
    // Kills the process group that this test started.
    let group = format!("-{}", holder.id());
    let killed = Command::new("kill").args(["-9", "--", &group]).status();
    assert!(killed.unwrap().success());
    holder.wait().unwrap();
    claim_in_time(&world, "holder-2");
    assert_eq!(world.state("1"), "Research in Progress");
}

#[test]
fn stale_claim_id_is_refused() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    let stale = world.claim("1", "research", &["--holder", "first"]);
    let force = ["--holder", "second", "--force", "--reason", "first is gone"];
    let held = world.claim("1", "research", &force);
    for args in [
        &["heartbeat", "1", "--claim", &stale][..],
        &["release", "1", "--claim", &stale],
        &[
            "set-state",
            "1",
            "__COMPLETE__",
            "-c",
            "research",
            "--claim",
            &stale,
        ],
    ] {
        let text = world.workflow_fails(args, 1).stderr_text();
        assert!(
            text.contains(&stale) && text.contains("second holds it now"),
            "{text}"
        );
    }
    // While another holder has the claim, a command that names no claim is refused as well.
    let args = ["set-state", "1", "__COMPLETE__", "-c", "research"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains("second holds it"), "{text}");
    let args = [
        "set-state",
        "1",
        "__COMPLETE__",
        "-c",
        "research",
        "--claim",
        &held,
    ];
    assert_eq!(world.workflow(&args)["newState"], "Ready for Plan");
}

#[test]
fn heartbeat_renews_and_release_ends_claim() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    let claim = world.claim("1", "research", &["--lease", "60", "--holder", "agent"]);
    let beaten = world.workflow(&["heartbeat", "1", "--claim", &claim]);
    assert_eq!(beaten["id"], claim.as_str());
    assert_eq!(
        (&beaten["holder"], &beaten["leaseSeconds"]),
        (&json!("agent"), &json!(60))
    );
    assert!(
        beaten["renewedAt"].as_str() >= beaten["since"].as_str(),
        "{beaten}"
    );
    let released = world.workflow(&["release", "1", "--claim", &claim]);
    assert_eq!(released["previousState"], "Research in Progress");
    assert_eq!(released["newState"], "Research Needed");
    assert_eq!(released["endedClaim"], claim.as_str());
    // `impl` releases an issue to In Progress, so the issue does not go back to Plan in Review.
    // `--to` overrides both.
    world.put("1", "Plan in Review");
    let claim = world.claim("1", "impl", &[]);
    let released = world.workflow(&["release", "1", "--claim", &claim]);
    assert_eq!(released["newState"], "In Progress");
    let claim = world.claim("1", "impl", &[]);
    let args = ["release", "1", "--claim", &claim, "--to", "Human Needed"];
    assert_eq!(world.workflow(&args)["newState"], "Human Needed");
}

#[test]
fn closed_issue_cannot_be_claimed() {
    let world = World::with_issues(1);
    world.put("1", "Done");
    let text = world
        .workflow_fails(&["claim", "1", "-c", "impl"], 1)
        .stderr_text();
    assert!(text.contains("cannot claim #1: it is closed"), "{text}");
    let args = ["claim", "1", "-c", "impl", "--lease", "0"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains("a lease is 1 to 604800 seconds"), "{text}");
}

/// A shallow fetch brings the newest entries of a trail alone, and a missing one can be a claim.
#[test]
fn claim_in_shallow_clone_is_refused() {
    let world = World::with_issues(2);
    for issue in ["1", "2"] {
        world.put(issue, "Research Needed");
    }
    world.claim("1", "research", &["--holder", "first"]);
    let url = format!("file://{}", world.git.path().display());
    let git = |args: &[&str]| world.scratch.run(git_program()).args(args);
    git(&["clone", "--quiet", "--depth=1", &url, "shallow"]).ok();
    let clone = world.scratch.path("shallow");
    let issues = "refs/forge/issues/*:refs/forge/issues/*";
    let fetch = ["fetch", "--quiet", "--no-prune", "--depth=1", "origin"];
    let in_clone = |args: &[&str]| git(args).dir(&clone).text();
    in_clone(&[&fetch[..], &[issues]].concat());
    in_clone(&["config", "forge.repo", "."]);
    let before = in_clone(&["for-each-ref"]);
    let refused = |args: &[&str]| {
        let args = [&["workflow"], args].concat();
        let output = world.now(&args).dir(&clone).output();
        output.exits(1).stderr_text()
    };
    for args in [
        &["claim", "1", "-c", "research"][..],
        &[
            "claim", "1", "-c", "research", "--force", "--reason", "test",
        ],
        &["pick", "-c", "research"],
        &["pick", "-c", "research", "--claim"],
    ] {
        let text = refused(args);
        assert!(text.contains("cannot tell who holds #"), "{text}");
        assert!(text.contains("git fetch --unshallow --no-prune"), "{text}");
    }
    assert_eq!(in_clone(&["for-each-ref"]), before);
    in_clone(&["fetch", "--quiet", "--unshallow", "--no-prune"]);
    let text = refused(&["claim", "1", "-c", "research"]);
    assert!(text.contains("first holds it"), "{text}");
}

#[test]
fn claim_in_lagging_group_warns_or_is_refused() {
    // C-001-17: the engine enforces the gate, with a warning or a refusal.
    let world = World::with_issues(2);
    world.edit("2", &["--parent", "1"]);
    world.put("1", "Ready for Plan");
    world.put("2", "Research Needed");
    let args = ["workflow", "claim", "1", "-c", "plan"];
    let out = world.now(&args).output().success();
    assert!(
        out.stderr_text()
            .contains("the group of #1 is not at Ready for Plan: #2 (Research Needed)"),
        "{out:?}"
    );
    world.put("1", "Ready for Plan");
    world.define(|text| {
        text.replace(
            "convergence_gate = \"warn\"",
            "convergence_gate = \"block\"",
        )
    });
    let out = world.now(&args).output().exits(1);
    assert!(
        out.stderr_text()
            .contains("cannot claim #1: the group of #1"),
        "{out:?}"
    );
    assert_eq!(world.state("1"), "Ready for Plan");
}

#[test]
fn concurrent_picks_claim_different_issues() {
    let world = World::with_issues(6);
    for issue in ["1", "2", "3", "4", "5", "6"] {
        world.put(issue, "Research Needed");
    }
    let picks = (0..6).map(|n| {
        let holder = format!("agent-{n}");
        let args = [
            "workflow", "pick", "-c", "research", "--claim", "--holder", &holder,
        ];
        let args = [&args[..], &["--json", "-q", ".issue.number"]].concat();
        world.now(&args).command()
    });
    let ended = at_once(picks.collect());
    let mut taken: Vec<&str> = ended.iter().map(|(_, out, _)| out.trim()).collect();
    taken.sort_unstable();
    assert_eq!(taken, ["1", "2", "3", "4", "5", "6"], "{ended:?}");
}
