//! Tests that calls with an outdated expected head write nothing.

use std::{fs, path::PathBuf};

use forge_testkit::{forge_binary, git_program};
use serde_json::{Value, json};

use crate::world::{LEGACY, MODERN, User, Wire, World};

/// Every tool that takes `expected_head`, with its other arguments as JSON.
pub const CALLS: [(&str, &str); 9] = [
    ("pr_review", r#"{"verdict": "comment", "body": "b"}"#),
    ("pr_review", r#"{"verdict": "approve"}"#),
    ("pr_merge", "{}"),
    ("pr_merge", r#"{"delete_branch": true}"#),
    ("pr_set_state", r#"{"state": "closed"}"#),
    (
        "pr_set_state",
        r#"{"state": "closed", "delete_branch": true}"#,
    ),
    ("pr_set_state", r#"{"state": "open"}"#),
    ("pr_update_branch", "{}"),
    ("pr_update_branch", r#"{"method": "rebase"}"#),
];

/// Returns the arguments of a call about number 1, with further arguments.
pub fn call(args: &str, more: &[(&str, Value)]) -> Value {
    let mut args: Value = serde_json::from_str(args).unwrap();
    args["number"] = json!(1);
    for (name, value) in more {
        args[*name] = value.clone();
    }
    args
}

#[test]
fn stale_head_is_a_conflict_without_writes() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        let stale = world.git.oid("feature").unwrap();
        let now = world
            .git
            .commit("feature", "Pushed", &[("pushed.txt", Some("x\n"))]);
        let before = world.git.refs();
        for (tool, more) in CALLS {
            let refused = wire
                .call(tool, call(more, &[("expected_head", json!(stale))]))
                .fails("conflict")
                .says(&now);
            let error = &refused.data()["error"];
            assert_eq!(error["expected"], json!(stale), "{era} {tool} {more}");
            assert_eq!(error["actual"], json!(now), "{era} {tool} {more}");
            assert_eq!(world.git.refs(), before, "{era} {tool} {more}");
        }
        assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    }
}

#[test]
fn head_prefix_is_refused_by_every_tool() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        let head = world.git.oid("feature").unwrap();
        let before = world.git.refs();
        for (tool, more) in CALLS {
            for digits in [7, 12, 39] {
                wire.call(
                    tool,
                    call(more, &[("expected_head", json!(head[..digits]))]),
                )
                .fails("invalid_input")
                .says(&head);
            }
            assert_eq!(world.git.refs(), before, "{era} {tool} {more}");
        }
        assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    }
}

/// Starts a server whose git runs `command` once, between the tool's last check and the forge's own
/// check. git runs the command when a write reads the author identity, if the file at the returned
/// path exists.
fn server_with_intruder(world: &World, command: &str) -> (Wire, PathBuf) {
    let armed = world.scratch.path("armed");
    let git = git_program();
    let script = format!(
        "#!/bin/sh\nfor arg; do\n[ \"$arg\" = GIT_AUTHOR_IDENT ] && rm '{}' 2>/dev/null && \
         ( FORGE_GIT='{git}'; export FORGE_GIT; {command} ) >&2\ndone\nexec '{git}' \"$@\"\n",
        armed.display(),
        git = git.display()
    );
    let program = world.scratch.write("intruder", script);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let run = world.grace(&["mcp", "--write"]).env("FORGE_GIT", program);
    (Wire::start(&run, LEGACY), armed)
}

#[test]
fn base_changed_after_last_check_stops_merge() {
    let world = World::with_feature();
    world.git.set_branch("prod", "main");
    let edit = format!("'{}' pr edit 1 --base prod", forge_binary().display());
    let (mut wire, armed) = server_with_intruder(&world, &edit);
    let before = ["main", "prod"].map(|branch| world.git.oid(branch));
    let arm = armed.clone();
    wire.meanwhile = Some(Box::new(move || fs::write(arm, "").unwrap()));
    let refused = wire
        .call("pr_merge", json!({"number": 1}))
        .fails("conflict")
        .says("is 'prod', not 'main'");
    assert_eq!(refused.data()["error"]["actual"], "prod");
    assert!(!armed.exists(), "nothing was changed meanwhile");
    assert!(wire.asked[0].contains(" into main by "), "{:?}", wire.asked);
    assert_eq!(["main", "prod"].map(|branch| world.git.oid(branch)), before);
}

#[test]
fn branch_pushed_after_last_check_is_not_deleted() {
    let world = World::with_feature();
    let tip = world.git.oid("feature").unwrap();
    let more = world.git.commit("feature", "More", &[("more", Some("x"))]);
    world.git.set_branch("feature", &tip);
    let push = format!("\"$FORGE_GIT\" update-ref refs/heads/feature {more}");
    let (mut wire, armed) = server_with_intruder(&world, &push);
    let arm = armed.clone();
    wire.meanwhile = Some(Box::new(move || fs::write(arm, "").unwrap()));
    let args = json!({"number": 1, "state": "closed", "delete_branch": true});
    wire.call("pr_set_state", args)
        .ok()
        .says("the branch 'feature' was not deleted");
    assert!(!armed.exists(), "nothing was changed meanwhile");
    assert!(wire.asked[0].contains(&tip), "{:?}", wire.asked);
    assert_eq!(world.git.oid("refs/heads/feature"), Some(more));
}

#[test]
fn merge_of_merged_pull_with_invalid_head_fails() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_merge", json!({"number": 1})).ok();
    wire.asked.clear();
    wire.user = User::Declines;
    let before = world.git.refs();
    let head = world.git.oid("feature").unwrap();
    for (expected, code) in [
        ("abc", "invalid_input"),
        (&head[..12], "invalid_input"),
        (&format!("{:0>40}", 1), "conflict"),
    ] {
        for delete in [false, true] {
            let args = json!({"number": 1, "expected_head": expected, "delete_branch": delete});
            wire.call("pr_merge", args).fails(code);
        }
    }
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    assert_eq!(world.git.refs(), before);
    let args = json!({"number": 1, "expected_head": head});
    let again = wire.call("pr_merge", args).ok();
    assert_eq!(again.data()["already_merged"], true);
}

#[test]
fn current_expected_head_is_accepted() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let head = world.git.oid("feature").unwrap();
    let expected = ("expected_head", json!(head));
    for (tool, more) in [
        ("pr_review", r#"{"verdict": "approve"}"#),
        ("pr_set_state", r#"{"state": "closed"}"#),
        ("pr_set_state", r#"{"state": "open"}"#),
        ("pr_merge", "{}"),
    ] {
        wire.call(tool, call(more, std::slice::from_ref(&expected)))
            .ok();
    }
}

#[test]
fn tools_with_expected_head_are_all_tested() {
    let world = World::new();
    let tools = world.server(MODERN, &["--write"]).tools();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let takes = tool["inputSchema"]["properties"]["expected_head"].is_object();
        // `repo_push` names a branch instead of a number. Its tests are in `files`.
        let called = name == "repo_push" || CALLS.iter().any(|(it, _)| *it == name);
        assert_eq!(takes, called, "{name}");
    }
}
