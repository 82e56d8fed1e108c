//! Tests many agents that use one server.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use forge_testkit::{HttpServer, Identity, Scratch};
use serde_json::{Value, json};

const CLIENTS: usize = 32;
const CALLS: usize = 20_000;

/// The version of the MCP protocol that a client uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    /// Sends requests without a session.
    Y2026,
    /// Sends requests in a session of the server.
    Y2025,
}

/// A client that keeps its connection open.
struct Client {
    stream: BufReader<TcpStream>,
    era: Era,
    head: String,
    last_id: u64,
}

/// A response from the server.
struct Reply {
    status: String,
    session: Option<String>,
    body: String,
}

impl Client {
    fn new(address: &str, token: &str, era: Era) -> Self {
        let stream = BufReader::new(TcpStream::connect(address).unwrap());
        stream.get_ref().set_nodelay(true).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        );
        let mut client = Self {
            stream,
            era,
            head,
            last_id: 0,
        };
        match era {
            Era::Y2026 => client
                .head
                .push_str("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"),
            Era::Y2025 => client.begin_session(),
        }
        client
    }

    fn begin_session(&mut self) {
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "crowd", "version": "1"}
            }
        });
        let reply = self.post("", &hello);
        assert!(reply.status.contains(" 200 "), "{}", reply.status);
        let session = reply.session.unwrap();
        self.head.push_str(&format!(
            "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"
        ));
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = self.post("", &done);
        assert!(reply.status.contains(" 202 "), "{}", reply.status);
    }

    fn call(&mut self, tool: &str, args: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut params = json!({"name": tool, "arguments": args});
        let mut more = String::new();
        if self.era == Era::Y2026 {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "crowd", "version": "1"}
            });
            more = format!("Mcp-Name: {tool}\r\n");
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let Reply { status, body, .. } = self.post(&more, &body);
        assert!(status.contains(" 200 "), "{status}: {body}");
        let data = body
            .lines()
            .filter_map(|l| l.strip_prefix("data: "))
            .chain([body.as_str()]);
        let mut answers = data.filter_map(|d| serde_json::from_str::<Value>(d).ok());
        answers
            .find(|a| a["id"] == id)
            .unwrap_or_else(|| panic!("{body}"))
    }

    fn post(&mut self, more: &str, body: &Value) -> Reply {
        let body = body.to_string();
        let request = format!(
            "{}{more}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        self.reply()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn reply(&mut self) -> Reply {
        let status = self.line();
        let (mut length, mut chunked, mut session) = (0, false, None);
        loop {
            let header = self.line().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(n) = header.strip_prefix("content-length: ") {
                length = n.parse().unwrap();
            }
            if let Some(id) = header.strip_prefix("mcp-session-id: ") {
                session = Some(id.to_owned());
            }
            chunked |= header == "transfer-encoding: chunked";
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                let size = usize::from_str_radix(&self.line(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk).unwrap();
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        } else {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).unwrap();
        }
        Reply {
            status,
            session,
            body: String::from_utf8(body).unwrap(),
        }
    }
}

/// Returns the call with this number, and a text that the result must contain. Every fifth call
/// starts git. Most others cost only the server's own work.
fn nth(n: usize) -> (&'static str, Value, &'static str) {
    let everything = ["files", "commits", "comments", "threads", "history"];
    match n % 20 {
        0 => ("pr_list", json!({"state": "all"}), "Title"),
        1 => ("pr_view", json!({"number": 1}), "Title"),
        2 => (
            "pr_view",
            json!({"number": 1, "include": everything}),
            "new",
        ),
        3 => ("pr_diff", json!({"number": 1}), "+x"),
        _ => ("forge_status", json!({}), ""),
    }
}

/// Returns the resident memory of a process in KiB.
fn memory(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

#[test]
fn server_survives_32_clients_and_20000_calls() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("feature", "Change", &[("new", Some("x\n"))]);
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    forge()
        .args(["pr", "create", "-H", "feature", "-t", "Title", "-b", ""])
        .ok();
    let server = HttpServer::start(&forge().args(["mcp", "--http", "127.0.0.1:0"]));

    let (made, warm) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let pid = server.pid();
    let begin = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        let (made, warm, begin, server) = (&made, &warm, &begin, &server);
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let era = match client % 4 {
                    0 => Era::Y2025,
                    _ => Era::Y2026,
                };
                let mut client = Client::new(&server.address, &server.token, era);
                begin.wait();
                loop {
                    let n = made.fetch_add(1, Ordering::Relaxed);
                    if n >= CALLS {
                        return;
                    }
                    if n == CALLS / 4 {
                        warm.store(memory(pid), Ordering::Relaxed);
                    }
                    let (tool, args, part) = nth(n);
                    let answer = client.call(tool, &args);
                    assert_ne!(answer["result"]["isError"], true, "{answer}");
                    let text = answer["result"]["content"][0]["text"].as_str();
                    assert!(text.unwrap_or_default().contains(part), "{tool}: {answer}");
                    assert!(
                        answer["result"]["structuredContent"].is_object(),
                        "{answer}"
                    );
                }
            });
        }
    });
    let (warm, end) = (warm.into_inner(), memory(pid));
    println!("memory after a quarter of the calls {warm} kB, at the end {end} kB");
    assert!(
        end <= warm + warm / 4 + 4_096,
        "memory grew from {warm} kB to {end} kB"
    );
}
