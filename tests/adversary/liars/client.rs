//! Two clients of `forge mcp`: one sends correct messages and checks the results, the other sends
//! invalid messages.

use std::{collections::BTreeMap, time::Duration};

use forge_testkit::Random;
use serde_json::{Value, json};

use super::{
    child::{Client, Ended, Running},
    fields::{self, FORGED},
    lies::Stock,
    lines::{Line, SECTIONS, Subjects},
};
use crate::{
    quoting::{facts, own_lines, unmarked},
    schema,
    world::{LEGACY, MODERN},
};

/// Time limit of a tool call.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for which a lying client waits for a response, because the server need not send one.
const RESPONSE_WAIT: Duration = Duration::from_millis(150);

/// The server's report on a tool call, and the heads that its questions named.
pub struct Claim {
    /// The command line with the same effect as the tool call.
    pub line: Line,
    /// True if the call succeeded, and wrote unless it only reads.
    pub succeeded: bool,
    pub text: String,
    pub data: Value,
    /// The heads in the questions that the server asked the user.
    pub heads: Vec<String>,
}

/// Compares the server's report with the effect of the tool call.
pub type Check<'a> = &'a mut dyn FnMut(&Claim) -> Result<(), String>;

/// Runs a client until the server ends. Returns the server's result and the calls that the client
/// made. After each call of the correct client, runs `check`.
///
/// # Errors
///
/// Fails if a call gets no response, if a response does not match the tool's schema, or if it
/// reports something false.
pub fn talk(
    running: Running,
    random: &mut Random,
    subjects: &Subjects,
    check: Check<'_>,
) -> Result<(Ended, String), String> {
    let mut client = Client::new(running);
    let calls = match random.below(3) {
        0 => lie(&mut client, random, subjects)?,
        _ => call(&mut client, random, subjects, check)?,
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
            return Err(format!("a line of standard output is not JSON: {line}"));
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

fn call(
    client: &mut Client,
    random: &mut Random,
    subjects: &Subjects,
    check: Check<'_>,
) -> Result<String, String> {
    let answered = |client: &mut Client, method: &str, params: &Value| {
        let id = client.send(method, params);
        let answer = client.answer(id, CALL_TIMEOUT)?;
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
            check_result(name, &tools, &result)
                .map_err(|why| format!("{name}: {why}\n{result}"))?;
        }
        let asked = std::mem::take(&mut client.asked);
        asked.iter().try_for_each(|text| check_quotes(text))?;
        let data = result["structuredContent"].clone();
        let writes = tool.is_some_and(|it| it["annotations"]["readOnlyHint"] == false);
        let failed = result.is_null() || result["isError"] == true;
        let flags = ["unchanged", "already_merged", "queued"];
        let is_idle = flags.iter().any(|flag| data[*flag] == true);
        check(&Claim {
            line: Line::of_call(name, &arguments, writes),
            succeeded: !failed && !is_idle,
            text: text_of(&result).to_owned(),
            data,
            heads: asked.iter().filter_map(|text| head_of(text)).collect(),
        })
        .map_err(|why| format!("{name}: {why}\nasked: {asked:?}"))?;
    }
    Ok(calls.join(", "))
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns the head that a question names.
fn head_of(question: &str) -> Option<String> {
    let (_, rest) = question.split_once("? Head ")?;
    rest.split([' ', '.']).next().map(str::to_owned)
}

/// Fails if other people's text appears outside of the marks for it.
fn check_quotes(text: &str) -> Result<(), String> {
    let shown = FORGED.iter().find_map(|forged| unmarked(text, forged));
    shown.map_or(Ok(()), |line| Err(format!("not quoted: {line}")))
}

/// Checks the text of a result: other people's text is quoted, the next call exists, and counts,
/// states and heads equal those in the data.
fn check_result(name: &str, tools: &Value, result: &Value) -> Result<(), String> {
    let (text, data) = (text_of(result), &result["structuredContent"]);
    check_quotes(text)?;
    let own = own_lines(text);
    let has = |start: &str| match own.iter().any(|line| line.starts_with(start)) {
        true => Ok(()),
        false => Err(format!("no line begins with {start:?}")),
    };
    let mut calls = own.iter().filter_map(|line| line.strip_prefix("Next: "));
    let is_tool = |call: &str| {
        let mut tools = tools.as_array().into_iter().flatten();
        tools.any(|it| it["name"] == facts(call))
    };
    if let Some(call) = calls.find(|call| !is_tool(call)) {
        return Err(format!("the next call names no tool of the server: {call}"));
    }
    if let Some(code) = data["error"]["code"].as_str() {
        has(&format!("{name} failed [{code}]: "))?;
        let next = data["error"]["next"]["tool"].as_str();
        return next.map_or(Ok(()), |tool| has(&format!("Next: {tool} ")));
    }
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (repo, number) = (word(&data["repo"]), word(&data["number"]));
    if let Some(did) = data["did"].as_str() {
        // An at-uri names the pull request or issue without its repository.
        has(&match number.starts_with("at://") {
            true => format!("{number}: {did}"),
            false => format!("{repo}#{number}: {did}"),
        })?;
    }
    let begins = |of: &Value| format!("#{} {} ", word(&of["number"]), word(&of["state"]));
    let rows = match name {
        "pr_list" => data["pull_requests"].as_array(),
        "issue_list" => data["issues"].as_array(),
        _ => None,
    };
    if let Some(rows) = rows.filter(|rows| !rows.is_empty()) {
        let shown: Vec<&String> = own.iter().filter(|line| line.starts_with('#')).collect();
        let mut pairs = shown.iter().zip(rows);
        if shown.len() != rows.len() || !pairs.all(|(line, row)| line.starts_with(&begins(row))) {
            return Err("the rows of the text are not those of the data".to_owned());
        }
        let total = data["total"].as_u64();
        let total = total.map_or(String::new(), |n| format!(" of {n}"));
        has(&format!("{}{total} shown", rows.len()))?;
    }
    // A page may end before a section or within a line.
    if !data["next_cursor"].is_null() {
        return Ok(());
    }
    let pull = &data["pull_request"];
    if name == "pr_view" {
        has(&begins(pull))?;
        for section in SECTIONS {
            if let Some(items) = data[section].as_array() {
                has(&format!("{section} ({})", items.len()))?;
            }
        }
    }
    let head = word(match name {
        "pr_view" => &pull["head_oid"],
        "pr_checks" => &data["commit"],
        _ => &data["head_oid"],
    });
    // A head with other characters than letters and digits is quoted.
    let is_plain = head.len() < 80 && head.bytes().all(|it| it.is_ascii_alphanumeric());
    match is_plain && !text.contains(&head) {
        true => Err(format!("the head of the data is {head}")),
        false => Ok(()),
    }
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
        client.answer(id, CALL_TIMEOUT)?;
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
        while let Some(line) = client.running.line(RESPONSE_WAIT) {
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
