//! Tests `wait_for` of `pr_context`: a call returns before the client's timeout, and the next call
//! continues to wait.

use std::{thread, time::Duration};

use forge_github_double::state::ReviewState;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::{LEGACY, MODERN, Wire, World},
};

/// Starts a server with a time limit of six seconds. A wait takes all of it. Each read of the pull
/// request has the same limit, which one second was too short for on a machine that runs many tests.
fn impatient_server(hub: &Hub, era: &str) -> Wire {
    Wire::start(&hub.run(&[]).env("FORGE_TIMEOUT", "6"), era)
}

fn wait_for(what: &str) -> Value {
    json!({"repo": REPO, "number": 1, "wait_for": what})
}

#[test]
fn unfinished_wait_names_the_next_call() {
    for era in [LEGACY, MODERN] {
        let hub = Hub::with_pull();
        let mut wire = impatient_server(&hub, era);
        let mut args = wait_for("checks");
        let waiting = wire.call("pr_context", args.clone()).ok();
        let waiting = waiting
            .says("still waiting for checks: call again with the same arguments and cursor=\"")
            .says("no check has reported yet")
            .says("; if the repository has no checks, none will report");
        let data = waiting.data();
        assert_eq!(data["waited"]["outcome"], "pending");
        assert_eq!(data["verdict"]["ready_to_merge"], false);
        assert!(data.get("diff").is_none() && data.get("ci_status").is_none());
        let cursor = data["next_cursor"].as_str().unwrap();
        assert!(waiting.text().contains(cursor));
        args["cursor"] = json!(cursor);
        hub.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
        let over = wire.call("pr_context", args).ok();
        let over = over.says("waited for checks: passed\n");
        assert_eq!(over.data()["waited"]["outcome"], "passed");
        assert_eq!(over.data()["ci_status"][0]["name"], "build");
        assert!(over.data()["diff"].is_object());
    }
}

#[test]
fn continued_wait_sees_events_between_calls() {
    let hub = Hub::with_pull();
    let mut wire = impatient_server(&hub, MODERN);
    let mut args = wait_for("review");
    let waiting = wire.call("pr_context", args.clone()).ok();
    args["cursor"] = waiting.data()["next_cursor"].clone();
    hub.double
        .seed()
        .review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
    let over = wire.call("pr_context", args).ok();
    let over = over.says("waited for review: failed\n");
    let waited = &over.data()["waited"];
    assert_eq!(waited["until"], "review");
    // Without the cursor, the wait starts again and sees no event.
    let again = wire.call("pr_context", wait_for("review")).ok();
    assert_eq!(again.data()["waited"]["outcome"], "pending");
}

#[test]
fn wait_with_invalid_cursor_is_refused() {
    let hub = Hub::with_pull();
    let mut wire = impatient_server(&hub, MODERN);
    let mut args = wait_for("checks");
    let waiting = wire.call("pr_context", args.clone()).ok();
    let cursor = waiting.cursor().unwrap();
    let (of_call, _) = cursor.split_once("~~").unwrap();
    for damaged in ["~~open", "~~~~", "~~open.x.y", "~", ""] {
        args["cursor"] = json!(format!("{of_call}{damaged}"));
        let refused = wire.call("pr_context", args.clone());
        let _ = refused
            .fails("invalid_input")
            .says("start again without cursor");
    }
    // These cursors belong to a wait for another event, and to another tool.
    let mut other = wait_for("review");
    other["cursor"] = json!(cursor);
    wire.call("pr_context", other).fails("invalid_input");
    let list = json!({"repo": REPO, "cursor": cursor});
    wire.call("pr_list", list).fails("invalid_input");
}

#[test]
fn wait_reports_each_read_as_progress() {
    let hub = Hub::with_pull();
    hub.double
        .seed()
        .check(REPO, 1, "CI", "build", "IN_PROGRESS");
    let mut wire = impatient_server(&hub, MODERN);
    let call = json!({
        "name": "pr_context",
        "arguments": wait_for("checks"),
        "_meta": {"progressToken": "looks"}
    });
    wire.request("tools/call", call);
    let told = wire.progress[0]["message"].as_str().unwrap();
    assert!(
        told.contains("checks: 0 passed, 0 failed, 1 pending"),
        "{told}"
    );
}

#[test]
fn cancelled_wait_sends_no_more_requests() {
    let hub = Hub::with_pull();
    // The wait has the default duration.
    let mut wire = Wire::start(&hub.run(&[]), MODERN);
    hub.double.reset_record();
    let call = json!({"name": "pr_context", "arguments": wait_for("checks")});
    let id = wire.begin("tools/call", call);
    while hub.double.counts().api == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    wire.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}
    }));
    // The client can still use the connection, and the cancelled call reads no bundle.
    wire.call("pr_list", json!({"repo": REPO})).ok();
    let sent = hub.double.requests().into_iter();
    let views = sent.filter(|r| r.operation.as_deref() == Some("PullView"));
    assert_eq!(views.count(), 1);
}

#[test]
fn wait_for_unsupported_event_is_refused() {
    let world = World::new();
    world.propose("feature", "Title", "");
    let mut wire = world.server(MODERN, &[]);
    let args = json!({"number": 1, "wait_for": "checks"});
    wire.call("pr_context", args)
        .fails("unsupported")
        .says("Reading checks is not possible here");
}

#[test]
fn touches_argument_reports_scanned_pulls() {
    let hub = Hub::new();
    hub.double.seed().many_pulls(REPO, 40);
    let mut wire = hub.server(&[]);
    let list = json!({"repo": REPO, "touches": ["bulk-7.txt"]});
    let found = wire.call("pr_list", list).ok().says(" 40 were read.");
    assert_eq!(found.data()["pull_requests"].as_array().unwrap().len(), 1);
    assert_eq!(found.data()["scanned"], 40);
    assert_eq!(found.data()["scan_complete"], true);
    hub.double.seed().many_pulls(REPO, 300);
    let list = json!({"repo": REPO, "touches": ["nothing/**"]});
    let found = wire
        .call("pr_list", list.clone())
        .ok()
        .says("the files of 300 pull requests were compared with nothing/**");
    assert_eq!(found.data()["scan_complete"], false);
    let rest =
        json!({"repo": REPO, "touches": ["nothing/**"], "cursor": found.data()["next_cursor"]});
    let found = wire.call("pr_list", rest).ok();
    assert_eq!(found.data()["scanned"], 40);
    assert_eq!(found.data()["scan_complete"], true);
    let list = json!({"repo": REPO, "touches": ["/etc"]});
    wire.call("pr_list", list).fails("invalid_input");
}
