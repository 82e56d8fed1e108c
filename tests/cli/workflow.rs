//! `forge workflow …`: definitions, without a forge.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

impl World {
    fn workflow(&self, args: &[&str]) -> Value {
        let all = [&["workflow"], args].concat();
        self.forge(&all).output().success().json()
    }
}

#[test]
fn r_001_13_word_resolves_to_a_state_with_or_without_prefix() {
    let world = World::new();
    for command in ["research", "ralph_research"] {
        let found = world.workflow(&["resolve", "__COMPLETE__", "-c", command, "--json"]);
        let wanted = json!({
            "command": command, "originalState": "__COMPLETE__", "resolvedState": "Ready for Plan",
            "wasIntent": true,
        });
        assert_eq!(found, wanted);
    }
    let text = world.forge(&[
        "workflow",
        "resolve",
        "research in progress",
        "-c",
        "research",
    ]);
    assert_eq!(text.text(), "Research in Progress\n");
}

#[test]
fn r_001_15_refusals_are_told_with_their_retry() {
    let world = World::new();
    for (said, command, why, retry) in [
        (
            "__LOCK__",
            "triage",
            "it is for ralph_impl (In Progress)",
            "retry with one of:",
        ),
        (
            "__COMPLETE__",
            "triage",
            "is ambiguous for ralph_triage",
            "Research Needed",
        ),
        (
            "Ready for Plan",
            "impl",
            "is no state for ralph_impl",
            "__COMPLETE__",
        ),
        ("Done", "nobody", "unknown command 'nobody'", "ralph_hero"),
    ] {
        let out = world
            .forge(&["workflow", "resolve", said, "-c", command])
            .output()
            .exits(1);
        let text = out.stderr_text();
        assert!(
            text.contains(why) && text.contains(retry),
            "{said} {command}: {text}"
        );
    }
}

#[test]
fn definition_is_written_linted_and_shown() {
    let world = World::new();
    world.forge(&["workflow", "init"]).ok();
    let out = world.forge(&["workflow", "init"]).output().exits(1);
    assert!(out.stderr_text().contains("is there already"), "{out:?}");
    world
        .forge(&["workflow", "lint", "-f", "workflow.toml"])
        .ok();
    let graph = world
        .forge(&["workflow", "graph", "-f", "workflow.toml"])
        .text();
    assert!(
        graph.starts_with("stateDiagram-v2\n") && graph.contains("s1 --> s2"),
        "{graph}"
    );
    let shown = world.workflow(&["show", "-f", "workflow.toml", "--json", "states"]);
    assert_eq!(shown["states"][1]["name"], "Doing");
    assert_eq!(
        (&shown["states"][1]["lock"], &shown["states"][1]["order"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(shown["states"][4]["terminal"], "abandoned");
    let text = world.forge(&["workflow", "show"]).text();
    assert!(
        text.contains("Research in Progress") && text.contains("ralph_merge"),
        "{text}"
    );

    let path = world.git.path().join("workflow.toml");
    let right = fs::read_to_string(&path).unwrap();
    let wrong = right
        .replace("state = \"Dropped\"", "state = \"Droped\"")
        .replace("lock = \"Doing\"", "lock = \"Todo\"");
    fs::write(&path, &wrong).unwrap();
    let out = world
        .forge(&["workflow", "lint", "-f", "workflow.toml"])
        .output()
        .exits(1);
    let lines: Vec<String> = out.stdout_text().lines().map(str::to_owned).collect();
    let at = |text: &str| wrong.lines().position(|l| l == text).unwrap() + 1;
    let first = format!("workflow.toml:{}:", at("state = \"Droped\""));
    assert!(
        lines[0].starts_with(&first) && lines[0].contains("did you mean 'Dropped'?"),
        "{lines:?}"
    );
    let second = format!("workflow.toml:{}:", at("lock = \"Todo\""));
    assert!(lines[1].starts_with(&second), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let out = world
        .forge(&["workflow", "graph", "-f", "workflow.toml"])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("Droped"), "{out:?}");
    let out = world
        .forge(&["workflow", "lint", "-f", "nowhere"])
        .output()
        .exits(1);
    assert!(
        out.stderr_text().contains("nowhere cannot be read"),
        "{out:?}"
    );
}
