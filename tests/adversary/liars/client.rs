//! Clients of `forge mcp`: one sends correct messages, the other sends lies.

use std::{collections::BTreeMap, time::Duration};

use forge_testkit::Random;
use serde_json::{Value, json};

use super::{
    child::{Client, Ended, Running},
    fields,
    lies::Stock,
    lines::Subjects,
};
use crate::{
    schema,
    world::{LEGACY, MODERN},
};

/// Time limit of a tool call.
const ANSWER: Duration = Duration::from_secs(20);
/// Time for which a lying client waits for a response, because the server need not send one.
const PATIENCE: Duration = Duration::from_millis(150);

/// Runs a client until the server ends. Returns the server's result and the calls that the client
/// made.
///
/// # Errors
///
/// Fails if a call gets no response, or if a response does not match the tool's schema.
pub fn talk(
    running: Running,
    random: &mut Random,
    subjects: &Subjects,
) -> Result<(Ended, String), String> {
    let mut client = Client::new(running);
    let calls = match random.below(3) {
        0 => lie(&mut client, random, subjects)?,
        _ => call(&mut client, random, subjects)?,
    };
    let ended = client
        .running
        .end()
        .map_err(|why| format!("forge mcp ({calls}): {why}"))?;
    for line in ended
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        if serde_json::from_slice::<Value>(line).is_err() {
            let line = String::from_utf8_lossy(line).into_owned();
            return Err(format!("a line of standard output is no JSON: {line}"));
        }
    }
    Ok((ended, calls))
}

fn hello() -> Value {
    json!({
        "protocolVersion": LEGACY, "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "tests", "version": "1" },
    })
}

fn call(client: &mut Client, random: &mut Random, subjects: &Subjects) -> Result<String, String> {
    let answered = |client: &mut Client, method: &str, params: &Value| {
        let id = client.send(method, params);
        let answer = client.answer(id, ANSWER)?;
        answer.ok_or_else(|| format!("no answer to {method} {params}"))
    };
    answered(client, "initialize", &hello())?;
    client
        .running
        .write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let tools = answered(client, "tools/list", &json!({}))?["result"]["tools"].take();
    let mut calls = Vec::new();
    for _ in 0..2 + random.below(4) {
        let (name, arguments) = subjects.call(random);
        calls.push(format!("{name} {arguments}"));
        let params = json!({ "name": name, "arguments": arguments });
        let result = answered(client, "tools/call", &params)?["result"].take();
        let tool = tools
            .as_array()
            .into_iter()
            .flatten()
            .find(|it| it["name"] == name);
        // The response to a protocol error has no result.
        if let Some(tool) = tool.filter(|_| !result.is_null()) {
            schema::check(&tool["outputSchema"], &result["structuredContent"], name)?;
        }
    }
    Ok(calls.join(", "))
}

/// Sends invalid messages, which the server need not answer but has to survive.
fn lie(client: &mut Client, random: &mut Random, subjects: &Subjects) -> Result<String, String> {
    let stock = Stock {
        thief: "http://localhost:1".to_owned(),
        thief_authority: "localhost:1".to_owned(),
        others: vec!["-1".to_owned(), "octo/other".to_owned()],
        ..Stock::default()
    };
    let mut sent = Vec::new();
    if random.below(3) != 0 {
        let mut params = hello();
        if random.below(2) == 0 {
            fields::change(random, &mut params, &stock, "", &mut BTreeMap::new());
        }
        let id = client.send("initialize", &params);
        client.answer(id, ANSWER)?;
    }
    for n in 0..8 + random.below(8) {
        let (name, arguments) = subjects.call(random);
        let params = json!({
            "name": name, "arguments": arguments,
            "requestState": "eyJvayI6dHJ1ZX0", "inputResponses": {
                "confirm": { "action": "accept", "content": { "confirm": true } },
            },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
                "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
                "progressToken": n,
            },
        });
        let methods = [
            "tools/call",
            "tools/call",
            "tools/call",
            "resources/read",
            "completion/complete",
            "prompts/get",
            "tools/list",
            "notifications/cancelled",
            "initialize",
            "logging/setLevel",
            "x",
        ];
        let mut message = json!({
            "jsonrpc": "2.0", "id": 100 + n, "method": random.pick(&methods), "params": params,
        });
        let told = match random.below(5) {
            0 => "as it is".to_owned(),
            _ => fields::change(random, &mut message, &stock, "", &mut BTreeMap::new()),
        };
        let line = raw(random, &message);
        sent.push(format!("{} ({told})", message["method"]));
        if !client.running.write(&line) {
            break;
        }
        // The server's questions arrive at any time, so the answers use a separate random
        // generator.
        let mut random = Random::new(random.bits());
        while let Some(line) = client.running.line(PATIENCE) {
            let asked: Value = serde_json::from_slice(&line).unwrap_or_default();
            if asked["method"].is_null() || asked["id"].is_null() {
                continue;
            }
            let mut answer = json!({
                "jsonrpc": "2.0", "id": asked["id"],
                "result": { "action": "accept", "content": { "confirm": true } },
            });
            fields::change(&mut random, &mut answer, &stock, "", &mut BTreeMap::new());
            client.running.write(answer.to_string().as_bytes());
        }
    }
    Ok(sent.join(", "))
}

fn raw(random: &mut Random, message: &Value) -> Vec<u8> {
    let text = message.to_string();
    match random.below(12) {
        0 => text.as_bytes()[..text.len() / 2].to_vec(),
        1 => b"\xff\xfe\0{".to_vec(),
        2 => "[".repeat(100_000).into_bytes(),
        3 => format!("[{text},{text}]").into_bytes(),
        4 => format!("{text}{text}").into_bytes(),
        5 => Vec::new(),
        6 => format!("{{\"id\":1,{}", &text[1..]).into_bytes(),
        7 => format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}",
            "m".repeat(3 << 20)
        )
        .into_bytes(),
        _ => text.into_bytes(),
    }
}
