//! Many agents at one server.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Stdio,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use forge_testkit::{Identity, Scratch};
use serde_json::{Value, json};

const CLIENTS: usize = 32;
const CALLS: usize = 20_000;

/// A connection that is kept open.
struct Client {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Client {
    fn new(address: &str, token: &str) -> Self {
        let stream = BufReader::new(TcpStream::connect(address).unwrap());
        stream.get_ref().set_nodelay(true).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
        );
        Self { stream, head }
    }

    fn call(&mut self, tool: &str, args: &Value) -> Value {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": tool, "arguments": args,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "crowd", "version": "1"}
                }
            }
        })
        .to_string();
        let request = format!(
            "{}Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        self.answer()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn answer(&mut self) -> Value {
        let status = self.line();
        assert!(status.contains(" 200 "), "{status}");
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.line().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(n) = header.strip_prefix("content-length: ") {
                length = n.parse().unwrap();
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
        let text = String::from_utf8(body).unwrap();
        let data = text
            .lines()
            .filter_map(|l| l.strip_prefix("data: "))
            .chain([text.as_str()]);
        let mut answers = data.filter_map(|d| serde_json::from_str::<Value>(d).ok());
        answers
            .find(|a| a["id"] == 1)
            .unwrap_or_else(|| panic!("{text}"))
    }
}

/// Resident memory of a process, in kilobytes.
fn memory(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

#[test]
fn thirty_two_clients_and_twenty_thousand_calls() {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("feature", "Change", &[("new", Some("x\n"))]);
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    forge()
        .args(["pr", "create", "-H", "feature", "-t", "Title", "-b", ""])
        .ok();
    let mut command = forge().args(["mcp", "--http", "127.0.0.1:0"]).command();
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let url = said.next().unwrap().unwrap();
    let address = url
        .strip_prefix("listening on http://")
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap();
    let token = said.next().unwrap().unwrap();
    let token = token.strip_prefix("Authorization: Bearer ").unwrap();

    let (made, warm) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let pid = server.id();
    let begin = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::new(address, token);
                begin.wait();
                loop {
                    let n = made.fetch_add(1, Ordering::Relaxed);
                    if n >= CALLS {
                        return;
                    }
                    if n == CALLS / 4 {
                        warm.store(memory(pid), Ordering::Relaxed);
                    }
                    // Most calls cost nothing but the server itself; some start git.
                    let answer = match n % 40 {
                        0 => client.call("pr_list", &json!({})),
                        1 => client.call("pr_view", &json!({"number": 1})),
                        _ => client.call("forge_status", &json!({})),
                    };
                    assert_ne!(answer["result"]["isError"], true, "{answer}");
                    assert!(
                        answer["result"]["structuredContent"].is_object(),
                        "{answer}"
                    );
                }
            });
        }
    });
    let (warm, end) = (warm.into_inner(), memory(pid));
    let _ = server.kill();
    let _ = server.wait();
    println!("memory after a quarter of the calls {warm} kB, at the end {end} kB");
    assert!(
        end <= warm + warm / 4 + 4_096,
        "memory grew from {warm} kB to {end} kB"
    );
}
