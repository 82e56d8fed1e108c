use std::sync::Arc;

use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    world::{LEGACY, MODERN, User, World},
};

#[test]
fn who_declines_is_obeyed() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        wire.user = User::Declines;
        wire.call("pr_merge", json!({"number": 1}))
            .fails("cancelled")
            .says("did not agree");
        let args = json!({"number": 1, "state": "closed", "delete_branch": true});
        wire.call("pr_set_state", args).fails("cancelled");
        assert_eq!(wire.asked.len(), 2);
        assert!(
            wire.asked[0].contains("Merge ") && wire.asked[0].contains("by squash"),
            "{:?}",
            wire.asked
        );
        assert!(
            wire.asked[1].contains("delete its branch feature"),
            "{:?}",
            wire.asked
        );
        let view = wire.call("pr_view", json!({"number": 1})).ok();
        assert_eq!(view.data()["pull_request"]["state"], "open");
        assert!(world.git.oid("feature").is_some());
    }
}

/// To accept is to send the form, and what counts is what it says.
#[test]
fn a_form_that_does_not_say_yes_is_a_no() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        let before = world.git.refs();
        for user in [User::LeavesItUnticked, User::SendsNoForm] {
            wire.user = user;
            wire.asked.clear();
            for (tool, args) in [
                ("pr_merge", json!({"number": 1})),
                (
                    "pr_set_state",
                    json!({"number": 1, "state": "closed", "delete_branch": true}),
                ),
                ("pr_update_branch", json!({"number": 1, "method": "rebase"})),
            ] {
                wire.call(tool, args)
                    .fails("cancelled")
                    .says("did not agree");
            }
            assert_eq!(wire.asked.len(), 3, "{era} {user:?}");
            assert_eq!(world.git.refs(), before, "{era} {user:?}");
        }
        // With the form ticked it is done.
        wire.user = User::Agrees;
        wire.call("pr_merge", json!({"number": 1})).ok();
        assert_ne!(world.git.refs(), before, "{era}");
    }
}

/// What the forge would refuse, or leave as it is.
#[test]
fn what_is_not_going_to_be_done_is_not_asked_about() {
    let world = World::with_feature();
    world.propose("second", "Second", "");
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_merge", json!({"number": 1, "subject": "a\nb"}))
        .fails("invalid_input")
        .says("not one line");
    let close = |number: u64| json!({"number": number, "state": "closed", "delete_branch": true});
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    wire.call("pr_merge", json!({"number": 1})).ok();
    wire.call("pr_set_state", close(1))
        .fails("precondition_failed")
        .says("pr_merge with delete_branch=true");
    assert_eq!(wire.asked.len(), 1, "{:?}", wire.asked);
    assert!(world.git.oid("feature").is_some() && world.git.oid("second").is_some());
    // A merge conflicts where a rebase may not: whoever agrees has to know.
    world
        .git
        .commit("main", "Other", &[("second.txt", Some("another\n"))]);
    wire.user = User::Declines;
    wire.call("pr_update_branch", json!({"number": 2, "method": "rebase"}))
        .fails("cancelled");
    let warns = " Warning: a merge of the two has conflicts in second.txt,";
    assert!(wire.asked[1].contains(warns), "{:?}", wire.asked);
    // Of many the first are named, and the others counted.
    let paths: Vec<_> = (0..12).map(|n| format!("many/{n:02}")).collect();
    for (branch, text) in [("second", "ours"), ("main", "theirs")] {
        let files: Vec<_> = paths
            .iter()
            .map(|path| (path.as_str(), Some(text)))
            .collect();
        world.git.commit(branch, "Many", &files);
    }
    wire.call("pr_update_branch", json!({"number": 2, "method": "rebase"}))
        .fails("cancelled");
    let warns = format!(" in {} and 3 more, and a rebase", paths[..10].join(", "));
    assert!(wire.asked[2].contains(&warns), "{:?}", wire.asked);
}

#[test]
fn a_client_that_cannot_ask_names_what_it_means() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.user = User::Absent;
    let asked = wire
        .call("pr_merge", json!({"number": 1}))
        .fails("invalid_input")
        .says("ask yourself");
    let wanted = format!("{}#1", world.name());
    assert!(
        asked.text().contains(&format!("confirm=\"{wanted}\"")),
        "{}",
        asked.text()
    );
    let head = world.git.oid("feature").unwrap();
    for args in [
        json!({"number": 1, "confirm": wanted}),
        json!({"number": 1, "expected_head": head}),
        json!({"number": 1, "expected_head": head, "confirm": "yes"}),
        json!({"number": 1, "expected_head": head, "confirm": format!("{}#2", world.name())}),
    ] {
        wire.call("pr_merge", args).fails("invalid_input");
    }
    world.git.commit("feature", "Moved", &[("x", Some("x"))]);
    wire.call(
        "pr_merge",
        json!({"number": 1, "expected_head": head, "confirm": wanted}),
    )
    .fails("conflict");
    let head = world.git.oid("feature").unwrap();
    let merged = wire
        .call(
            "pr_merge",
            json!({"number": 1, "expected_head": head, "confirm": wanted}),
        )
        .ok();
    assert_eq!(merged.data()["merged"], true);
}

#[test]
fn a_client_that_can_ask_is_asked_whatever_it_says() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let head = world.git.oid("feature").unwrap();
    let args =
        json!({"number": 1, "expected_head": head, "confirm": format!("{}#1", world.name())});
    assert_eq!(wire.raw("pr_merge", args)["resultType"], "input_required");
}

