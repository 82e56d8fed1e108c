//! A user who thinks about a question keeps nobody from working.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::world::{LEGACY, World};

/// More than work at once (`IN_FLIGHT` in `forge-mcp/src/server/mod.rs`).
const QUESTIONS: u64 = 20;

#[test]
fn open_questions_take_no_turns() {
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
    // All of them ask: an answer before that would be a call that found no turn.
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
    // One agrees, and the others find what came of it.
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
