//! Tests that the number of concurrent calls is limited. A call that waits for a user's answer does
//! not count.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::world::{LEGACY, World};

/// Limit of concurrent calls (`MAX_CONCURRENT_CALLS` in `forge-mcp/src/calls/state.rs`).
#[cfg(unix)]
const AT_ONCE: usize = 16;

/// Number of open questions, which exceeds the limit of concurrent calls.
const QUESTIONS: u64 = 20;

#[test]
fn calls_with_open_questions_occupy_no_slots() {
    let world = World::with_feature();
    let mut server = world
        .grace(&["mcp", "--write"])
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut send = |message: Value| {
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    };
    let mut next = || -> Value { serde_json::from_str(&output.next().unwrap().unwrap()).unwrap() };
    let call = |id: u64, tool: &str, args: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": tool, "arguments": args}})
    };
    send(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "tests", "version": "1"}}}),
    );
    next();
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for id in 1..=QUESTIONS {
        send(call(id, "pr_merge", json!({"number": 1})));
    }
    // Every message must be a question: the server would already have answered a call that got no
    // slot.
    let questions: Vec<Value> = (0..QUESTIONS)
        .map(|_| {
            let message = next();
            assert_eq!(message["method"], "elicitation/create", "{message}");
            message["id"].clone()
        })
        .collect();
    send(call(100, "pr_list", json!({})));
    let list = next();
    assert_eq!(list["id"], 100, "{list}");
    assert_ne!(list["result"]["isError"], true, "{list}");
    // The first answer agrees. The other calls then find the pull request merged.
    for (n, id) in questions.into_iter().enumerate() {
        let answer = match n {
            0 => json!({"action": "accept", "content": {"confirm": true}}),
            _ => json!({"action": "decline"}),
        };
        send(json!({"jsonrpc": "2.0", "id": id, "result": answer}));
    }
    let results: Vec<Value> = (0..QUESTIONS).map(|_| next()).collect();
    let merged = |r: &&Value| r["result"]["structuredContent"]["merged"] == true;
    assert_eq!(results.iter().filter(merged).count(), 1, "{results:?}");
    drop(input);
    assert!(server.wait().unwrap().success());
}

/// Counts running git processes, because the test can stop git in every call.
#[test]
#[cfg(unix)]
fn concurrent_calls_on_directories_are_limited() {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
        thread,
        time::Duration,
    };

    use forge_testkit::git_program;

    use crate::world::{MODERN, Wire};

    let world = World::with_feature();
    let (held, go) = (world.scratch.path("held"), world.scratch.path("go"));
    fs::create_dir(&held).unwrap();
    // The script ends after half a minute, so that a failed test does not block the server for
    // ever.
    let script = format!(
        r#"#!/bin/sh
case " $* " in *" cat-file "*)
    : >'{held}'/$$
    tries=0
    while [ ! -e '{go}' ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || exit 1
        sleep 0.1
    done
esac
exec '{git}' "$@"
"#,
        held = held.display(),
        go = go.display(),
        git = git_program().display()
    );
    let git = world.scratch.write("held-git", script);
    fs::set_permissions(&git, Permissions::from_mode(0o755)).unwrap();
    let mut wire = Wire::start(&world.grace(&["mcp"]).env("FORGE_GIT", &git), MODERN);
    let at_work = || fs::read_dir(&held).unwrap().count();
    let call = json!({"name": "pr_list", "arguments": {}});
    let ids: Vec<u64> = (0..QUESTIONS)
        .map(|_| wire.begin("tools/call", call.clone()))
        .collect();
    let at_once = 2 * thread::available_parallelism().unwrap().get();
    let at_once = at_once.min(AT_ONCE);
    while at_work() < at_once {
        thread::sleep(Duration::from_millis(10));
    }
    // By now the server has received every call, and each call with a slot has had time to start
    // git.
    assert!(!wire.tools().is_empty());
    thread::sleep(Duration::from_millis(300));
    assert_eq!(at_work(), at_once);
    fs::write(&go, "").unwrap();
    for id in ids {
        let list = &wire.answer(id)["result"];
        assert_eq!(
            list["structuredContent"]["pull_requests"][0]["number"], "1",
            "{list}"
        );
    }
}
