//! Tests the responses to messages and requests that violate the protocol.

use serde_json::{Value, json};

use crate::{
    http::Http,
    world::{LEGACY, MODERN, Wire, World},
};

/// Returns texts that are not valid messages, each with the response's id and error code.
fn malformed() -> Vec<(String, Value, i64)> {
    let of = |message: Value, id: Value, code| (message.to_string(), id, code);
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let call = |params: Value| request("tools/call", params);
    vec![
        ("{".to_owned(), Value::Null, -32700),
        ("nope".to_owned(), Value::Null, -32700),
        ("[]".to_owned(), Value::Null, -32600),
        of(json!({"jsonrpc": "2.0", "id": 7}), json!(7), -32600),
        of(
            json!({"id": "a", "method": "tools/list"}),
            json!("a"),
            -32600,
        ),
        of(
            json!({"jsonrpc": "2.0", "id": 7.0, "method": "ping"}),
            json!(7),
            -32600,
        ),
        // A client that cuts a text between the halves of an emoji.
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x \ud83d"}}"#
                .to_owned(),
            json!(7),
            -32700,
        ),
        of(call(json!([])), json!(7), -32602),
        of(call(json!("x")), json!(7), -32602),
        of(
            call(json!({"name": "pr_list", "_meta": 7})),
            json!(7),
            -32602,
        ),
        of(request("ping", json!({"_meta": []})), json!(7), -32602),
        of(
            request("tools/list", json!({"cursor": "zzz"})),
            json!(7),
            -32602,
        ),
        of(
            request("resources/list", json!({"cursor": 7})),
            json!(7),
            -32602,
        ),
        of(
            json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}),
            json!(7),
            -32602,
        ),
    ]
}

#[test]
fn stdio_malformed_message_gets_id_and_code() {
    let world = World::with_feature();
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        for (line, id, code) in malformed() {
            let answer = wire.line(line.as_bytes());
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(answer["id"], id, "{line}: {answer}");
        }
        for params in [
            json!({}),
            json!({"name": 7}),
            json!({"name": "pr_list", "arguments": []}),
        ] {
            let answer = wire.request("tools/call", params);
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        // Invalid arguments lead to a tool result, which the model sees, instead of a protocol
        // error.
        let bad = json!({"bogus": 1});
        wire.call("pr_list", bad).fails("invalid_input");
        // The client can still use the connection.
        wire.call("pr_list", json!({})).ok();
    }
}

/// Returns a batch (protocol version 2025-03-26) of two pings, an invalid ping and a notification.
fn batch() -> String {
    let ping = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let bad = json!({"jsonrpc": "1.0", "id": 42, "method": "ping"});
    json!([ping(40), progress, ping(41), bad]).to_string()
}

#[test]
fn stdio_batch_is_answered() {
    let world = World::with_feature();
    let mut wire = world.server(LEGACY, &[]);
    let mut answers = vec![wire.line(batch().as_bytes())];
    answers.extend([wire.receive(), wire.receive()]);
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(
        answers[0],
        json!({"jsonrpc": "2.0", "id": 40, "result": {}})
    );
    assert_eq!(
        answers[1],
        json!({"jsonrpc": "2.0", "id": 41, "result": {}})
    );
    assert_eq!(answers[2]["error"]["code"], -32600, "{answers:?}");
    wire.call("pr_list", json!({})).ok();
}

