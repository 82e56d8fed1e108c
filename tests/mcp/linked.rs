//! What a merge does with the issues that its pull request closes.

use forge_testkit::github::{Fault, PullSeed};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::{LEGACY, MODERN, User, Wire, World},
};

/// Issues 1 to 3, of which the second is closed, and pull request 1 into `base` with this text.
fn world(base: &str, text: &str) -> World {
    let world = World::new();
    for title in ["First", "Second", "Third"] {
        let create = ["issue", "create", "-t", title, "-b", "It breaks."];
        world.forge(&create).ok();
    }
    world.forge(&["issue", "close", "2"]).ok();
    world.feature("release");
    world.feature("work");
    let create = [
        "pr", "create", "-H", "work", "-B", base, "-t", "Work", "-b", text,
    ];
    world.forge(&create).ok();
    world
}

fn state(world: &World, issue: &str) -> String {
    let view = ["issue", "view", issue, "--json", "state"];
    let shown = world.forge(&view).output().success().json();
    shown["state"].as_str().unwrap().to_owned()
}

fn merge(wire: &mut Wire) -> Value {
    let merged = wire.call("pr_merge", json!({"number": 1})).ok();
    assert_eq!(merged.data()["merged"], true);
    merged.data().clone()
}

#[test]
fn issues_are_closed_with_the_merge_and_what_was_opened_again_stays_open() {
    for era in [LEGACY, MODERN] {
        let world = world("main", "Fixes #1, closes #2, resolves #3.");
        let mut wire = world.server(era, &["--write"]);
        let merged = merge(&mut wire);
        assert!(
            wire.asked[0].contains(" Closes #1, #3."),
            "{:?}",
            wire.asked
        );
        assert_eq!(merged["linked_issues_transitioned"], json!(["#1", "#3"]));
        assert_eq!(
            merged["linked_issues_skipped"],
            json!([{"issue": "#2", "reason": "it was closed before"}])
        );
        assert_eq!(merged.get("linked_issues_failed"), None);
        for issue in ["1", "2", "3"] {
            assert_eq!(state(&world, issue), "CLOSED", "#{issue}");
        }
        world.forge(&["issue", "reopen", "1"]).ok();
        let again = wire
            .call("pr_merge", json!({"number": 1}))
            .ok()
            .says("not closed: #1 (it was opened again)");
        assert_eq!(again.data()["already_merged"], true);
        assert_eq!(again.data()["unchanged"], true);
        assert_eq!(state(&world, "1"), "OPEN");
        assert_eq!(wire.asked.len(), 1);
    }
}

#[test]
fn what_a_merge_left_open_is_closed_once_somebody_agrees() {
    for era in [LEGACY, MODERN] {
        let world = world("main", "Fixes #1.");
        world.forge(&["pr", "merge", "1", "--merge"]).ok();
        assert_eq!(state(&world, "1"), "OPEN");
        let mut wire = world.server(era, &["--write"]);
        wire.user = User::Declines;
        let declined = merge(&mut wire);
        assert!(wire.asked[0].ends_with(" is merged. Close #1?"));
        assert_eq!(declined["unchanged"], true);
        assert_eq!(declined["linked_issues_skipped"][0]["issue"], "#1");
        assert_eq!(state(&world, "1"), "OPEN");
        wire.user = User::Agrees;
        let closed = merge(&mut wire);
        assert_eq!(closed["already_merged"], true);
        assert_eq!(closed["unchanged"], false);
        assert_eq!(closed["linked_issues_transitioned"], json!(["#1"]));
        assert_eq!(state(&world, "1"), "CLOSED");
    }
}

#[test]
fn who_cannot_ask_closes_nothing_of_a_merged_one_without_naming_it() {
    let world = world("main", "Fixes #1.");
    world.forge(&["pr", "merge", "1", "--merge"]).ok();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.user = User::Absent;
    let told = wire
        .call("pr_merge", json!({"number": 1}))
        .ok()
        .says("Close #1?")
        .says("confirm=");
    assert_eq!(told.data()["unchanged"], true);
    assert_eq!(state(&world, "1"), "OPEN");
}

