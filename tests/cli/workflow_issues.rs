//! Tests how workflow commands change issues.

use forge_testkit::Terminal;
use serde_json::{Value, json};

use crate::{workflow_world::numbers, world::World};

fn phase(world: &World, issue: &str) -> Value {
    world.workflow(&["position", issue])["phase"].clone()
}

#[test]
fn r_001_22_t1_states_determine_the_phase() {
    for (state, estimate, wanted) in [
        ("Backlog", "M", "SPLIT"),
        ("Backlog", "XS", "TRIAGE"),
        ("Research Needed", "XS", "RESEARCH"),
        ("Ready for Plan", "", "PLAN"),
        ("Plan in Review", "", "HUMAN_GATE"),
        ("In Progress", "", "IMPLEMENT"),
        ("In Review", "", "TERMINAL"),
        ("Done", "", "TERMINAL"),
    ] {
        let world = World::with_issues(1);
        world.edit("1", &["--estimate", estimate]);
        world.put("1", state);
        let found = world.workflow(&["position", "1"]);
        assert_eq!(found["phase"], wanted, "{state} {estimate}");
        let issue = &found["issues"][0];
        assert_eq!(issue["workflowState"], state);
        assert_eq!(
            issue["estimate"],
            if estimate.is_empty() {
                Value::Null
            } else {
                json!(estimate)
            }
        );
    }
}

#[test]
fn r_001_1_position_has_group_and_convergence() {
    let world = World::with_issues(3);
    world.edit("2", &["--parent", "1"]);
    world.edit("3", &["--parent", "1", "--add-blocked-by", "2"]);
    for issue in ["1", "2", "3"] {
        world.put(issue, "Research Needed");
    }
    let mut seen = Vec::new();
    for issue in ["1", "2", "3"] {
        let found = world.workflow(&["position", issue]);
        assert_eq!(found["phase"], "RESEARCH");
        assert_eq!(found["reason"], "to be researched: 2 Research Needed");
        assert_eq!(
            found["remainingPhases"],
            json!(["research", "plan", "review", "implement", "pr"])
        );
        assert_eq!(
            (&found["isGroup"], &found["recommendation"]),
            (&json!(true), &json!("wait"))
        );
        assert_eq!(found["convergence"]["required"], true);
        assert_eq!(found["convergence"]["met"], false);
        // A parent with open sub-issues need not converge.
        assert_eq!(numbers(&found["convergence"]["blocking"]).len(), 2);
        assert!(found["groupPrimary"]["number"].is_u64(), "{found}");
        seen.push(found);
    }
    // R-001-12: the result is the same for each member and for a repeated call.
    assert!(seen.iter().all(|found| *found == seen[0]));
    assert_eq!(world.workflow(&["position", "1"]), seen[0]);
    let text = world.now(&["workflow", "position", "2"]).text();
    assert!(
        text.starts_with("RESEARCH: to be researched: 2 Research Needed\n"),
        "{text}"
    );
    assert!(text.contains("recommendation: wait"), "{text}");
}

#[test]
fn r_001_4_issue_without_state_is_to_be_triaged() {
    // C-001-8: an issue without a state is in triage.
    let world = World::with_issues(1);
    let found = world.workflow(&["position", "1"]);
    assert_eq!(found["phase"], "TRIAGE");
    assert_eq!(
        found["reason"],
        "Issue #1 has no workflow state; triage first."
    );
    assert!(found["groupPrimary"].is_null());
}