/// What Ada does on the double: a call of a tool that asks nobody.
fn ada(hub: &Hub, tool: &str, mut args: serde_json::Value) {
    args["repo"] = json!(REPO);
    args["number"] = json!(1);
    hub.server(&["--write"]).call(tool, args).ok();
}

fn opens_thread(hub: &Hub) {
    let comments = json!([{"path": "d/0000.txt", "line": 1, "body": "Why?"}]);
    ada(
        hub,
        "pr_review",
        json!({"verdict": "comment", "body": "b", "comments": comments}),
    );
}

fn requests_changes(hub: &Hub) {
    let verdict = json!({"verdict": "request_changes", "body": "No."});
    ada(hub, "pr_review", verdict);
}

fn fails_a_check(hub: &Hub) {
    hub.double.seed().check(REPO, 1, "ci", "test", "FAILURE");
}

#[test]
fn merge_question_names_all_that_speaks_against_it() {
    let hub = Hub::with_files(1);
    opens_thread(&hub);
    requests_changes(&hub);
    fails_a_check(&hub);
    let head = hub.double.seed().pull_of(REPO, 1).head_oid.clone();
    let mut wire = hub.server(&["--write"]);
    wire.user = User::Declines;
    let args = json!({"repo": REPO, "number": 1, "method": "squash", "delete_branch": true});
    wire.call("pr_merge", args).fails("cancelled");
    for part in [
        "#1 into main by squash and delete its branch?",
        &format!("Head {head}."),
        "Title \"Work\"",
        "Unresolved threads: 1.",
        "1 reviewers request changes",
        "checks: failure (1 failed)",
    ] {
        assert!(wire.asked[0].contains(part), "{part}: {:?}", wire.asked);
    }
    // What nobody has looked at is said as well, and what is in order is not.
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    wire.user = User::Declines;
    for (check, says) in [(None, true), (Some("SUCCESS"), false)] {
        if let Some(result) = check {
            hub.double.seed().check(REPO, 1, "ci", "test", result);
        }
        wire.asked.clear();
        wire.call("pr_merge", json!({"repo": REPO, "number": 1}))
            .fails("cancelled");
        let question = &wire.asked[0];
        assert_eq!(question.contains("Nothing has checked the head."), says);
        assert!(!question.contains("threads"), "{question}");
    }
}

/// Changes something while the user thinks.
type Change = fn(&Hub);

#[test]
fn answer_counts_for_what_the_question_named_alone() {
    let changes: [(&str, Change); 5] = [
        ("the title was", |hub| {
            ada(hub, "pr_edit", json!({"title": "Other"}));
        }),
        ("the base branch was", |hub| {
            ada(hub, "pr_edit", json!({"base": "feature"}));
        }),
        ("the result of the checks was", fails_a_check),
        ("the number of unresolved threads was", opens_thread),
        ("the number of requested changes was", requests_changes),
    ];
    for (says, change) in changes {
        for era in [LEGACY, MODERN] {
            let hub = Arc::new(Hub::with_files(1));
            hub.double.seed().check(REPO, 1, "ci", "lint", "SUCCESS");
            let mut wire = hub.server_of(era, &["--write"]);
            let theirs = Arc::clone(&hub);
            wire.meanwhile = Some(Box::new(move || change(&theirs)));
            let refused = wire.call("pr_merge", json!({"repo": REPO, "number": 1}));
            match era {
                LEGACY => refused.fails("conflict").says(says),
                _ => refused.fails("invalid_input").says("has changed since"),
            };
            assert_eq!(wire.asked.len(), 1, "{era} {says}");
            let view = wire
                .call("pr_view", json!({"repo": REPO, "number": 1}))
                .ok();
            assert_eq!(view.data()["pull_request"]["state"], "open", "{era} {says}");
        }
    }
}

#[test]
fn confirm_required_refuses_clients_that_cannot_ask() {
    let world = World::with_feature();
    let head = world.git.oid("feature").unwrap();
    let set = ["config", "set", "mcp.confirm_required", "true"];
    for flag in [&["--write", "--confirm-required"][..], &["--write"]] {
        if flag.len() == 1 {
            world.grace(&set).ok();
        }
        let mut wire = world.server(MODERN, flag);
        wire.user = User::Absent;
        let before = world.git.refs();
        let confirm = format!("{}#1", world.name());
        for (tool, more) in [
            ("pr_merge", json!({})),
            (
                "pr_set_state",
                json!({"state": "closed", "delete_branch": true}),
            ),
            ("pr_update_branch", json!({"method": "rebase"})),
        ] {
            let mut args = more;
            args["number"] = json!(1);
            args["expected_head"] = json!(head);
            args["confirm"] = json!(confirm);
            wire.call(tool, args)
                .fails("permission_denied")
                .says("cannot ask the user");
        }
        assert_eq!(world.git.refs(), before);
        // Nothing else needs anybody's word.
        let comment = json!({"number": 1, "body": "Text."});
        wire.call("pr_comment", comment).ok();
        // Who can be asked is asked.
        wire.user = User::Declines;
        wire.call("pr_merge", json!({"number": 1}))
            .fails("cancelled");
        assert_eq!(wire.asked.len(), 1);
    }
    // A repository does not choose who is asked.
    let unset = ["config", "set", "mcp.confirm_required", "false"];
    world.grace(&unset).ok();
    let own = world.git.path().join(".forge.toml");
    std::fs::write(own, "[mcp]\nconfirm_required = true\n").unwrap();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.user = User::Absent;
    wire.call("pr_merge", json!({"number": 1}))
        .fails("invalid_input")
        .says("ask yourself");
}
