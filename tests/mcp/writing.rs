use serde_json::json;

use crate::world::{LEGACY, MODERN, World};

#[test]
fn the_life_of_a_pull_request() {
    for era in [LEGACY, MODERN] {
        let world = World::new();
        world
            .git
            .commit("work", "Work", &[("w.txt", Some("one\ntwo\n"))]);
        let mut wire = world.server(era, &["--write"]);
        let made = wire
            .call("pr_create", json!({"title": "Work", "head": "work", "body": "Why.\n<!-- keep -->", "draft": true}))
            .ok();
        assert_eq!(
            (&made.data()["number"], &made.data()["state"]),
            (&json!("1"), &json!("draft"))
        );
        wire.call(
            "pr_edit",
            json!({"number": 1, "draft": false, "add_labels": "bug", "append": "More."}),
        )
        .ok();
        let view = wire
            .call("pr_view", json!({"number": 1}))
            .ok()
            .says("> More.")
            .says("labels: bug");
        assert_eq!(view.data()["pull_request"]["state"], "open");
        // What was hidden from the model is still there.
        let stored = world
            .forge(&forge_testkit::Identity::ADA)
            .args(["pr", "view", "1", "--json", "body"])
            .text();
        assert!(stored.contains("<!-- keep -->"), "{stored}");
        let head = view.data()["pull_request"]["head_oid"]
            .as_str()
            .unwrap()
            .to_owned();
        wire.call(
            "pr_review",
            json!({"number": 1, "verdict": "comment", "body": "See below.", "expected_head": head,
                   "comments": [{"path": "w.txt", "line": 2, "body": "Why two?"}]}),
        )
        .ok();
        let view = wire
            .call("pr_view", json!({"number": 1, "include": "threads"}))
            .ok();
        let thread = &view.data()["threads"][0];
        let (id, comment) = (thread["id"].clone(), thread["comments"][0]["id"].clone());
        wire.call(
            "pr_comment",
            json!({"number": 1, "body": "Because.", "reply_to": comment}),
        )
        .ok();
        wire.call("pr_thread_resolve", json!({"number": 1, "thread": id}))
            .ok()
            .says("thread resolved");
        let again = wire
            .call("pr_thread_resolve", json!({"number": 1, "thread": id}))
            .ok()
            .says("nothing was written");
        assert_eq!(again.data()["unchanged"], true);
        wire.call("pr_comment", json!({"number": 1, "body": "Plain."}))
            .ok();
        wire.call("pr_set_state", json!({"number": 1, "state": "closed"}))
            .ok()
            .says("closed");
        wire.call("pr_set_state", json!({"number": 1, "state": "open"}))
            .ok()
            .says("reopened");
        assert!(wire.asked.is_empty(), "closing alone asks nobody");
        wire.call("pr_resubmit", json!({"number": 1}))
            .fails("unsupported")
            .says("push to branch work");
        let merged = wire
            .call("pr_merge", json!({"number": 1, "expected_head": head}))
            .ok();
        assert_eq!(merged.data()["merged"], true);
        assert_eq!(merged.data()["method"], "squash");
        assert_eq!(wire.asked.len(), 1);
        let again = wire.call("pr_merge", json!({"number": 1})).ok();
        assert_eq!(again.data()["already_merged"], true);
        assert_eq!(wire.asked.len(), 1, "what is merged asks nobody");
    }
}

#[test]
fn what_cannot_be_merged_asks_nobody() {
    let world = World::with_pull();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_edit", json!({"number": 1, "draft": true}))
        .ok();
    wire.call("pr_merge", json!({"number": 1}))
        .fails("precondition_failed")
        .says("draft=false");
    wire.call("pr_edit", json!({"number": 1, "draft": false}))
        .ok();
    world
        .git
        .commit("main", "Other", &[("feature.txt", Some("another\n"))]);
    wire.call("pr_merge", json!({"number": 1}))
        .fails("precondition_failed")
        .says("feature.txt");
    wire.call("pr_merge", json!({"number": 1, "expected_head": "abc"}))
        .fails("invalid_input");
    let moved = wire
        .call(
            "pr_merge",
            json!({"number": 1, "expected_head": "0123456789"}),
        )
        .fails("conflict");
    let actual = moved.data()["error"]["actual"].as_str().unwrap().to_owned();
    assert_eq!(actual, world.git.oid("feature").unwrap());
    assert!(moved.text().contains(&format!("expected_head={actual}")));
    wire.call("pr_edit", json!({"number": 1}))
        .fails("invalid_input")
        .says("nothing to change");
    assert!(wire.asked.is_empty());
}