#[test]
fn r_001_22_t2_group_converges_once_all_issues_arrive() {
    let world = World::with_issues(3);
    world.edit("2", &["--add-blocked-by", "1"]);
    world.edit("3", &["--add-blocked-by", "2"]);
    for (issue, state) in [
        ("1", "Ready for Plan"),
        ("2", "Ready for Plan"),
        ("3", "Research Needed"),
    ] {
        world.put(issue, state);
    }
    let args = ["workflow", "convergence", "1", "--to", "Ready for Plan"];
    let out = world
        .now(&[&args[..], &["--json"]].concat())
        .output()
        .exits(8);
    let found = out.json();
    assert_eq!(found["converged"], false);
    assert_eq!((&found["total"], &found["ready"]), (&json!(3), &json!(2)));
    assert_eq!(numbers(&found["blocking"]), [3]);
    assert_eq!(found["blocking"][0]["currentState"], "Research Needed");
    assert_eq!(found["blocking"][0]["distanceToTarget"], 2);
    assert_eq!(found["recommendation"], "wait");
    let out = world.now(&args).output().exits(8);
    assert_eq!(
        out.stdout_text(),
        "not converged at Ready for Plan: 2 of 3 (recommendation: wait)\n\
         #3: Research Needed, 2 states behind\n"
    );
    world.put("3", "Ready for Plan");
    let out = world.now(&args).output().exits(0);
    assert_eq!(
        out.stdout_text(),
        "converged at Ready for Plan: 3 of 3 (recommendation: proceed)\n"
    );
}

#[test]
fn r_001_22_t3_advance_moves_only_children_before_target() {
    // C-001-16: a claimed child moves only with `--pass-locks`.
    let world = World::with_issues(5);
    for child in ["2", "3", "4", "5"] {
        world.edit(child, &["--parent", "1"]);
    }
    world.put("2", "Ready for Plan");
    world.put("3", "In Review");
    world.put("4", "Done");
    world.claim("5", "impl", &[]);
    let args = ["advance", "1", "--to", "In Review"];
    let dry = world.workflow(&[&args[..], &["--dry-run"]].concat());
    assert_eq!(numbers(&dry["advanced"]), [2]);
    assert_eq!(world.state("2"), "Ready for Plan");
    let moved = world.workflow(&args);
    assert_eq!(numbers(&moved["advanced"]), [2]);
    assert_eq!(moved["advanced"][0]["fromState"], "Ready for Plan");
    assert_eq!(moved["advanced"][0]["toState"], "In Review");
    assert_eq!(numbers(&moved["skipped"]), [3, 4, 5]);
    assert_eq!(
        moved["skipped"][0]["reason"],
        "it is already in the target state"
    );
    assert_eq!(
        moved["skipped"][2]["reason"],
        "somebody works on it: In Progress"
    );
    assert_eq!(moved["errors"], json!([]));
    // R-001-7: a repeated call moves nothing and succeeds.
    let again = world.workflow(&args);
    assert_eq!(again["advanced"], json!([]));
    let passed = world.workflow(&[&args[..], &["--pass-locks", "--yes"]].concat());
    assert_eq!(numbers(&passed["advanced"]), [5]);
}

/// An issue that joins the group during the question was not confirmed by the user, so it does not
/// move.
#[test]
fn advance_moves_only_confirmed_issues() {
    let world = World::with_issues(4);
    for child in ["2", "3", "4"] {
        world.put(child, "Ready for Plan");
    }
    world.edit("2", &["--parent", "1"]);
    world.edit("3", &["--parent", "1"]);
    let run = world.now(&["workflow", "advance", "1", "--to", "In Review"]);
    let mut terminal = Terminal::start(&run, 120, 40);
    terminal.expect("Move 2 issues to In Review?");
    world.edit("4", &["--parent", "1"]);
    terminal.send("y\r");
    let out = terminal.finish();
    assert_eq!(out.code, Some(0), "{}", out.text);
    let said = out.plain();
    assert!(
        said.contains("skipped: #4 (it was not among the confirmed moves"),
        "{said}"
    );
    for (issue, state) in [
        ("2", "In Review"),
        ("3", "In Review"),
        ("4", "Ready for Plan"),
    ] {
        assert_eq!(world.state(issue), state, "{issue}");
    }
}

#[test]
fn r_001_7_advance_without_children_is_empty() {
    let world = World::with_issues(1);
    let found = world.workflow(&["advance", "1", "--to", "In Review"]);
    for list in ["advanced", "skipped", "errors"] {
        assert_eq!(found[list], json!([]), "{list}");
    }
    let out = world.now(&["workflow", "advance", "1", "--to", "In Review"]);
    let out = out.output().success();
    assert_eq!(
        (out.stdout_text(), out.stderr_text().as_str()),
        (String::new(), "nothing to move\n")
    );
}

