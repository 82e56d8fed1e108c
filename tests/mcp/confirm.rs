use serde_json::json;

use crate::world::{LEGACY, MODERN, User, World};

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