#[test]
fn http_batch_is_answered() {
    let world = World::with_feature();
    let http = Http::start(&world, &[]);
    let more = format!("Mcp-Session-Id: {}\r\n", http.session());
    let head = http.head(&http.server.address, &more);
    let (status, text) = http.send(&head, &batch());
    assert_eq!(status, 200, "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut answers: Vec<Value> = data.filter_map(|d| serde_json::from_str(d).ok()).collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    let ids: Vec<i64> = answers.iter().filter_map(|a| a["id"].as_i64()).collect();
    assert_eq!(ids, [40, 41, 42], "{text}");
    assert_eq!(answers[2]["error"]["code"], -32600, "{text}");
    // rmcp cannot read the second message; the answer to the first is sent all the same.
    let ping = json!({"jsonrpc": "2.0", "id": 50, "method": "ping"});
    let unreadable = json!({"jsonrpc": "2.0", "id": 51, "error": {"code": "x"}});
    let (status, text) = http.send(&head, &json!([ping, unreadable]).to_string());
    assert_eq!(status, 200, "{text}");
    assert!(
        text.contains(r#""id":50"#) && text.contains("-32600"),
        "{text}"
    );
    let many = json!(vec![ping; 65]);
    assert_eq!(http.send(&head, &many.to_string()).0, 400);
    // Protocol version 2026-07-28 has neither sessions nor batches.
    let stateless = http.head(&http.server.address, "");
    assert_eq!(http.send(&stateless, &batch()).0, 400);
    let silent = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(http.send(&head, &silent.to_string()).0, 202);
    let unknown = http.head(&http.server.address, "Mcp-Session-Id: none\r\n");
    assert_eq!(http.send(&unknown, &batch()).0, 404);
}

/// SDKs of before 2025-11-25 fail to parse an event without data (typescript-sdk issue 1233).
#[test]
fn events_without_data_are_sent_to_new_clients_only() {
    let world = World::with_feature();
    let http = Http::start(&world, &[]);
    for (version, has_empty) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", false),
        (LEGACY, true),
    ] {
        let session = http.session_of(version);
        let more = format!("MCP-Protocol-Version: {version}\r\nMcp-Session-Id: {session}\r\n");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                          "params": {"name": "pr_list", "arguments": {}}});
        let head = http.head(&http.server.address, &more);
        let (status, text) = http.send(&head, &call.to_string());
        assert_eq!(status, 200, "{text}");
        let is_empty = |line: &str| line.trim_end() == "data:";
        assert_eq!(text.lines().any(is_empty), has_empty, "{version}: {text}");
        assert!(text.contains("pull_requests"), "{version}: {text}");
    }
}

/// A client whose probe timed out cancels the probe before its handshake.
#[test]
fn stdio_message_before_handshake_is_ignored() {
    let world = World::with_feature();
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                           "params": {"requestId": 1}});
    let early = [
        cancelled.clone(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "none"}}),
    ];
    for era in [LEGACY, MODERN] {
        let mut wire = Wire::silent(&world.grace(&["mcp"]), era);
        for message in &early {
            wire.send(message);
        }
        for (method, params) in [
            ("ping", json!({})),
            ("server/discover", json!({})),
            // Without the version in `_meta`, the request is refused before the handshake.
            ("tools/list", json!({"_meta": {}})),
        ] {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let answer = wire.line(request.to_string().as_bytes());
            assert_eq!(answer["id"], 1, "{method}: {answer}");
            wire.send(&cancelled);
        }
        wire.greet();
        wire.call("pr_list", json!({})).ok();
    }
}

