//! A task from beginning to end: find my failing pull request, read the failing check and the open
//! threads, answer and resolve one, merge it.

use serde_json::json;

use crate::github::{Hub, REPO};

#[test]
fn the_failing_pull_request_is_found_and_merged() {
    let hub = Hub::with_pull(3);
    hub.double.seed().check(REPO, 1, "ci", "test", "FAILURE");
    hub.double.seed().check(REPO, 1, "ci", "lint", "SUCCESS");
    let mut other = hub.server(&["--write"]);
    let comments = json!([{"path": "d/0001.txt", "line": 1, "body": "Why?"}]);
    other.call("pr_review", json!({"repo": REPO, "number": 1, "verdict": "comment", "body": "", "comments": comments})).ok();

    let mut wire = hub.server(&["--write"]);
    let mut bytes = 0;
    let mut take = |called: crate::world::Called| {
        let called = called.ok();
        bytes += called.text().len();
        called
    };
    let list = take(wire.call("pr_list", json!({"repo": REPO, "author": "grace"})));
    let failing = list.data()["pull_requests"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["checks"] == "failure")
        .unwrap();
    let number = failing["number"].clone();
    let view = take(wire.call(
        "pr_view",
        json!({"repo": REPO, "number": number, "include": ["checks", "threads"]}),
    ));
    assert!(
        view.text().contains("failure: test (ci)"),
        "{}",
        view.text()
    );
    let thread = view.data()["threads"][0].clone();
    let head = view.data()["pull_request"]["head_oid"].clone();
    take(wire.call("pr_comment", json!({"repo": REPO, "number": number, "body": "Fixed.", "reply_to": thread["comments"][0]["id"]})));
    take(wire.call(
        "pr_thread_resolve",
        json!({"repo": REPO, "number": number, "thread": thread["id"]}),
    ));
    let merged = take(wire.call(
        "pr_merge",
        json!({"repo": REPO, "number": number, "expected_head": head}),
    ));
    assert_eq!(merged.data()["merged"], true);
    assert!(
        merged.text().contains("Warning: checks: failure"),
        "{}",
        merged.text()
    );
    assert!(wire.asked[0].contains("1 failed"), "{:?}", wire.asked);
    assert!(bytes < 3_000, "{bytes} bytes of text in five calls");
}
