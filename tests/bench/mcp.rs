//! The MCP server: what a client loads, and how fast it is answered.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use forge_testkit::{Identity, Run, Scratch};
use serde_json::{Value, json};

use crate::page::{Page, mb, ms};

/// How many calls a rate is measured with.
const CALLS: u32 = 3_000;

pub fn measure(page: &mut Page) {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    let server = |args: &[&str]| {
        scratch
            .forge(git.path(), &Identity::ADA)
            .arg("mcp")
            .args(args)
    };
    page.table(
        "MCP server",
        "What a client loads are the tools without the schemas of their results. A call is \
         `forge_status`, one after another.",
        &["What", "Measured"],
    );
    for (mode, args, most) in [
        ("only reading", &[][..], 8_192),
        ("with --write", &["--write"][..], 16_384),
    ] {
        let mut wire = Wire::start(&server(args));
        let tools = wire.request("tools/list", json!({}));
        let tools = tools["result"]["tools"].as_array().unwrap().clone();
        let bytes: usize = tools.iter().map(bytes).sum();
        let cell = page.limit(
            "bytes of the tools",
            &bytes.to_string(),
            &most.to_string(),
            bytes <= most,
        );
        page.row(&[
            format!("tools, {mode}: {} of them, bytes", tools.len()),
            cell,
        ]);
    }
    let mut starts: Vec<Duration> = (0..21)
        .map(|_| {
            let begun = Instant::now();
            let wire = Wire::start(&server(&[]));
            let took = begun.elapsed();
            drop(wire);
            took
        })
        .collect();
    starts.sort();
    page.row(&["start to first reply".into(), ms(starts[starts.len() / 2])]);
    let mut wire = Wire::start(&server(&[]));
    page.row(&[
        "memory after the first reply".into(),
        mb(memory(wire.child.id())),
    ]);
    let begun = Instant::now();
    for _ in 0..CALLS {
        let answer = wire.request(
            "tools/call",
            json!({"name": "forge_status", "arguments": {}}),
        );
        assert!(
            answer["result"]["structuredContent"].is_object(),
            "{answer}"
        );
    }
    page.row(&[
        "calls a second, standard input and output".into(),
        rate(begun),
    ]);
    page.row(&[
        "memory after these calls".into(),
        mb(memory(wire.child.id())),
    ]);
    drop(wire);
    page.row(&[
        "calls a second, HTTP".into(),
        http(&server(&["--http", "127.0.0.1:0"])),
    ]);
}

fn rate(begun: Instant) -> String {
    format!("{:.0}", f64::from(CALLS) / begun.elapsed().as_secs_f64())
}

fn bytes(tool: &Value) -> usize {
    let mut tool = tool.clone();
    tool.as_object_mut().unwrap().remove("outputSchema");
    tool.to_string().len()
}

/// Resident memory, in KiB.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap_or("0");
    line.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse()
        .unwrap_or(0)
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}
    })
}

/// A server on standard input and output, greeted.
struct Wire {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Wire {
    fn start(run: &Run) -> Self {
        let mut command = run.command();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut wire = Self { child, output };
        let _ = wire.request("server/discover", json!({}));
        wire
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = meta();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn http(run: &Run) -> String {
    let mut server = run.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let url = said.next().unwrap().unwrap();
    let address = url
        .strip_prefix("listening on http://")
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap();
    let token = said.next().unwrap().unwrap();
    let call = json!({"name": "forge_status", "arguments": {}, "_meta": meta()});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: forge_status\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let begun = Instant::now();
    let mut buffer = vec![0; 64 * 1024];
    for _ in 0..CALLS {
        stream.write_all(request.as_bytes()).unwrap();
        let mut got = Vec::new();
        while !is_whole(&got) {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the server has gone");
            got.extend_from_slice(&buffer[..read]);
        }
    }
    let rate = rate(begun);
    let _ = server.kill();
    let _ = server.wait();
    rate
}

/// Whether an answer of HTTP/1.1 is there to its end.
fn is_whole(got: &[u8]) -> bool {
    let text = String::from_utf8_lossy(got);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let head = head.to_ascii_lowercase();
    match head
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "))
    {
        Some(length) => body.len() >= length.parse().unwrap_or(0),
        None => body.ends_with("0\r\n\r\n"),
    }
}