#[test]
fn http_malformed_message_gets_id_and_code() {
    let world = World::with_feature();
    let http = Http::start(&world, &[]);
    for more in [String::new(), format!("MCP-Protocol-Version: {MODERN}\r\n")] {
        let head = http.head(&http.server.address, &more);
        for (body, id, code) in malformed() {
            let (status, text) = http.send(&head, &body);
            let answer: Value = serde_json::from_str(&text).expect(&text);
            assert_eq!(answer["error"]["code"], code, "{body}: {text}");
            assert_eq!(answer["id"], id, "{body}: {text}");
            assert_eq!(status, if id.is_null() { 400 } else { 200 }, "{body}");
        }
    }
    for era in [LEGACY, MODERN] {
        let call = json!({"name": "pr_list", "arguments": []});
        let answer = http.call(era, "tools/call", call);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let call = json!({"name": "pr_list", "arguments": {"bogus": 1}});
        let answer = http.call(era, "tools/call", call);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    let text = http.head(&http.server.address, "");
    let text = text.replace("application/json\r\nAccept", "text/plain\r\nAccept");
    assert_eq!(http.send(&text, "{").0, 415);
}

#[test]
fn http_refuses_duplicate_host_and_unsuitable_accept() {
    let world = World::with_feature();
    let http = Http::start(&world, &[]);
    let request = http.request(MODERN, "tools/list", json!({}));
    let (head, body) = request.split_once("Content-Length").unwrap();
    let (_, body) = body.split_once("\r\n\r\n").unwrap();
    let host = format!("Host: {}\r\n", http.server.address);
    for second in [host.clone(), "Host: evil.example\r\n".to_owned()] {
        let twice = head.replace(&host, &format!("{host}{second}"));
        let (status, text) = http.send(&twice, body);
        assert_eq!(status, 400, "{text}");
    }
    let both = "Accept: application/json, text/event-stream\r\n";
    for (accept, status) in [
        ("Accept: */*\r\n", 200),
        ("Accept: application/*, text/*;q=0.5\r\n", 200),
        ("", 200),
        ("Accept: text/html\r\n", 406),
    ] {
        let (got, text) = http.send(&head.replace(both, accept), body);
        assert_eq!(got, status, "{accept}: {text}");
    }
}

#[test]
fn http_delete_request_ends_the_session_once() {
    let world = World::with_feature();
    let http = Http::start(&world, &[]);
    let session = http.session();
    let delete = |id: &str| {
        let id = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {LEGACY}\r\n");
        let head = http.head(&http.server.address, &id);
        http.send(&head.replacen("POST", "DELETE", 1), "").0
    };
    assert_eq!(delete("no-such-session"), 404);
    // Clients in other languages accept both 200 and 204.
    assert_eq!(delete(&session), 204);
    assert_eq!(delete(&session), 404);
    // Protocol version 2026-07-28 has no sessions.
    let head = format!("MCP-Protocol-Version: {MODERN}\r\n");
    let head = http.head(&http.server.address, &head);
    assert_eq!(http.send(&head.replacen("POST", "DELETE", 1), "").0, 405);
}

#[test]
fn output_schemas_have_required_fields_and_typed_error() {
    let world = World::with_feature();
    let sets = ["--write", "--toolsets", "issues,workflow"];
    let mut wire = world.server(MODERN, &sets);
    for tool in wire.tools() {
        let (name, schema) = (&tool["name"], &tool["outputSchema"]);
        let error = &schema["properties"]["error"];
        let required = json!(["code", "message", "retryable"]);
        assert_eq!(error["required"], required, "{name}");
        assert_eq!(error["properties"]["next"]["type"], "object", "{name}");
        let Some((failure, results)) = schema["anyOf"].as_array().unwrap().split_last() else {
            panic!("{name}: {schema}");
        };
        assert_eq!(failure, &json!({"required": ["error"]}), "{name}");
        assert!(!results.is_empty(), "{name}");
        for result in results {
            let required = result["required"].as_array().unwrap();
            assert!(!required.is_empty(), "{name}");
            for property in required {
                let property = property.as_str().unwrap();
                assert!(schema["properties"][property].is_object(), "{name}");
            }
        }
    }
    // `call` checks that both a result and a failure match the schema.
    wire.call("pr_view", json!({"number": 1})).ok();
    wire.call("pr_view", json!({"number": 99}))
        .fails("not_found");
}

/// Returns copies of `args`. Each has an unknown key in one object whose schema permits no unknown
/// keys.
fn with_bogus(schema: &Value, args: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    if schema["additionalProperties"] == false {
        let mut args = args.clone();
        args["bogus_key"] = json!(1);
        all.push(args);
    }
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(item) = args[name].get(0) {
            for item in with_bogus(&of["items"], item) {
                let mut args = args.clone();
                args[name] = json!([item]);
                all.push(args);
            }
        }
    }
    all
}

#[test]
fn unknown_keys_are_refused_according_to_schema() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let edits = json!([{"path": "a.txt", "content": "a"}]);
    let comments = json!([{"path": "feature.txt", "line": 1, "body": "Why?"}]);
    let calls = [
        ("pr_list", json!({}), 1),
        (
            "pr_create",
            json!({"title": "t", "head": "h", "edits": edits}),
            2,
        ),
        (
            "pr_review",
            json!({"number": 1, "verdict": "comment", "body": "b", "comments": comments}),
            2,
        ),
    ];
    let tools = wire.tools();
    for (name, args, objects) in calls {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let bogus = with_bogus(&tool["inputSchema"], &args);
        assert_eq!(bogus.len(), objects, "{name}");
        for args in bogus {
            let refused = wire.call(name, args).fails("invalid_input");
            let _ = refused.says("bogus_key");
        }
    }
}
