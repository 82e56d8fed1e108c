//! Measures the MCP server: the bytes that a client loads, and the response times.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use forge_github_double::{ALL_SCOPES, GitHubDouble, Options, PullSeed, state::Permission};
use forge_testkit::{HttpServer, Identity, Run, Scratch};
use serde_json::{Value, json};

use crate::page::{Page, mb, ms};

/// Number of calls for each measured rate.
const CALLS: u32 = 3_000;

/// Number of concurrent clients when memory is measured.
const CLIENTS: usize = 32;
const CALLS_AT_ONCE: u32 = 20_000;

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
        "The limits are for the tools without the schemas of their results, as a client gives them to its \
         model; the whole answer to `tools/list` has those schemas too. A call is `forge_status`, one after \
         another, by one client unless there are more. Memory is the resident memory of the server alone.",
        &["What", "Measured"],
    );
    for (mode, args, most) in [
        ("only reading", &[][..], 10_240),
        ("with --write", &["--write"][..], 20_480),
    ] {
        let mut wire = Wire::start(&server(args));
        let answer = wire.request("tools/list", json!({}));
        let whole = answer.to_string().len();
        let tools = answer["result"]["tools"].as_array().unwrap();
        let bytes: usize = tools.iter().map(bytes).sum();
        let cell = page.limit(
            "bytes of the tools",
            &bytes.to_string(),
            &most.to_string(),
            bytes <= most,
        );
        page.row(&[
            format!("`tools/list`, {mode}: {} tools, bytes", tools.len()),
            cell,
        ]);
        page.row(&[
            format!("`tools/list`, {mode}: the whole answer, bytes"),
            whole.to_string(),
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
        "memory when idle, after the first reply".into(),
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
        format!("memory after these {CALLS} calls"),
        mb(memory(wire.child.id())),
    ]);
    drop(wire);
    over_http(page, &server(&["--http", "127.0.0.1:0"]));
    busy(page);
    let (calls, requests, bytes) = task();
    page.row(&[
        "find my failing pull request, read the failing check and the open threads, answer and \
         resolve one, merge it"
            .into(),
        format!("{calls} calls, {bytes} bytes of results, {requests} requests to GitHub"),
    ]);
}

const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";
const REPO: &str = "octo/tools";

