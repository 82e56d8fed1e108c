//! Tests with slow clients and with many clients; each test lowers the limit that it tests.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use forge::{Config, Forges, config::Env};

use super::*;
use crate::ServerOptions;

const TOKEN: &str = "0123456789abcdef";

/// A timeout for responses that are expected to arrive.
const LONG: Duration = Duration::from_secs(20);

/// Limits that no test reaches.
const WIDE: HttpLimits = HttpLimits {
    connections: 100,
    strangers: 100,
    head: LONG,
    body: LONG,
    bodies: 1_000_000,
    sessions: 100,
};

/// Starts a server with these limits and returns its address.
async fn start(limits: HttpLimits) -> SocketAddr {
    start_with(limits, server()).await
}

fn server() -> Server {
    let forges = Forges::from_parts(Config::without_files(Env::fixed([("HOME", "/")])));
    Server::new(forges, ServerOptions::default()).unwrap()
}

async fn start_with(limits: HttpLimits, server: Server) -> SocketAddr {
    let options = HttpOptions {
        addr: ([127, 0, 0, 1], 0).into(),
        bearer: Some(Bearer::new(TOKEN).unwrap()),
        hosts: Vec::new(),
        limits,
    };
    let listening = serve(server, options).await.unwrap();
    let addr = listening.addr;
    tokio::spawn(listening.run());
    addr
}

/// Opens a connection and sends nothing.
fn silent(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends the start line and headers of a request, with the token.
fn send(stream: &mut TcpStream, line: &str, more: &str) {
    let addr = stream.peer_addr().unwrap();
    let head =
        format!("{line} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
}

/// Reads the head of a response; `None` if the connection was closed.
fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap() == 0 {
            return None;
        }
        head.extend(byte);
    }
    Some(String::from_utf8(head).unwrap().to_ascii_lowercase())
}

/// Reads a response with a `Content-Length` and returns its status; `None` if the connection was
/// closed.
fn status(stream: &mut TcpStream) -> Option<u16> {
    let head = head(stream)?;
    let length = head
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    head.split(' ').nth(1).unwrap().parse().ok()
}

/// Requests an unknown page, which needs only the token.
fn ask(stream: &mut TcpStream) -> Option<u16> {
    send(stream, "GET /", "");
    status(stream)
}