#[test]
fn parent_advances_after_children_reach_a_gate() {
    let world = World::with_issues(3);
    for child in ["2", "3"] {
        world.edit(child, &["--parent", "1"]);
    }
    world.put("1", "Backlog");
    world.put("2", "Plan in Review");
    world.put("3", "Research Needed");
    let stays = world.workflow(&["advance", "2", "--parent"]);
    assert_eq!(numbers(&stays["skipped"]), [1]);
    world.put("3", "Ready for Plan");
    let moved = world.workflow(&["advance", "2", "--parent"]);
    assert_eq!(numbers(&moved["advanced"]), [1]);
    assert_eq!(moved["targetState"], "Ready for Plan");
    assert_eq!(world.state("1"), "Ready for Plan");
}

#[test]
fn r_001_22_t4_pick_prefers_urgent_then_small_then_old() {
    let world = World::with_issues(5);
    for issue in ["1", "2", "3", "4", "5"] {
        world.put(issue, "Research Needed");
    }
    world.edit("1", &["--priority", "P1"]);
    world.edit("2", &["--priority", "P0", "--estimate", "L"]);
    world.edit("3", &["--priority", "P0", "--estimate", "S"]);
    world.edit(
        "4",
        &[
            "--priority",
            "P0",
            "--estimate",
            "XS",
            "--add-blocked-by",
            "5",
        ],
    );
    let found = world.workflow(&["pick", "--command", "research"]);
    assert_eq!(found["found"], true);
    assert_eq!(found["issue"]["number"], 3);
    assert_eq!(found["issue"]["priority"], "P0");
    assert_eq!(found["issue"]["isLocked"], false);
    assert_eq!(found["issue"]["blockedBy"], json!([]));
    assert_eq!(found["alternatives"], 2);
    assert_eq!(numbers(&found["skipped"]), [2, 4]);
    assert_eq!(found["skipped"][0]["reason"], "its estimate is L");
    assert_eq!(found["skipped"][1]["reason"], "it waits for #5");
    // Picks an issue by role, by state, and with a larger estimate.
    assert_eq!(
        world.workflow(&["pick", "-c", "researchers"])["issue"]["number"],
        3
    );
    let large = ["pick", "--state", "research needed", "--max-estimate", "XL"];
    assert_eq!(world.workflow(&large)["issue"]["number"], 3);
    let mut order = Vec::new();
    for _ in 0..3 {
        let args = ["pick", "-c", "research", "--claim", "--holder", "agent"];
        let found = world.workflow(&args);
        assert_eq!(found["claimed"]["newState"], "Research in Progress");
        assert_eq!(found["claimed"]["claim"]["holder"], "agent");
        order.push(found["issue"]["number"].as_u64().unwrap());
    }
    assert_eq!(order, [3, 1, 5]);
}

#[test]
fn r_001_9_empty_pick_exits_with_8() {
    let world = World::with_issues(1);
    let args = ["workflow", "pick", "--state", "Ready for Plan"];
    let out = world.now(&args).output().exits(8);
    assert_eq!(
        out.stdout_text(),
        "no open issue is in Ready for Plan; 1 open issue(s) have no state, which set-state gives \
         them\n"
    );
    let out = world
        .now(&[&args[..], &["--json"]].concat())
        .output()
        .exits(8);
    let found = out.json();
    assert_eq!(found["found"], false);
    assert!(found["issue"].is_null());
    assert_eq!(found["alternatives"], 0);
}

