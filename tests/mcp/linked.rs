//! Tests through the server how a merge changes the issues that its pull request closes.

use std::{fs, sync::Arc};

use forge_github_double::{Fault, PullSeed, state::PullState};
use forge_testkit::Scratch;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::{LEGACY, MODERN, User, Wire, World},
};

/// Creates issues 1 to 3, of which 2 is closed, and pull request 1 into `base` with this
/// description.
fn world(base: &str, text: &str) -> World {
    let world = World::new();
    for title in ["First", "Second", "Third"] {
        let create = ["issue", "create", "-t", title, "-b", "It breaks."];
        world.forge(&create).ok();
    }
    world.forge(&["issue", "close", "2"]).ok();
    with_pull(world, base, text)
}

/// Opens pull request 1 into `base`, with this description.
fn with_pull(world: World, base: &str, text: &str) -> World {
    world.feature("release");
    world.feature("work");
    let create = [
        "pr", "create", "-H", "work", "-B", base, "-t", "Work", "-b", text,
    ];
    world.forge(&create).ok();
    world
}

/// Creates a world with a merged pull request 1. Its description named no issue when it was merged.
fn merged_before(text: &str) -> World {
    let world = world("main", "Nothing yet.");
    world.forge(&["pr", "merge", "1", "--merge"]).ok();
    world.forge(&["pr", "edit", "1", "-b", text]).ok();
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

/// Returns an issue that a merge has closed, as the result of `pr_merge` lists it.
fn closed(issue: &str) -> Value {
    json!({"issue": issue, "closed": true})
}

/// Returns an issue that a merge has moved. Only the state `Done` closes an issue.
fn moved_issue(issue: &str, from: Option<&str>, to: &str) -> Value {
    let mut moved = json!({"issue": issue, "to": to, "closed": to == "Done"});
    if let Some(from) = from {
        moved["from"] = json!(from);
    }
    moved
}

#[test]
fn r_000_21_merge_closes_linked_issues_only_once() {
    for era in [LEGACY, MODERN] {
        let world = world("main", "Fixes #1, closes #2, resolves #3.");
        let mut wire = world.server(era, &["--write"]);
        let merged = merge(&mut wire);
        assert!(
            wire.asked[0].contains(" Closes #1, #3."),
            "{:?}",
            wire.asked
        );
        assert_eq!(
            merged["linked_issues_transitioned"],
            json!([closed("#1"), closed("#3")])
        );
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
            .says("not closed: #1: \"the merge moved it before (open -> closed)\"");
        assert_eq!(again.data()["already_merged"], true);
        assert_eq!(again.data()["unchanged"], true);
        assert_eq!(state(&world, "1"), "OPEN");
        assert_eq!(wire.asked.len(), 1);
    }
}

#[test]
fn issue_reopened_before_the_merge_is_closed() {
    let world = world("main", "Fixes #2.");
    world.forge(&["issue", "reopen", "2"]).ok();
    let mut wire = world.server(MODERN, &["--write"]);
    let merged = merge(&mut wire);
    assert_eq!(merged["linked_issues_transitioned"], json!([closed("#2")]));
    assert_eq!(state(&world, "2"), "CLOSED");
}

#[test]
fn issue_left_open_by_merge_closes_after_consent() {
    for era in [LEGACY, MODERN] {
        let world = merged_before("Fixes #1.");
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
        let done = json!([{"issue": "#1", "closed": true}]);
        assert_eq!(closed["linked_issues_transitioned"], done);
        assert_eq!(state(&world, "1"), "CLOSED");
    }
}

#[test]
fn client_without_elicitation_must_confirm_issues_to_close() {
    let world = merged_before("Fixes #1.");
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
fn confirmation_is_void_once_linked_issues_change() {
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

/// The merge does not close an issue that cannot be read. Both the question and the result name it.
#[test]
fn unreadable_issue_is_named_in_question_and_result() {
    for merged in [false, true] {
        let text = "Fixes #1. Fixes #3.";
        let world = match merged {
            true => merged_before(text),
            false => world("main", text),
        };
        let garbage = ["hash-object", "-w", "--stdin"];
        let garbage = world.git.run(garbage).stdin("garbage").text();
        let damage = ["update-ref", "refs/forge/issues/1", garbage.trim()];
        world.git.run(damage).ok();
        let mut wire = world.server(MODERN, &["--write"]);
        let said = wire.call("pr_merge", json!({"number": 1})).ok();
        assert_eq!(
            said.data()["linked_issues_transitioned"],
            json!([closed("#3")])
        );
        let (asked, warnings) = (&wire.asked[0], said.data()["warnings"].to_string());
        for place in [asked.split_once("Warning: ").unwrap().1, &warnings] {
            assert!(place.contains("refs/forge/issues/1"), "{place}");
        }
        assert!(asked.contains("#3") && !asked.contains("#1, #3"), "{asked}");
    }
}

#[test]
fn merge_into_other_branch_closes_no_issue() {
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

/// Creates a hub with issue 1, and Grace's pull request 2, which closes that issue.
fn hub() -> Hub {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.label(REPO, "state: Done");
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
fn issue_closed_by_forge_is_reported_once() {
    let hub = hub();
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("closed: #1");
    assert!(wire.asked[0].contains(" Closes #1."), "{:?}", wire.asked);
    assert_eq!(
        merged.data()["linked_issues_transitioned"],
        json!([closed("#1")])
    );
    let asked = hub.double.requests();
    let closings = asked
        .iter()
        .filter_map(|r| r.document.as_deref())
        .filter(|document| document.contains("closeIssue"));
    assert_eq!(closings.count(), 0, "{asked:?}");
}

#[test]
fn issue_left_open_by_forge_is_only_reported() {
    let hub = hub();
    hub.double.seed().keeps_linked_open = true;
    let mut wire = hub.server(&["--write"]);
    for _ in 0..2 {
        let merged = wire
            .call("pr_merge", json!({"repo": REPO, "number": 2}))
            .ok()
            .says("not closed: #1: \"github.localhost has not closed it yet\"");
        assert_eq!(merged.data().get("linked_issues_transitioned"), None);
    }
    let asked = hub.double.requests();
    let documents = asked.iter().filter_map(|r| r.document.as_deref());
    let writes = documents.filter(|d| d.contains("closeIssue") || d.contains("addComment"));
    assert_eq!(writes.count(), 0, "{asked:?}");
}

#[test]
fn r_000_22_unclosable_issue_does_not_fail_merge() {
    let hub = hub();
    let headers = [("content-type", "application/json; charset=utf-8")];
    let refusal = r#"{"data":{"repository":null},"errors":[{"type":"FORBIDDEN","path":["repository"],"message":"Resource not accessible by personal access token"}]}"#;
    let fault = Fault::answer(200, &headers, refusal);
    hub.double.fault(fault.on_operation("IssueView").always());
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("could not close: #1: \"");
    assert_eq!(merged.data()["merged"], true);
    assert_eq!(merged.data()["linked_issues_failed"][0]["issue"], "#1");
    assert_eq!(merged.data().get("linked_issues_transitioned"), None);
}

/// Edits the description of pull request 2.
fn describe(hub: &Hub, text: &str) {
    hub.forge(&["pr", "edit", "2", "-R", REPO, "-b", text]).ok();
}

#[test]
fn issue_linked_during_question_stops_merge() {
    let hub = hub();
    hub.double
        .seed()
        .open_issue(REPO, "grace", "It waits", "Long.");
    let mut wire = hub.server_of(LEGACY, &["--write"]);
    let hub = Arc::new(hub);
    let theirs = Arc::clone(&hub);
    wire.meanwhile = Some(Box::new(move || describe(&theirs, "Fixes #1, fixes #3.")));
    wire.call("pr_merge", json!({"repo": REPO, "number": 2}))
        .fails("conflict")
        .says("closes were changed meanwhile: ")
        .says("octo/tools#3");
    let seed = hub.double.seed();
    assert_eq!(seed.pull_of(REPO, 2).state, PullState::Open);
}

#[test]
fn issue_of_other_repository_is_named_and_must_be_allowed() {
    let hub = hub();
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme("octo/other");
        seed.open_issue("octo/other", "grace", "Elsewhere", "Text.");
    }
    let allowed = ["--write", "--allow-write", "github.localhost/octo/tools"];
    let mut limited = hub.server(&allowed);
    let args = json!({"repo": REPO, "number": 2});
    let mut message = args.clone();
    message["body"] = json!("Fixes octo/other#1");
    let mut refused = |args: &Value| {
        limited
            .call("pr_merge", args.clone())
            .fails("permission_denied")
            .says("octo/other#1");
        assert!(limited.asked.is_empty(), "{:?}", limited.asked);
    };
    refused(&message);
    describe(&hub, "Fixes #1, fixes octo/other#1.");
    refused(&args);
    let mut wire = hub.server(&["--write"]);
    let merged = wire.call("pr_merge", args).ok();
    let merged = merged.says("\nleft to github.localhost, not read: ");
    for part in [
        " Closes #1.",
        " Closed by github.localhost itself (1): ",
        "octo/other#1.",
    ] {
        assert!(wire.asked[0].contains(part), "{part}: {:?}", wire.asked);
    }
    let data = merged.data();
    assert_eq!(data["linked_issues_transitioned"], json!([closed("#1")]));
    let left = &data["linked_issues_left_to_forge"][0]["issue"];
    let left = left.as_str().unwrap();
    assert!(left.ends_with("octo/other#1"), "{left}");
}

#[test]
fn issues_beyond_fifty_are_named_and_left_to_github() {
    let hub = hub();
    {
        let mut seed = hub.double.seed();
        for _ in 3..=53 {
            seed.open_issue(REPO, "grace", "One more", "Text.");
        }
    }
    let issues = [1].into_iter().chain(3..=53);
    let lines: Vec<String> = issues.map(|n| format!("Fixes #{n}.")).collect();
    describe(&hub, &lines.join("\n"));
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("\nleft to github.localhost, not read: #52, #53");
    assert!(!merged.text().contains("not closed"), "{}", merged.text());
    for part in [
        ", #50, #51.",
        " Closed by github.localhost itself (2): #52, #53.",
    ] {
        assert!(wire.asked[0].contains(part), "{part}: {:?}", wire.asked);
    }
}

/// Configures a workflow definition with the given lines in `[on_merge]`, whose states are labels.
fn configure_workflow(scratch: &Scratch, on_merge: &str) {
    configure_store(scratch, "label_prefix = \"state: \"", on_merge);
}

fn configure_store(scratch: &Scratch, store: &str, on_merge: &str) {
    let preset = include_str!("../../crates/forge-workflow/presets/ralph.toml");
    let (states, _) = preset.split_once("[on_merge]").unwrap();
    let default = match on_merge.contains("only_default_branch") {
        true => "",
        false => "only_default_branch = true\n",
    };
    let rule = format!("[on_merge]\ncommand = \"pr\"\nto = \"__CLOSE__\"\n{default}{on_merge}\n");
    scratch.write("workflow.toml", format!("{states}{rule}"));
    let path = scratch.path("workflow.toml");
    let path = path.display();
    let file = format!("[workflow]\n{store}\ndefinition = \"{path}\"\n");
    scratch.write("home/.config/forge/config.toml", file);
}

/// Creates issues 1 (in review), 2 (in progress) and 3 (without a state), and pull request 1 into
/// `base`, which closes all three.
fn staged(base: &str) -> World {
    let world = World::new();
    for state in ["state: In Review", "state: In Progress"] {
        world.forge(&["label", "create", state]).ok();
        let create = ["issue", "create", "-t", "One", "-b", "Text.", "-l", state];
        world.forge(&create).ok();
    }
    world.forge(&["label", "create", "state: Done"]).ok();
    let create = ["issue", "create", "-t", "Three", "-b", "Text."];
    world.forge(&create).ok();
    with_pull(world, base, "Fixes #1, fixes #2, fixes #3.")
}

/// Returns the state and the labels of an issue.
fn state_and_labels(world: &World, issue: &str) -> Value {
    let view = ["issue", "view", issue, "--json", "state,labels"];
    let shown = world.forge(&view).output().success().json();
    let labels = shown["labels"].as_array().unwrap();
    let names: Vec<_> = labels.iter().map(|l| l["name"].clone()).collect();
    json!([shown["state"], names])
}

#[test]
fn r_000_21_merge_moves_issues_by_the_definition() {
    let world = staged("main");
    configure_workflow(
        &world.scratch,
        "from.\"In Review\" = \"__CLOSE__\"\nfrom.Done = \"In Review\"",
    );
    let mut wire = world.server(MODERN, &["--write"]);
    let merged = merge(&mut wire);
    let moved = "#1: In Review -> Done (closed)";
    assert!(
        wire.asked[0].contains(&format!(" Moves {moved}.")),
        "{:?}",
        wire.asked
    );
    let done = json!([moved_issue("#1", Some("In Review"), "Done")]);
    assert_eq!(merged["linked_issues_transitioned"], done);
    assert_eq!(
        merged["linked_issues_skipped"],
        json!([
            {"issue": "#2", "reason": "no merge rule applies to In Progress"},
            {"issue": "#3", "reason": "no merge rule applies to an issue without a state"}
        ])
    );
    // The transition also created the label of the new state.
    assert_eq!(
        state_and_labels(&world, "1"),
        json!(["CLOSED", ["state: Done"]])
    );
    assert_eq!(
        state_and_labels(&world, "2"),
        json!(["OPEN", ["state: In Progress"]])
    );
    assert_eq!(state_and_labels(&world, "3"), json!(["OPEN", []]));
    let again = wire
        .call("pr_merge", json!({"number": 1}))
        .ok()
        .says("not moved: #1: \"the merge moved it before (In Review -> Done)\"");
    assert_eq!(again.data()["unchanged"], true);
    assert_eq!(wire.asked.len(), 1);
}

#[test]
fn move_without_the_label_suggests_init() {
    let world = world("main", "Fixes #1.");
    configure_workflow(&world.scratch, "");
    let merged = merge(&mut world.server(MODERN, &["--write"]));
    let reason = merged["linked_issues_failed"][0]["reason"].as_str();
    let init = "; or create what the workflow needs; in a terminal: forge workflow init";
    assert!(reason.unwrap().ends_with(init), "{merged}");
}

#[test]
fn repeated_merge_moves_no_issue_further() {
    let world = staged("main");
    configure_workflow(
        &world.scratch,
        "from.\"In Review\" = \"__CLOSE__\"\nfrom.\"In Progress\" = \"In Review\"",
    );
    let mut wire = world.server(MODERN, &["--write"]);
    let merged = merge(&mut wire);
    let moved = json!([
        moved_issue("#1", Some("In Review"), "Done"),
        moved_issue("#2", Some("In Progress"), "In Review"),
    ]);
    assert_eq!(merged["linked_issues_transitioned"], moved);
    let again = merge(&mut wire);
    assert_eq!(again["unchanged"], true);
    assert_eq!(
        again["linked_issues_skipped"][1],
        json!({"issue": "#2", "reason": "the merge moved it before (In Progress -> In Review)"})
    );
    assert_eq!(
        state_and_labels(&world, "2"),
        json!(["OPEN", ["state: In Review"]])
    );
    assert_eq!(wire.asked.len(), 1);
    // A merge of a second pull request moves the issue on from its current state.
    world.propose("more", "More", "Fixes #2.");
    let more = wire.call("pr_merge", json!({"number": 2})).ok();
    let moved = json!([moved_issue("#2", Some("In Review"), "Done")]);
    assert_eq!(more.data()["linked_issues_transitioned"], moved);
    assert_eq!(
        state_and_labels(&world, "2"),
        json!(["CLOSED", ["state: Done"]])
    );
}

#[test]
fn r_000_21_issue_reopened_after_merge_stays_open() {
    let world = staged("main");
    configure_workflow(&world.scratch, "");
    world.forge(&["issue", "close", "2"]).ok();
    world.forge(&["issue", "reopen", "2"]).ok();
    let mut wire = world.server(MODERN, &["--write"]);
    let merged = merge(&mut wire);
    let moved = moved_issue("#2", Some("In Progress"), "Done");
    assert_eq!(merged["linked_issues_transitioned"][1], moved);
    world.forge(&["issue", "reopen", "2"]).ok();
    let again = merge(&mut wire);
    assert_eq!(again["unchanged"], true);
    assert_eq!(
        again["linked_issues_skipped"][1],
        json!({"issue": "#2", "reason": "the merge moved it before (In Progress -> Done)"})
    );
    assert_eq!(
        state_and_labels(&world, "2"),
        json!(["OPEN", ["state: Done"]])
    );
    assert_eq!(wire.asked.len(), 1);
}

#[test]
fn broken_repository_file_does_not_stop_merges() {
    for own in [false, true] {
        let (world, other) = (staged("main"), World::new());
        let start = if own { &world } else { &other };
        fs::write(start.git.path().join(".forge.toml"), "workflow = [").unwrap();
        let path = world.git.path().to_str().unwrap();
        let mut wire = start.server(MODERN, &["--write", "--allow-path", path]);
        let args = json!({"repo": world.name(), "number": 1});
        wire.call("pr_merge", args).ok();
        assert_eq!(state_and_labels(&world, "1")[0], "CLOSED", "{own}");
    }
}

#[test]
fn repository_file_cannot_name_a_workflow() {
    for own in [false, true] {
        let (world, other) = (staged("main"), World::new());
        let start = if own { &world } else { &other };
        let file = start.git.path().join(".forge.toml");
        fs::write(file, "[workflow]\nlabel_prefix = \"state: \"\n").unwrap();
        let path = world.git.path().to_str().unwrap();
        let mut wire = start.server(MODERN, &["--write", "--allow-path", path]);
        let args = json!({"repo": world.name(), "number": 1});
        let merged = wire.call("pr_merge", args).ok();
        // Only the user's own configuration can name a workflow.
        let first = &merged.data()["linked_issues_transitioned"][0];
        assert_eq!(*first, closed("#1"));
        let stands = state_and_labels(&world, "1");
        assert_eq!(stands, json!(["CLOSED", ["state: In Review"]]));
    }
}

#[test]
fn merge_into_other_branch_follows_the_definition() {
    let world = staged("release");
    let table = "from.\"In Review\" = \"Done\"\n";
    configure_workflow(&world.scratch, table);
    let merged = merge(&mut world.server(MODERN, &["--write"]));
    assert_eq!(
        merged["linked_issues_skipped"][0],
        json!({"issue": "#1", "reason": "only a merge into main moves issues"})
    );
    assert_eq!(
        state_and_labels(&world, "1"),
        json!(["OPEN", ["state: In Review"]])
    );
    // The call also handles earlier merges. Without a transition table, every state leads to the
    // final state.
    configure_workflow(&world.scratch, "only_default_branch = false\n");
    let mut wire = world.server(MODERN, &["--write"]);
    let merged = merge(&mut wire);
    assert_eq!(merged["already_merged"], true);
    let moved = [
        "#1: In Review -> Done (closed)",
        "#2: In Progress -> Done (closed)",
        "#3: no state -> Done (closed)",
    ];
    let question = format!(" is merged. Move {}?", moved.join(", "));
    assert!(wire.asked[0].ends_with(&question), "{:?}", wire.asked);
    let states = [Some("In Review"), Some("In Progress"), None];
    let moved = ["#1", "#2", "#3"].into_iter().zip(states);
    let moved: Vec<Value> = moved
        .map(|(issue, from)| moved_issue(issue, from, "Done"))
        .collect();
    assert_eq!(merged["linked_issues_transitioned"], json!(moved));
    for issue in ["1", "2", "3"] {
        let done = json!(["CLOSED", ["state: Done"]]);
        assert_eq!(state_and_labels(&world, issue), done, "#{issue}");
    }
}

#[test]
fn unknown_states_are_refused_before_the_question() {
    let world = staged("main");
    configure_workflow(&world.scratch, "from.Reviewed = \"Done\"");
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_merge", json!({"number": 1}))
        .fails("config")
        .says("Reviewed");
    assert!(wire.asked.is_empty());
    assert_eq!(world.json("1", "state")["state"], "OPEN");
    // A merge that moves no issue succeeds as well.
    world.propose("other", "Other", "Closes nothing.");
    wire.call("pr_merge", json!({"number": 2})).ok();
}

#[test]
fn issue_closed_by_github_moves_to_final_state() {
    let hub = hub();
    configure_workflow(&hub.scratch, "");
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("moved: #1: no state -> Done (closed)");
    assert_eq!(merged.data().get("linked_issues_failed"), None);
    let view = ["issue", "view", "1", "-R", REPO, "--json", "state,labels"];
    let shown = hub.forge(&view).output().success().json();
    assert_eq!(shown["state"], "CLOSED");
    assert_eq!(shown["labels"][0]["name"], "state: Done");
    let asked = hub.double.requests();
    let sent = |mutation: &str| {
        let documents = asked.iter().filter_map(|r| r.document.as_deref());
        documents
            .filter(|document| document.contains(mutation))
            .count()
    };
    assert_eq!(
        ["createLabel", "addLabelsToLabelable", "closeIssue"].map(sent),
        [0, 1, 0]
    );
}

#[test]
fn issue_off_the_board_is_named_in_the_question() {
    for (rule, asked, added) in [
        (
            "",
            " Not moved: #1 (it is not on board octo/2; `add_to_board = true` in [on_merge] adds \
             such issues).",
            0,
        ),
        ("add_to_board = true", ", added to board octo/2", 1),
    ] {
        let hub = hub();
        let mut seed = hub.double.seed();
        let board = seed.project("octo", "Work", &["Todo", "Done"]);
        seed.project_field(board, "Workflow State", &["In Review", "Done"]);
        seed.project_field(board, "Estimate", &["XS", "S", "M", "L", "XL"]);
        seed.project_field(board, "Priority", &["P0", "P1", "P2", "P3"]);
        drop(seed);
        let store = "store = \"fields\"\nboard = \"octo/2\"";
        configure_store(&hub.scratch, store, rule);
        let mut wire = hub.server(&["--write"]);
        let args = json!({"repo": REPO, "number": 2});
        wire.call("pr_merge", args).ok();
        assert!(wire.asked[0].contains(asked), "{:?}", wire.asked);
        let seed = hub.double.seed();
        let items = seed.items.values().filter(|item| item.project == board);
        assert_eq!(items.count(), added, "{rule}");
    }
}

fn labels(hub: &Hub, issue: &str) -> Vec<Value> {
    let view = ["issue", "view", issue, "-R", REPO, "--json", "labels"];
    let shown = hub.forge(&view).output().success().json();
    let labels = shown["labels"].as_array().unwrap().iter();
    labels.map(|label| label["name"].clone()).collect()
}

#[test]
fn github_closed_issue_never_moves_to_open() {
    let hub = hub();
    configure_workflow(&hub.scratch, "from.\"In Progress\" = \"In Review\"");
    let label = "state: In Progress";
    hub.double.seed().label(REPO, label);
    let issue = [
        "issue", "create", "-R", REPO, "-t", "It waits", "-b", "Long.", "-l", label,
    ];
    hub.forge(&issue).ok();
    hub.forge(&["pr", "edit", "2", "-R", REPO, "-b", "Fixes #3."])
        .ok();
    let mut wire = hub.server(&["--write"]);
    for _ in 0..2 {
        let why = "it is closed, but the target state needs an open issue";
        wire.call("pr_merge", json!({"repo": REPO, "number": 2}))
            .ok()
            .says(&format!("not moved: #3: \"{why}\""));
        assert_eq!(labels(&hub, "3"), [label]);
    }
    assert_eq!(wire.asked.len(), 1);
}

#[test]
fn issue_closed_during_question_stays_unchanged() {
    let hub = hub();
    configure_workflow(&hub.scratch, "");
    let close = ["issue", "close", "1", "-R", REPO, "-r", "not planned"];
    let close = hub.forge(&close);
    let mut wire = hub.server_of(LEGACY, &["--write"]);
    wire.meanwhile = Some(Box::new(move || close.ok()));
    wire.call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("not moved: #1: \"it was closed, but not as done\"");
    assert_eq!(labels(&hub, "1").len(), 0);
}

#[test]
fn unreadable_repository_fails_only_moves_needing_its_data() {
    for (counts, told) in [
        (
            true,
            "could not move: #1: \"the repository could not be read: ",
        ),
        (false, "moved: #1: no state -> Done (closed)"),
    ] {
        let hub = hub();
        configure_workflow(&hub.scratch, &format!("only_default_branch = {counts}"));
        let headers = [("content-type", "application/json; charset=utf-8")];
        let refusal = r#"{"data":{"repository":null},"errors":[{"type":"FORBIDDEN","path":["repository"],"message":"Resource not accessible by personal access token"}]}"#;
        let fault = Fault::answer(200, &headers, refusal);
        hub.double.fault(fault.on_operation("Repository").always());
        let mut wire = hub.server(&["--write"]);
        let args = json!({"repo": REPO, "number": 2, "method": "squash"});
        wire.call("pr_merge", args).ok().says(told);
    }
}

#[test]
fn r_000_22_unmovable_issue_does_not_fail_merge() {
    let hub = hub();
    configure_workflow(&hub.scratch, "");
    hub.double.seed().label(REPO, "state: Done");
    let headers = [("content-type", "application/json; charset=utf-8")];
    let refusal = r#"{"data":{"m":null},"errors":[{"type":"FORBIDDEN","path":["m"],"message":"Resource not accessible by personal access token"}]}"#;
    let fault = Fault::answer(200, &headers, refusal);
    hub.double
        .fault(fault.on_operation("addLabelsToLabelable").always());
    let mut wire = hub.server(&["--write"]);
    let merged = wire
        .call("pr_merge", json!({"repo": REPO, "number": 2}))
        .ok()
        .says("could not move: #1: \"");
    assert_eq!(merged.data()["merged"], true);
    assert_eq!(merged.data()["linked_issues_failed"][0]["issue"], "#1");
    assert_eq!(merged.data().get("linked_issues_transitioned"), None);
}

/// The label is written, but closing the issue fails. A repeated call closes the issue.
#[test]
fn move_with_failed_close_is_finished_later() {
    let hub = hub();
    configure_workflow(&hub.scratch, "from.\"In Review\" = \"__CLOSE__\"");
    for label in ["state: In Review", "state: Done"] {
        hub.double.seed().label(REPO, label);
    }
    let label = ["issue", "edit", "1", "-R", REPO, "--add-label"];
    hub.forge(&label).args(["state: In Review"]).ok();
    hub.forge(&["pr", "merge", "2", "-R", REPO, "--merge"]).ok();
    // Another person merges, in a repository where a merge closes no issues.
    let mut seed = hub.double.seed();
    seed.comments.clear();
    for issue in seed.issues.values_mut() {
        (issue.state, issue.closed_at) = (PullState::Open, None);
    }
    drop(seed);
    let back = [
        "--remove-label",
        "state: Done",
        "--add-label",
        "state: In Review",
    ];
    hub.forge(&["issue", "edit", "1", "-R", REPO])
        .args(back)
        .ok();
    let headers = [("content-type", "application/json; charset=utf-8")];
    let refusal = r#"{"data":{"m":null},"errors":[{"type":"FORBIDDEN","path":["m"],"message":"Resource not accessible by personal access token"}]}"#;
    let fault = Fault::answer(200, &headers, refusal);
    hub.double.fault(fault.on_operation("closeIssue"));
    let mut wire = hub.server(&["--write"]);
    let args = json!({"repo": REPO, "number": 2});
    let half = wire
        .call("pr_merge", args.clone())
        .ok()
        .says("could not move: #1: \"");
    assert_eq!(half.data()["unchanged"], false);
    assert_eq!(half.data()["linked_issues_failed"][0]["issue"], "#1");
    assert_eq!(half.data().get("linked_issues_transitioned"), None);
    assert_eq!(labels(&hub, "1"), ["state: In Review"]);
    let rest = wire.call("pr_merge", args).ok();
    assert!(wire.asked[1].ends_with(" is merged. Move #1: In Review -> Done (closed)?"));
    let moved = &rest.data()["linked_issues_transitioned"];
    assert_eq!(
        *moved,
        json!([moved_issue("#1", Some("In Review"), "Done")])
    );
    assert!(
        hub.double
            .seed()
            .issues
            .values()
            .all(|issue| issue.state == PullState::Closed)
    );
}