#[test]
fn an_answer_is_worth_nothing_once_other_issues_would_be_closed() {
    let world = world("main", "Fixes #1.");
    let mut wire = world.server(MODERN, &["--write"]);
    let args = json!({"number": 1});
    let asked = wire.raw("pr_merge", args.clone());
    world
        .forge(&["pr", "edit", "1", "-b", "Fixes #1. Fixes #3."])
        .ok();
    wire.confirmed("pr_merge", args, &asked["requestState"])
        .fails("invalid_input")
        .says("another call");
    assert_eq!(world.json("1", "state")["state"], "OPEN");
    assert_eq!(state(&world, "3"), "OPEN");
}

/// An issue that cannot be read is not closed: whoever agrees is told, and so is who reads the result.
#[test]
fn what_cannot_be_read_is_said_with_the_question_and_with_the_result() {
    for merged in [false, true] {
        let world = world("main", "Fixes #1. Fixes #3.");
        if merged {
            world.forge(&["pr", "merge", "1", "--merge"]).ok();
        }
        let garbage = ["hash-object", "-w", "--stdin"];
        let garbage = world.git.run(garbage).stdin("garbage").text();
        let damage = ["update-ref", "refs/forge/issues/1", garbage.trim()];
        world.git.run(damage).ok();
        let mut wire = world.server(MODERN, &["--write"]);
        let said = wire.call("pr_merge", json!({"number": 1})).ok();
        assert_eq!(said.data()["linked_issues_transitioned"], json!(["#3"]));
        let (asked, warnings) = (&wire.asked[0], said.data()["warnings"].to_string());
        for place in [asked.split_once("Warning: ").unwrap().1, &warnings] {
            assert!(place.contains("refs/forge/issues/1"), "{place}");
        }
        assert!(asked.contains("#3") && !asked.contains("#1, #3"), "{asked}");
    }
}

#[test]
fn only_a_merge_into_the_default_branch_closes_issues() {
    let world = world("release", "Fixes #1.");
    let mut wire = world.server(MODERN, &["--write"]);
    let merged = merge(&mut wire);
    assert!(!wire.asked[0].contains("Closes"), "{:?}", wire.asked);
    assert_eq!(
        merged["linked_issues_skipped"],
        json!([{"issue": "#1", "reason": "only a merge into main closes issues"}])
    );
    assert_eq!(state(&world, "1"), "OPEN");
}

/// Issue 1, and pull request 2 of Grace's, which closes it.
fn hub() -> Hub {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.open_issue(REPO, "grace", "It breaks", "Often.");
    seed.open_pull(
        REPO,
        &PullSeed {
            author: "grace",
            title: "Mend it",
            body: "Fixes #1.",
            head: "feature",
            ..PullSeed::default()
        },
    );
    drop(seed);
    hub
}

#[test]
fn what_the_forge_has_closed_is_told_and_not_closed_again() {
    let hub = hub();
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("closed: #1");
    assert!(wire.asked[0].contains(" Closes #1."), "{:?}", wire.asked);
    assert_eq!(merged.data()["linked_issues_transitioned"], json!(["#1"]));
    let asked = hub.double.requests();
    let closings = asked
        .iter()
        .filter_map(|r| r.document.as_deref())
        .filter(|document| document.contains("closeIssue"));
    assert_eq!(closings.count(), 0, "{asked:?}");
}

#[test]
fn an_issue_that_cannot_be_closed_fails_no_merge() {
    let hub = hub();
    let headers = [("content-type", "application/json; charset=utf-8")];
    let refusal = r#"{"data":{"repository":null},"errors":[{"type":"FORBIDDEN","path":["repository"],"message":"Resource not accessible by personal access token"}]}"#;
    let fault = Fault::answer(200, &headers, refusal);
    hub.double.fault(fault.on_operation("IssueView").always());
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("could not close: #1 (");
    assert_eq!(merged.data()["merged"], true);
    assert_eq!(merged.data()["linked_issues_failed"][0]["issue"], "#1");
    assert_eq!(merged.data().get("linked_issues_transitioned"), None);
}
