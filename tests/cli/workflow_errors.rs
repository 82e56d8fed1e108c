//! Tests the ten scenarios in which a move is refused, and other errors of `forge workflow`.

use crate::world::World;

/// Checks the message of a refused move, and that the issue stays unchanged.
fn refused(state: &str, command: &[&str], says: &[&str]) {
    let world = World::with_issues(1);
    world.put("1", "Backlog");
    let args = [&["set-state", "1", state], command].concat();
    let out = world.workflow_fails(&args, 1);
    let text = out.stderr_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "what and why, then what to do: {text}");
    assert!(lines[0].starts_with("error: "), "{text}");
    assert!(lines[1].starts_with("Recovery: retry with "), "{text}");
    for part in says {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(world.state("1"), "Backlog");
}

#[test]
fn r_001_15_1_missing_command_lists_the_commands() {
    let says = [
        "--command is missing",
        "ralph_hero, ralph_impl, ralph_merge",
        "ralph_triage",
        "Recovery: retry with --command and one of them",
    ];
    refused("Done", &[], &says);
}

#[test]
fn r_001_15_2_unknown_command_names_the_nearest() {
    // C-001-20: the suggested command exists.
    let says = [
        "unknown command 'reserch'",
        "retry with command ralph_research: --command ralph_research",
    ];
    refused("Done", &["--command", "reserch"], &says);
    let says = [
        "unknown command 'zzz'",
        "ralph_split, ralph_triage: --command NAME",
    ];
    refused("Done", &["--command", "zzz"], &says);
}

#[test]
fn r_001_15_3_lock_intent_of_triage_lists_locking_commands() {
    let says = [
        "__LOCK__ is not for ralph_triage",
        "ralph_research (Research in Progress)",
        "ralph_impl (In Progress)",
    ];
    refused("__LOCK__", &["--command", "triage"], &says);
}

#[test]
fn r_001_15_4_lock_intent_of_review_lists_locking_commands() {
    let says = [
        "__LOCK__ is not for ralph_review",
        "ralph_plan (Plan in Progress)",
        "__COMPLETE__",
    ];
    refused("__LOCK__", &["--command", "review"], &says);
}

#[test]
fn r_001_15_5_complete_intent_of_triage_is_ambiguous() {
    let says = [
        "__COMPLETE__ is ambiguous for ralph_triage",
        "one of several states",
        "retry with one of: Research Needed, Ready for Plan",
    ];
    refused("__COMPLETE__", &["--command", "triage"], &says);
}

#[test]
fn r_001_15_6_complete_intent_of_hero_lists_completing_commands() {
    let says = [
        "__COMPLETE__ is not for ralph_hero",
        "ralph_impl (In Review)",
        "retry with one of: In Review, Human Needed",
    ];
    refused("__COMPLETE__", &["--command", "hero"], &says);
}

#[test]
fn r_001_15_7_unknown_intent_lists_the_intents() {
    let says = [
        "unknown intent '__FINISH__'",
        "__LOCK__ (claim)",
        "__COMPLETE__ (finish)",
        "__ESCALATE__ (needs human)",
        "__CLOSE__ (mark done)",
        "__CANCEL__ (abandon)",
    ];
    refused("__FINISH__", &["--command", "impl"], &says);
}

#[test]
fn r_001_15_8_foreign_state_error_lists_states_of_command() {
    let says = [
        "Ready for Plan is not a state for ralph_impl",
        "it has In Progress, In Review, Human Needed",
        "__COMPLETE__",
    ];
    refused("Ready for Plan", &["--command", "impl"], &says);
}

#[test]
fn r_001_15_9_lock_state_of_the_command_is_accepted() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    let args = ["set-state", "1", "research in progress", "-c", "research"];
    let moved = world.workflow(&args);
    assert_eq!(moved["previousState"], "Research Needed");
    assert_eq!(moved["newState"], "Research in Progress");
    assert_eq!(moved["command"], "ralph_research");
    assert!(moved["resolvedFrom"].is_null(), "{moved}");
    assert!(moved["claim"]["id"].is_string(), "{moved}");
}

#[test]
fn r_001_15_10_done_state_of_research_suggests_complete_and_close() {
    // C-001-19: the refusal of a terminal state names `__CLOSE__`.
    let says = [
        "Done is not a state for ralph_research",
        "__COMPLETE__",
        "__CLOSE__",
    ];
    refused("Done", &["--command", "research"], &says);
}

