//! A head that is not the expected one any more: nothing is written, whatever was asked for.

use serde_json::{Value, json};

use crate::world::{LEGACY, MODERN, World};

/// Calls of every tool that takes `expected_head`, by the JSON of the other arguments.
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

/// The arguments of a call about number 1, with more of them.
pub fn call(args: &str, more: &[(&str, Value)]) -> Value {
    let mut args: Value = serde_json::from_str(args).unwrap();
    args["number"] = json!(1);
    for (name, value) in more {
        args[*name] = value.clone();
    }
    args
}

#[test]
fn a_stale_head_is_a_conflict_and_nothing_is_written() {
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

#[test]
fn the_head_that_is_there_hinders_nothing() {
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
fn every_tool_that_takes_a_head_is_among_the_calls() {
    let world = World::new();
    let tools = world.server(MODERN, &["--write"]).tools();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let takes = tool["inputSchema"]["properties"]["expected_head"].is_object();
        let called = CALLS.iter().any(|(it, _)| *it == name);
        assert_eq!(takes, called, "{name}");
    }
}
