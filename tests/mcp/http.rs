//! Tests the server over HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use forge_testkit::{CANARY, HttpServer, Identity, Run};
use serde_json::{Value, json};

use crate::world::{LEGACY, MODERN, World};

/// A server that listens on HTTP, and the token that it demands.
pub struct Http {
    pub server: HttpServer,
}

impl Http {
    pub fn start(world: &World, args: &[&str]) -> Self {
        let run = world
            .forge_as(&Identity::GRACE, &[])
            .args(["mcp", "--http", "127.0.0.1:0"])
            .args(args);
        Self::of(&run)
    }

    /// Starts a command that serves over HTTP.
    pub fn of(run: &Run) -> Self {
        let server = HttpServer::start(run);
        assert_eq!(server.token.len(), 64);
        Self { server }
    }

    pub fn send(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        let request = format!(
            "{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(!answer.contains(CANARY));
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer
            .split_once("\r\n\r\n")
            .map(|(_, b)| b.to_owned())
            .unwrap_or_default();
        (status, body)
    }

    pub fn head(&self, host: &str, more: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{more}",
            self.server.token
        )
    }

    /// Returns the head of a request without `Content-Length`, and the request's body.
    fn parts(&self, era: &str, method: &str, mut params: Value) -> (String, String) {
        let mut more = format!("MCP-Protocol-Version: {era}\r\n");
        if era == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}
            });
            more.push_str(&format!("Mcp-Method: {method}\r\n"));
            if let Some(name) = params["name"].as_str() {
                more.push_str(&format!("Mcp-Name: {name}\r\n"));
            }
        }
        if era == LEGACY {
            more.push_str(&format!("Mcp-Session-Id: {}\r\n", self.session()));
        }
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        (self.head(&self.server.address, &more), body)
    }

    /// Returns the complete text of an HTTP request.
    pub fn request(&self, era: &str, method: &str, params: Value) -> String {
        let (head, body) = self.parts(era, method, params);
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
    }

    pub fn call(&self, era: &str, method: &str, params: Value) -> Value {
        let (head, body) = self.parts(era, method, params);
        let (status, text) = self.send(&head, &body);
        assert_eq!(status, 200, "{text}");
        let data = text
            .lines()
            .filter_map(|l| l.strip_prefix("data: "))
            .chain(text.lines());
        let answers = data.filter_map(|d| serde_json::from_str::<Value>(d).ok());
        let mut answers = answers.filter(|a| a["id"] == 1);
        answers.next().unwrap_or_else(|| panic!("{text}"))
    }
}

impl Http {
    /// Starts a session of a legacy client that cannot ask its user, and returns the session's id.
    pub fn session(&self) -> String {
        self.session_of(LEGACY)
    }

    /// Starts a session like [`Self::session`], with another protocol version.
    pub fn session_of(&self, version: &str) -> String {
        let client = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
            .to_string();
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        let head = self.head(&self.server.address, "");
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let lines = BufReader::new(stream).lines();
        let mut headers = lines.map(|l| l.unwrap().to_ascii_lowercase());
        let id = headers
            .find_map(|l| l.strip_prefix("mcp-session-id: ").map(str::to_owned))
            .unwrap();
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let more = format!("Mcp-Session-Id: {id}\r\n");
        assert_eq!(
            self.send(&self.head(&self.server.address, &more), &done).0,
            202
        );
        id
    }
}

#[test]
fn http_serves_both_protocol_eras() {
    let world = World::with_feature();
    let http = Http::start(&world, &["--write"]);
    for era in [LEGACY, MODERN] {
        let list = http.call(
            era,
            "tools/call",
            json!({"name": "pr_list", "arguments": {}}),
        );
        assert_eq!(
            list["result"]["structuredContent"]["pull_requests"][0]["number"], "1",
            "{list}"
        );
    }
    // Over HTTP the server cannot ask the user, so a merge needs the pull request's number in
    // `confirm`.
    for era in [LEGACY, MODERN] {
        let merge = http.call(
            era,
            "tools/call",
            json!({"name": "pr_merge", "arguments": {"number": 1}}),
        );
        assert_eq!(
            merge["result"]["structuredContent"]["error"]["code"], "invalid_input",
            "{merge}"
        );
        assert!(
            merge["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains("confirm="),
            "{merge}"
        );
    }
}

#[test]
fn http_access_needs_token_and_origin() {
    let world = World::with_feature();
    let http = Http::start(&world, &[]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let version = format!("MCP-Protocol-Version: {LEGACY}\r\n");
    let own = http.head(&http.server.address, &version);
    assert_eq!(http.send(&own, body).0, 200);
    for (what, head, status) in [
        ("no token", own.replace(&http.server.token, ""), 401),
        (
            "another token",
            own.replace(&http.server.token, &"0".repeat(64)),
            401,
        ),
        (
            "a part of the token",
            own.replace(&http.server.token, &http.server.token[..63]),
            401,
        ),
        ("basic", own.replace("Bearer", "Basic"), 401),
        ("another path", own.replacen("/mcp", "/", 1), 404),
    ] {
        let (got, text) = http.send(&head, body);
        assert_eq!(got, status, "{what}: {text}");
        assert!(!text.contains(&http.server.token));
    }
    // The server refuses a token in which one character differs, and a token with one more
    // character at either end.
    let mut others: Vec<String> = (0..http.server.token.len())
        .map(|at| {
            let mut other = http.server.token.clone();
            let digit = if &other[at..=at] == "0" { "1" } else { "0" };
            other.replace_range(at..=at, digit);
            other
        })
        .collect();
    assert_eq!(others.len(), 64);
    others.push(format!("{}0", http.server.token));
    others.push(format!("0{}", http.server.token));
    others.push(http.server.token[1..].to_owned());
    for other in others {
        let (got, text) = http.send(&own.replace(&http.server.token, &other), body);
        assert_eq!(got, 401, "{other}: {text}");
        assert!(!text.contains(&http.server.token));
    }
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(5 << 20));
    let mut stream = TcpStream::connect(&http.server.address).unwrap();
    let _ = stream.write_all(format!("{own}Content-Length: {}\r\n\r\n", large.len()).as_bytes());
    let _ = stream.write_all(large.as_bytes());
    let mut answer = [0; 16];
    let read = stream.read(&mut answer).unwrap_or(0);
    assert!(
        read == 0 || answer.starts_with(b"HTTP/1.1 413"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

#[test]
fn chosen_http_token_is_not_printed() {
    let world = World::with_feature();
    let token = format!("{CANARY}-and-more-of-it");
    let run = world
        .forge_as(&Identity::GRACE, &[])
        .args(["mcp", "--http", "127.0.0.1:0"]);
    let server = HttpServer::with_token(&run, &token);
    let http = Http { server };
    let list = http.call(MODERN, "tools/list", json!({}));
    assert!(list["result"]["tools"].is_array());
    let weak = world
        .forge_as(&Identity::GRACE, &[])
        .args(["mcp", "--http", "127.0.0.1:0"])
        .env("FORGE_MCP_TOKEN", "short");
    let _ = weak.output().exits(1).says("16 characters");
}
