//! `forge workflow …`: definitions, without a forge.

use std::fs;

use serde_json::json;

use crate::world::World;

#[test]
fn r_001_13_word_resolves_to_a_state_with_or_without_prefix() {
    let world = World::new();
    for command in ["research", "ralph_research"] {
        let found = world.workflow(&["resolve", "__COMPLETE__", "-c", command]);
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
fn definition_is_written_linted_and_shown() {
    let world = World::new();
    world.forge(&["workflow", "new"]).ok();
    let out = world.forge(&["workflow", "new"]).output().exits(1);
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
    let shown = world.workflow(&["show", "-f", "workflow.toml"]);
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

#[test]
fn configured_definition_is_the_one_that_is_shown() {
    let world = World::new();
    world.define(|text| text.replace("Human Needed", "Person Needed"));
    let text = world.forge(&["workflow", "show"]).text();
    assert!(text.contains("Person Needed"), "{text}");
    let found = world.workflow(&["resolve", "__ESCALATE__", "-c", "impl"]);
    assert_eq!(found["resolvedState"], "Person Needed");
    let preset = world.workflow(&["resolve", "__ESCALATE__", "-c", "impl", "--preset", "ralph"]);
    assert_eq!(preset["resolvedState"], "Human Needed");
    let out = world
        .forge(&["workflow", "resolve", "__ESCALATE__"])
        .output()
        .exits(1);
    assert!(
        out.stderr_text().contains("--command is missing"),
        "{out:?}"
    );
    // A file of the default branch, and not one of a branch under review.
    let text = fs::read_to_string(world.scratch.path("workflow.toml")).unwrap();
    let base = text.replace("Person Needed", "Ada Needed");
    world
        .git
        .commit("main", "A workflow", &[("flow.toml", Some(&base))]);
    let head = text.replace("Person Needed", "Nobody Needed");
    world
        .git
        .commit("feature", "Another", &[("flow.toml", Some(&head))]);
    world.set("workflow.definition", "repo:flow.toml");
    world.switch("feature");
    let found = world.workflow(&["resolve", "__ESCALATE__", "-c", "impl"]);
    assert_eq!(found["resolvedState"], "Ada Needed");
}