/// Runs the task of `tests/mcp/task.rs`. Returns the number of calls, the number of requests, and
/// the bytes of text for the model.
fn task() -> (usize, usize, usize) {
    let double = GitHubDouble::start(Options::default()).unwrap();
    {
        let mut seed = double.seed();
        seed.org("octo", &[("ada", Permission::Admin)]);
        seed.token(TOKEN, "ada", ALL_SCOPES);
        seed.repo_with_readme(REPO);
        seed.collaborator(REPO, "grace", Permission::Write);
        let file = [("new.txt", Some("one\ntwo\n"))];
        seed.commit(REPO, "work", &file, "Work");
        let pull = PullSeed {
            author: "ada",
            title: "Work",
            head: "work",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
        let failed = seed.check(REPO, 1, "ci", "test", "FAILURE");
        seed.log(failed, "running 12 tests\ntest sums ... FAILED\n");
        seed.check(REPO, 1, "ci", "lint", "SUCCESS");
    }
    let scratch = Scratch::new();
    let run = scratch.forge(&scratch.path(""), &Identity::ADA);
    let run = double
        .env(TOKEN)
        .into_iter()
        .fold(run, |run, (k, v)| run.env(k, v))
        .args(["mcp", "--write"]);
    let mut wire = Wire::start(&run);
    let comments = json!([{"path": "new.txt", "line": 1, "body": "Why one?"}]);
    wire.tool(
        "pr_review",
        json!({"number": 1, "verdict": "comment", "body": "b", "comments": comments}),
    );
    wire.texts.clear();
    double.reset_record();
    let mine = wire.tool("pr_list", json!({"author": "@me"}));
    let number = mine["pull_requests"][0]["number"].clone();
    wire.tool(
        "pr_checks",
        json!({"number": number, "failed_only": true, "logs": true}),
    );
    let view = wire.tool("pr_view", json!({"number": number, "include": ["threads"]}));
    let (thread, head) = (&view["threads"][0], &view["pull_request"]["head_oid"]);
    let reply_to = &thread["comments"][0]["id"];
    wire.tool(
        "pr_comment",
        json!({"number": number, "body": "Fixed.", "reply_to": reply_to}),
    );
    wire.tool(
        "pr_thread_resolve",
        json!({"number": number, "thread": thread["id"]}),
    );
    // The client has no elicitation: the first call returns a confirmation token, and the second
    // call sends it.
    let mut merge = json!({"repo": REPO, "number": number, "expected_head": head});
    let asked = wire.request(
        "tools/call",
        json!({"name": "pr_merge", "arguments": merge}),
    );
    let asked = &asked["result"];
    let text = asked["content"][0]["text"].as_str().unwrap();
    wire.texts.push(text.len());
    let hint = asked["structuredContent"]["error"]["hint"]
        .as_str()
        .unwrap();
    let (_, seal) = hint.split_once("confirm=\"").unwrap();
    merge["confirm"] = json!(seal.split('"').next().unwrap());
    assert_eq!(wire.tool("pr_merge", merge)["merged"], true);
    (
        wire.texts.len(),
        double.counts().api,
        wire.texts.iter().sum(),
    )
}

fn rate(begun: Instant) -> String {
    format!("{:.0}", f64::from(CALLS) / begun.elapsed().as_secs_f64())
}

fn bytes(tool: &Value) -> usize {
    let mut tool = tool.clone();
    tool.as_object_mut().unwrap().remove("outputSchema");
    tool.to_string().len()
}

/// Returns the resident memory of a process in KiB.
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

/// A connection to a server on stdio, after the handshake.
struct Wire {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    /// Bytes of text in the result of each call so far.
    texts: Vec<usize>,
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
        let mut wire = Self {
            child,
            output,
            texts: Vec::new(),
        };
        let _ = wire.request("server/discover", json!({}));
        wire
    }

    /// Calls a tool on [`REPO`], and returns the result's data.
    fn tool(&mut self, name: &str, mut args: Value) -> Value {
        args["repo"] = json!(REPO);
        let answer = self.request("tools/call", json!({"name": name, "arguments": args}));
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        self.texts.push(text.len());
        result["structuredContent"].clone()
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

/// Measures one client, then many concurrent clients with separate connections.
fn over_http(page: &mut Page, run: &Run) {
    let http = Http::start(run);
    let mut one = http.connect();
    let begun = Instant::now();
    for _ in 0..CALLS {
        http.call(&mut one);
    }
    page.row(&["calls a second, HTTP".into(), rate(begun)]);
    drop(one);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| http.connect()).collect();
    let before = memory(http.server.pid());
    let quarter = CALLS_AT_ONCE / 4;
    http.call_at_once(&mut clients, quarter);
    let early = memory(http.server.pid());
    http.call_at_once(&mut clients, CALLS_AT_ONCE - quarter);
    let late = memory(http.server.pid());
    page.row(&[
        format!(
            "memory with {CLIENTS} clients at once, HTTP: before, after {quarter} and after \
             {CALLS_AT_ONCE} calls of theirs"
        ),
        format!("{}, {}, {}", mb(before), mb(early), mb(late)),
    ]);
}

/// Number of concurrent clients that use one repository.
const AGENTS: usize = 64;
const BUSY: Duration = Duration::from_secs(60);
/// Maximum response time of 99 % of the calls, on two cores.
const MAX_P99: Duration = Duration::from_millis(500);
/// Minimum of the call rate in the last quarter as a share of the rate in the first quarter.
const MIN_KEPT: f64 = 0.85;

/// Measures whether calls slow down as comments accumulate. Many clients call about one pull
/// request, and 13 % of the calls add a comment.
pub fn busy(page: &mut Page) {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("feature", "Change", &[("new", Some("x\n"))]);
    let forge = || scratch.forge(git.path(), &Identity::ADA);
    let create = ["pr", "create", "-H", "feature", "-t", "Title", "-b", ""];
    forge().args(create).ok();
    let http = Http::start(&forge().args(["mcp", "--write", "--http", "127.0.0.1:0"]));
    let number = json!({"number": 1});
    let reads = [
        http.request_of("pr_view", &number),
        http.request_of("pr_view", &json!({"number": 1, "include": "comments"})),
        http.request_of("pr_list", &json!({})),
        http.request_of("pr_diff", &number),
    ];
    let write = http.request_of("pr_comment", &json!({"number": 1, "body": "Seen."}));
    let (made, took) = (AtomicU32::new(0), Mutex::new(Vec::new()));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..AGENTS {
            scope.spawn(|| {
                let mut stream = http.connect();
                while begun.elapsed() < BUSY {
                    let n = made.fetch_add(1, Ordering::Relaxed);
                    // Adds a comment in 13 of each 100 calls, evenly spread.
                    let request = match n * 13 % 100 < 13 {
                        true => &write,
                        false => &reads[n as usize % reads.len()],
                    };
                    let sent = Instant::now();
                    send(&mut stream, request);
                    let done = (begun.elapsed(), sent.elapsed());
                    took.lock().unwrap().push(done);
                }
            });
        }
    });
    let took = took.into_inner().unwrap();
    let quarter = BUSY / 4;
    let rate = |from: Duration| {
        let ended = took.iter().map(|(ended, _)| *ended);
        let calls = ended.filter(|at| (from..from + quarter).contains(at));
        f64::from(u32::try_from(calls.count()).unwrap()) / quarter.as_secs_f64()
    };
    let (first, last) = (rate(Duration::ZERO), rate(BUSY - quarter));
    let mut each: Vec<Duration> = took.iter().map(|(_, each)| *each).collect();
    each.sort();
    let p99 = each[each.len() * 99 / 100];
    let rates = page.limit(
        "calls a second of many clients, in the first and in the last quarter of a minute",
        &format!("{first:.0}, {last:.0}"),
        &format!("{MIN_KEPT} of the first"),
        last >= MIN_KEPT * first,
    );
    page.row(&[
        format!(
            "calls a second of {AGENTS} clients for a minute on one pull request in a git \
             repository, 13 % of them comments, HTTP: in the first and in the last quarter"
        ),
        rates,
    ]);
    let most = page.limit(
        "99 % of the calls of many clients",
        &ms(p99),
        &ms(MAX_P99),
        p99 <= MAX_P99,
    );
    page.row(&["how long 99 % of these calls took at most".into(), most]);
}