/// Waits for an asynchronous effect on the server.
fn eventually(mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the effect did not come in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_do_not_block_clients() {
    let addr = start(HttpLimits {
        strangers: 2,
        // The timeout is longer than the test and closes no connection.
        head: LONG * 10,
        ..WIDE
    })
    .await;
    let mut known = silent(addr);
    assert_eq!(ask(&mut known), Some(404));
    let mut strangers: Vec<TcpStream> = (0..3).map(|_| silent(addr)).collect();
    assert_eq!(ask(&mut silent(addr)), Some(404));
    // The oldest connection is closed; the newest and the authenticated one stay open.
    assert_eq!(status(&mut strangers[0]), None);
    assert_eq!(ask(&mut strangers[2]), Some(404));
    assert_eq!(ask(&mut known), Some(404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connection_without_token_times_out() {
    let addr = start(HttpLimits {
        head: Duration::from_secs(1),
        ..WIDE
    })
    .await;
    let mut known = silent(addr);
    assert_eq!(ask(&mut known), Some(404));
    let mut stranger = silent(addr);
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    assert_eq!(status(&mut stranger), None);
    assert_eq!(ask(&mut known), Some(404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connection_above_the_maximum_gets_503() {
    let addr = start(HttpLimits {
        connections: 1,
        ..WIDE
    })
    .await;
    let mut first = silent(addr);
    assert_eq!(ask(&mut first), Some(404));
    assert_eq!(ask(&mut silent(addr)), Some(503));
    drop(first);
    eventually(|| ask(&mut silent(addr)) == Some(404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_with_unfinished_body_times_out() {
    let addr = start(HttpLimits {
        body: Duration::from_millis(50),
        ..WIDE
    })
    .await;
    let mut stream = silent(addr);
    send(&mut stream, "POST /mcp", "Content-Length: 10\r\n");
    stream.write_all(b"{").unwrap();
    assert_eq!(status(&mut stream), Some(408));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_all_requests_share_one_limit() {
    let addr = start(HttpLimits {
        bodies: 100,
        ..WIDE
    })
    .await;
    let message = "x".repeat(60);
    assert_ne!(post(addr, None, &message).0, 503);
    let mut unfinished = silent(addr);
    send(&mut unfinished, "POST /mcp", "Content-Length: 60\r\n");
    unfinished.write_all(&[b'x'; 50]).unwrap();
    eventually(|| post(addr, None, &message).0 == 503);
    drop(unfinished);
    eventually(|| post(addr, None, &message).0 != 503);
}

/// Sends a message, optionally in a session, and returns the connection.
fn begin_post(addr: SocketAddr, session: Option<&str>, message: &str) -> TcpStream {
    let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
    let more = format!(
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {session}Content-Length: {}\r\nConnection: close\r\n",
        message.len()
    );
    let mut stream = silent(addr);
    send(&mut stream, "POST /mcp", &more);
    stream.write_all(message.as_bytes()).unwrap();
    stream
}

/// Sends a message, optionally in a session; returns the status and the session.
fn post(addr: SocketAddr, session: Option<&str>, message: &str) -> (u16, Option<String>) {
    let mut stream = begin_post(addr, session, message);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let answer = answer.to_ascii_lowercase();
    let id = answer
        .lines()
        .find_map(|l| l.strip_prefix("mcp-session-id: "));
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, id.map(str::to_owned))
}

/// Starts a session.
fn begin(addr: SocketAddr) -> String {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let (status, session) = post(addr, None, message);
    assert_eq!(status, 200);
    session.unwrap()
}

/// Sends a notification in a session and returns the status.
fn continue_session(addr: SocketAddr, session: &str) -> u16 {
    let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    post(addr, Some(session), message).0
}

/// With protocol version 2025-11-25, the head of the response is sent while the call still runs.
/// The request counts until the call ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_call_counts_for_the_body_limit() {
    let server = server();
    let limits = HttpLimits {
        bodies: 10_000,
        ..WIDE
    };
    let addr = start_with(limits, server.clone()).await;
    let session = begin(addr);
    assert_eq!(continue_session(addr, &session), 202);
    let turns = server.take_all_slots().unwrap();
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"pr_list","arguments":{{"repo":"/nowhere","search":"{}"}}}}}}"#,
        "x".repeat(3_000)
    );
    let mut running = begin_post(addr, Some(&session), &call);
    let head = head(&mut running).unwrap();
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    let other = "x".repeat(7_500);
    assert_eq!(post(addr, None, &other).0, 503);
    // `forge_status` needs no free slot.
    let status = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"forge_status","arguments":{}}}"#;
    let mut answer = String::new();
    let mut asked = begin_post(addr, Some(&session), status);
    asked.read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains("\"id\":3") && !answer.contains("rate_limited"),
        "{answer}"
    );
    drop(turns);
    eventually(|| post(addr, None, &other).0 != 503);
}

/// The parsed values of the message take a hundred times the memory of its text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn body_values_count_for_body_limit() {
    let addr = start(HttpLimits {
        bodies: 10_000,
        ..WIDE
    })
    .await;
    let values = r#"{"":0},"#.repeat(100);
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"p":[{values}0]}}}}"#);
    assert_eq!(post(addr, None, &message).0, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn least_recently_used_session_ends_first() {
    let addr = start(HttpLimits {
        sessions: 2,
        ..WIDE
    })
    .await;
    let (first, second) = (begin(addr), begin(addr));
    assert_eq!(continue_session(addr, &first), 202);
    let third = begin(addr);
    eventually(|| continue_session(addr, &second) == 404);
    for session in [&first, &third] {
        assert_eq!(continue_session(addr, session), 202);
    }
}