#[test]
fn r_001_22_t5_small_issue_goes_through_all_phases() {
    let world = World::with_issues(1);
    world.edit("1", &["--estimate", "XS"]);
    world.put("1", "Backlog");
    assert_eq!(phase(&world, "1"), "TRIAGE");
    world.workflow(&["set-state", "1", "Research Needed", "-c", "triage"]);
    assert_eq!(phase(&world, "1"), "RESEARCH");
    let claim = world.claim("1", "research", &[]);
    assert_eq!(phase(&world, "1"), "RESEARCH");
    let args = [
        "set-state",
        "1",
        "__COMPLETE__",
        "-c",
        "research",
        "--claim",
        &claim,
    ];
    let done = world.workflow(&args);
    assert_eq!(done["resolvedFrom"], "__COMPLETE__");
    assert_eq!(done["newState"], "Ready for Plan");
    assert_eq!(done["endedClaim"], claim.as_str());
    assert_eq!(phase(&world, "1"), "PLAN");
    let claim = world.claim("1", "plan", &[]);
    world.workflow(&[
        "set-state",
        "1",
        "__COMPLETE__",
        "-c",
        "plan",
        "--claim",
        &claim,
    ]);
    assert_eq!(phase(&world, "1"), "HUMAN_GATE");
    world.workflow(&["set-state", "1", "__COMPLETE__", "-c", "review"]);
    let claim = world.claim("1", "impl", &[]);
    assert_eq!(phase(&world, "1"), "IMPLEMENT");
    world.workflow(&[
        "set-state",
        "1",
        "__COMPLETE__",
        "-c",
        "impl",
        "--claim",
        &claim,
    ]);
    assert_eq!(phase(&world, "1"), "TERMINAL");
    let done = world.workflow(&["set-state", "1", "__COMPLETE__", "-c", "merge"]);
    assert_eq!(
        (&done["newState"], &done["closed"]),
        (&json!("Done"), &json!(true))
    );
    assert!(!world.is_open("1"));
}