/// A server that listens on HTTP.
struct Http {
    server: HttpServer,
    /// HTTP request of a tool call, ready to send.
    request: String,
}

impl Http {
    fn start(run: &Run) -> Self {
        let server = HttpServer::start(run);
        let HttpServer { address, token, .. } = &server;
        let request = request_of(address, token, "forge_status", &json!({}));
        Self { server, request }
    }

    /// Returns the HTTP request of a tool call to this server.
    fn request_of(&self, tool: &str, args: &Value) -> String {
        request_of(&self.server.address, &self.server.token, tool, args)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    fn call(&self, stream: &mut TcpStream) {
        send(stream, &self.request);
    }

    /// Sends `calls` calls, divided between all clients.
    fn call_at_once(&self, clients: &mut [TcpStream], calls: u32) {
        let begun = &AtomicU32::new(0);
        thread::scope(|scope| {
            for stream in clients {
                scope.spawn(move || {
                    while begun.fetch_add(1, Ordering::Relaxed) < calls {
                        self.call(stream);
                    }
                });
            }
        });
    }
}

/// Returns the HTTP request of a tool call to the server at `address`.
fn request_of(address: &str, token: &str, tool: &str, args: &Value) -> String {
    let call = json!({"name": tool, "arguments": args, "_meta": meta()});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a call and waits for the response.
fn send(stream: &mut TcpStream, request: &str) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut buffer = [0; 16 * 1024];
    let mut got = Vec::new();
    while !is_whole(&got) {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the server has gone");
        got.extend_from_slice(&buffer[..read]);
    }
    let answer = String::from_utf8_lossy(&got);
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("structuredContent"),
        "{answer}"
    );
    assert!(!answer.contains("\"isError\":true"), "{answer}");
}

/// Returns true if an HTTP/1.1 response is complete.
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