#[test]
fn unknown_state_lists_the_states() {
    // C-001-4: the list comes from the definition.
    let says = [
        "unknown state 'Nowhere'",
        "Backlog, Research Needed",
        "Canceled",
    ];
    refused("Nowhere", &["--command", "triage"], &says);
    let says = ["unknown state 'Reserch Needed'", ": 'Research Needed'"];
    refused("Reserch Needed", &["--command", "triage"], &says);
}

#[test]
fn r_001_4_unknown_issue_is_not_found() {
    let world = World::with_issues(1);
    for verb in ["position", "group"] {
        let text = world.workflow_fails(&[verb, "7"], 1).stderr_text();
        assert!(text.contains("#7") && text.contains("Recovery:"), "{text}");
    }
}

#[test]
fn r_001_6_unknown_target_lists_the_states() {
    let world = World::with_issues(1);
    let args = ["convergence", "1", "--to", "Redy for Plan"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    for part in [
        "Backlog, Research Needed, Research in Progress, Ready for Plan, Plan in Progress, \
         Plan in Review, In Progress, In Review, Done",
        "Recovery: retry with 'Ready for Plan': --to 'Ready for Plan'",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn r_001_10_pick_refuses_unpickable_states() {
    // C-001-13: a lock state is refused.
    let world = World::with_issues(1);
    for (args, why, retry) in [
        (
            &["--state", "Reserch Needed"][..],
            "unknown state",
            "retry with 'Research Needed': --state 'Research Needed'",
        ),
        (
            &["--state", "In Progress"],
            "worked on already",
            "): --state STATE",
        ),
        (
            &["--state", "Backlog", "--max-estimate", "Foo"],
            "unknown estimate 'Foo': the estimates are XS, S, M, L, XL",
            "or omit it for the default (S): --max-estimate ESTIMATE",
        ),
        (
            &[],
            "neither a state nor a command",
            "or one of the states Backlog, Research Needed, Ready for Plan, Plan in Review, \
             In Review, Human Needed: --state STATE",
        ),
        (
            &["--claim"],
            "--command is missing",
            "retry with --command and one of them",
        ),
    ] {
        let all = [&["pick"], args].concat();
        let text = world.workflow_fails(&all, 1).stderr_text();
        assert!(
            text.contains(why) && text.contains(retry),
            "{args:?}: {text}"
        );
    }
}

#[test]
fn r_001_13_force_and_handoff_need_a_reason() {
    let world = World::with_issues(1);
    let args = ["set-state", "1", "Done", "-c", "triage", "--force"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains("--reason"), "{text}");
    let args = ["handoff", "1", "Research Needed", "-c", "triage"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains("a handoff needs a reason"), "{text}");
    assert!(world.state("1").is_null());
}

#[test]
fn advance_without_a_goal_is_refused() {
    // C-001-15: the target must be in the order of the states.
    let world = World::with_issues(1);
    let text = world.workflow_fails(&["advance", "1"], 1).stderr_text();
    assert!(text.contains("--to"), "{text}");
    let args = ["advance", "1", "--to", "Canceled"];
    let text = world.workflow_fails(&args, 1).stderr_text();
    assert!(text.contains("not a state of the order of work"), "{text}");
    let text = world.workflow_fails(&["advance", "1", "--parent"], 1);
    assert!(text.stderr_text().contains("has no parent"), "{text:?}");
}

#[test]
fn labels_store_without_init_suggests_init() {
    let world = World::with_issues(2);
    world.edit("2", &["--parent", "1"]);
    world.set("workflow.store", "labels");
    for args in [
        &[
            "workflow",
            "set-state",
            "1",
            "Research Needed",
            "-c",
            "triage",
        ][..],
        &["workflow", "claim", "1", "-c", "research"],
        &["workflow", "advance", "1", "--to", "In Review"],
        &["issue", "edit", "1", "--estimate", "M"],
        &["issue", "create", "-t", "One", "-b", "", "--estimate", "M"],
    ] {
        let out = world.now(args).output().exits(1);
        let _ = out.says("or create what the workflow needs: forge workflow init");
    }
    let out = world.workflow_fails(&["advance", "1", "--to", "In Review"], 1);
    let _ = out.says("#2: Failed to update: no label is called '");
}

#[test]
fn move_without_the_claim_suggests_claim_flag() {
    let world = World::with_issues(1);
    world.put("1", "Research Needed");
    world.claim("1", "research", &[]);
    let args = ["set-state", "1", "__COMPLETE__", "-c", "research"];
    let out = world.workflow_fails(&args, 1);
    let out = out.says("Recovery: pass the id of the claim if you hold it; otherwise");
    let _ = out.says("with a reason: --claim ID");
}