#[test]
fn r_001_11_move_reports_old_and_new_state() {
    let world = World::with_issues(1);
    let args = ["set-state", "1", "Ready for Plan", "--command", "triage"];
    let moved = world.workflow(&[&args[..], &["--reason", "clear enough"]].concat());
    assert_eq!(moved["number"], 1);
    assert_eq!(moved["previousState"], "(unknown)");
    assert_eq!(moved["newState"], "Ready for Plan");
    assert_eq!(moved["command"], "ralph_triage");
    assert!(moved["resolvedFrom"].is_null());
    let again = world.now(&[
        "workflow",
        "set-state",
        "1",
        "Ready for Plan",
        "-c",
        "triage",
    ]);
    let again = again.output().success();
    assert_eq!(again.stdout_text(), "#1: Ready for Plan\n");
    assert!(
        again
            .stderr_text()
            .contains("#1 is in Ready for Plan already"),
        "{again:?}"
    );
    let text = world.now(&["workflow", "set-state", "1", "__CANCEL__", "-c", "triage"]);
    assert_eq!(text.text(), "#1: Ready for Plan -> Canceled (closed)\n");
    let back = world.now(&["workflow", "set-state", "1", "Backlog", "-c", "split"]);
    assert_eq!(back.text(), "#1: Canceled -> Backlog (reopened)\n");
    // For each move, the trail has a sentence for people and a line for programs.
    let shown = world.now(&["issue", "view", "1", "--json", "comments"]);
    let shown = shown.output().success().json();
    let comments = shown["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 3, "{shown}");
    let first = comments[0]["body"].as_str().unwrap();
    assert!(
        first.starts_with("**no state** → **Ready for Plan** by ralph_triage: clear enough\n"),
        "{first}"
    );
    assert!(first.contains("<!-- forge-workflow: {"), "{first}");
}

#[test]
fn handoff_moves_only_along_the_graph() {
    let world = World::with_issues(1);
    world.put("1", "Plan in Review");
    let args = [
        "handoff",
        "1",
        "Research Needed",
        "-c",
        "triage",
        "--reason",
        "why",
    ];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(
        text.contains("Research Needed does not follow Plan in Review"),
        "{text}"
    );
    let args = [
        "handoff",
        "1",
        "Ready for Plan",
        "-c",
        "review",
        "--reason",
        "unclear",
    ];
    let moved = world.workflow(&args);
    assert_eq!(moved["newState"], "Ready for Plan");
    // `Done` has no following state, so the hint suggests none.
    world.put("1", "Done");
    let text = world.workflow_fails(&args, 1).stderr_text();
    let wanted = "Recovery: set the state without a handoff: setting it also reopens the issue\n";
    assert!(text.ends_with(wanted), "{text}");
}

#[test]
fn blocking_cycles_are_reported() {
    let world = World::with_issues(2);
    world.edit("1", &["--add-blocked-by", "2"]);
    world.edit("2", &["--add-blocked-by", "1"]);
    let found = world.workflow(&["group", "1"]);
    assert_eq!(found["cycles"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["truncated"], false);
}

#[test]
fn unreadable_issue_of_a_group_is_reported() {
    let world = World::with_issues(3);
    world.edit("1", &["--add-blocked-by", "2"]);
    world.edit("2", &["--add-blocked-by", "3"]);
    world
        .git
        .run(["update-ref", "-d", "refs/forge/issues/3"])
        .ok();
    let out = world.now(&["workflow", "group", "1", "--json"]);
    let out = out.output().success();
    let found = out.json();
    assert_eq!(numbers(&found["issues"]), [2, 1]);
    assert_eq!(found["truncated"], true);
    let _ = out.says("#3 of the group could not be read: ");
}

#[test]
fn group_with_an_unreadable_blocker_waits() {
    let world = World::with_issues(2);
    world.edit("1", &["--add-blocked-by", "2"]);
    world.put("1", "Ready for Plan");
    let delete = ["update-ref", "-d", "refs/forge/issues/2"];
    world.git.run(delete).ok();
    let args = ["workflow", "convergence", "1", "--to", "Ready for Plan"];
    let out = world.now(&args).output().exits(8);
    assert_eq!(
        out.stdout_text(),
        "not converged at Ready for Plan: 1 of 1 (recommendation: wait)\n\
         not all issues of the group could be read\n"
    );
    let json = world.now(&[&args[..], &["--json"]].concat());
    let found = json.output().exits(8).json();
    assert_eq!(found["converged"], false, "{found}");
    assert_eq!(found["truncated"], true, "{found}");
    let found = world.workflow(&["position", "1"]);
    assert_eq!(found["recommendation"], "wait", "{found}");
    let text = world.now(&["workflow", "position", "1"]).text();
    let line = "recommendation: wait\nnot all issues of the group could be read\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn issue_is_named_by_number_url_or_repository() {
    let world = World::with_issues(1);
    let path = world.git.path().canonicalize().unwrap();
    let url = format!("file://{}#issue-1", path.display());
    world.put("1", "Backlog");
    for args in [
        &["position", "#1"][..],
        &["position", &url],
        &["position", "1", "-R", "local:."],
    ] {
        assert_eq!(world.workflow(args)["issues"][0]["id"], url, "{args:?}");
    }
    let filtered = world.now(&[
        "workflow", "position", "1", "--json", "phase", "-q", ".phase",
    ]);
    assert_eq!(filtered.text(), "TRIAGE\n");
    let formatted = [
        "workflow",
        "position",
        "1",
        "--json",
        "phase",
        "-t",
        "<{{.phase}}>",
    ];
    assert_eq!(world.now(&formatted).text().trim_end(), "<TRIAGE>");
}

#[test]
fn init_creates_missing_labels_once() {
    let world = World::with_issues(1);
    world.set("workflow.label_prefix", "state: ");
    let dry = world.workflow(&["init", "--dry-run"]);
    assert!(dry["made"].as_array().unwrap().len() > 11, "{dry}");
    let made = world.workflow(&["init"]);
    assert_eq!(made["made"], dry["made"]);
    assert_eq!(world.workflow(&["init"])["made"], json!([]));
    let labels = world.now(&["label", "list"]).text();
    assert!(labels.contains("state: Research in Progress"), "{labels}");
    world.put("1", "Backlog");
    world.put("1", "Research Needed");
    let shown = world.now(&[
        "issue",
        "view",
        "1",
        "--json",
        "labels",
        "-q",
        ".labels[].name",
    ]);
    assert_eq!(shown.text(), "state: Research Needed\n");
    assert_eq!(world.state("1"), "Research Needed");
    let unset = World::with_issues(1);
    let out = unset.now(&["workflow", "init"]).output().success();
    assert!(
        out.stderr_text()
            .contains("forge config set workflow.store fields"),
        "{out:?}"
    );
}
