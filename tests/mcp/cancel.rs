//! Tests long calls: a cancelled call sends the forge no further requests, and a client that asks
//! for progress gets notifications.

use std::{
    io::Write,
    net::{Shutdown, TcpStream},
    thread,
    time::Duration,
};

use forge_github_double::Fault;
use serde_json::json;

use crate::{
    http::Http,
    hub::{Hub, REPO},
    world::{LEGACY, MODERN, Wire, World},
};

/// Delay of a call's first request.
const SLOW: Duration = Duration::from_millis(700);

/// Creates a hub with a pull request. The next request to the hub is slow.
fn slow() -> Hub {
    let hub = Hub::with_files(1);
    hub.double.fault(Fault::delayed(SLOW).on_path("/graphql"));
    hub
}

/// Waits until the forge has received the call's first request.
fn wait_for_first_request(hub: &Hub) {
    while hub.double.faults_left() > 0 {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the slow request is over, and returns how many requests asked for the diff.
fn count_diff_requests(hub: &Hub) -> usize {
    // Within this time, an uncancelled call would have sent its next request.
    thread::sleep(SLOW * 3);
    let all = hub.double.requests();
    all.iter().filter(|r| r.path.ends_with("/pulls/1")).count()
}

#[test]
fn call_over_stdio_is_cancelled() {
    for era in [LEGACY, MODERN] {
        for cancelled in [false, true] {
            let hub = slow();
            let mut wire = hub.server_of(era, &[]);
            let args = json!({"repo": REPO, "number": 1});
            let id = wire.begin("tools/call", json!({"name": "pr_diff", "arguments": args}));
            wait_for_first_request(&hub);
            if cancelled {
                wire.send(&json!({
                    "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}
                }));
            }
            let wanted = usize::from(!cancelled);
            assert_eq!(
                count_diff_requests(&hub),
                wanted,
                "{era}, cancelled: {cancelled}"
            );
            // The client can still use the connection.
            wire.call("pr_list", json!({"repo": REPO})).ok();
        }
    }
}

#[test]
fn resource_and_completion_requests_can_be_cancelled() {
    let uri = format!("forge://github.localhost/{REPO}/pull/1/diff");
    let complete = json!({
        "ref": {"type": "ref/resource", "uri": "forge://{+repo}/pull/{number}/files/{+path}"},
        "argument": {"name": "path", "value": ""},
        "context": {"arguments": {"repo": format!("github.localhost/{REPO}"), "number": "1"}}
    });
    for era in [LEGACY, MODERN] {
        for (method, params) in [
            ("resources/read", json!({"uri": uri})),
            ("completion/complete", complete.clone()),
        ] {
            for cancelled in [false, true] {
                let hub = slow();
                let mut wire = hub.server_of(era, &[]);
                let id = wire.begin(method, params.clone());
                wait_for_first_request(&hub);
                if cancelled {
                    wire.send(&json!({
                        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}
                    }));
                }
                let wanted = usize::from(!cancelled);
                let what = format!("{era} {method}, cancelled: {cancelled}");
                assert_eq!(count_diff_requests(&hub), wanted, "{what}");
                wire.call("pr_list", json!({"repo": REPO})).ok();
            }
        }
    }
}

#[test]
fn call_over_http_is_cancelled_by_disconnect() {
    for stays in [true, false] {
        let hub = slow();
        let http = Http::of(&hub.run(&["--http", "127.0.0.1:0"]));
        let call = http.request(
            MODERN,
            "tools/call",
            json!({"name": "pr_diff", "arguments": {"repo": REPO, "number": 1}}),
        );
        let mut stream = TcpStream::connect(&http.server.address).unwrap();
        stream.write_all(call.as_bytes()).unwrap();
        wait_for_first_request(&hub);
        if !stays {
            stream.shutdown(Shutdown::Both).unwrap();
        }
        assert_eq!(
            count_diff_requests(&hub),
            usize::from(stays),
            "the client stays: {stays}"
        );
    }
}

#[test]
fn progress_is_sent_only_on_request() {
    let world = World::new();
    let large = "a line of a large file\n".repeat((5 << 20) / 2 / 23);
    world
        .git
        .commit("large", "Large", &[("large.txt", Some(&large))]);
    world
        .forge(&["pr", "create", "-H", "large", "-t", "Large", "-b", ""])
        .ok();
    let hub = Hub::with_files(1);
    for name in ["one", "two"] {
        let mut seed = hub.double.seed();
        let failed = seed.check(REPO, 1, "ci", name, "FAILURE");
        seed.log(failed, "error: 1 != 2\n");
    }
    let diff = json!({"name": "pr_diff", "arguments": {"number": 1}});
    let logs = json!({"repo": REPO, "number": 1, "logs": true});
    let checks = json!({"name": "pr_checks", "arguments": logs});
    for era in [LEGACY, MODERN] {
        for (run, call, total) in [
            (world.grace(&["mcp"]), &diff, json!(null)),
            (hub.run(&[]), &checks, json!(5.0)),
        ] {
            let what = format!("{era} {call}");
            // Each call uses a new server, because a server caches the diff.
            let told = |token: Option<&str>| {
                let mut wire = Wire::start(&run, era);
                let mut call = call.clone();
                if let Some(token) = token {
                    call["_meta"] = json!({"progressToken": token});
                }
                let result = &wire.request("tools/call", call)["result"];
                assert!(result["structuredContent"].is_object(), "{what}: {result}");
                assert_ne!(result["isError"], true, "{what}: {result}");
                std::mem::take(&mut wire.progress)
            };
            assert!(told(None).is_empty(), "{what}");
            let told = told(Some("how far"));
            let steps: Vec<_> = told.iter().map(|p| p["progress"].as_f64()).collect();
            assert_eq!(steps, [Some(1.0), Some(2.0)], "{what}: {told:?}");
            for step in &told {
                assert_eq!(step["progressToken"], "how far", "{what}");
                assert_eq!(step["total"], total, "{what}");
                assert!(step["message"].is_string(), "{what}: {step}");
            }
        }
    }
}
