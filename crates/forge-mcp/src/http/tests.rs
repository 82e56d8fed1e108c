//! Clients that are slow, or many. Each limit is tested where it is small.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use forge::{Config, Forges, config::Env};

use super::*;
use crate::Options;

const TOKEN: &str = "0123456789abcdef";

/// Long enough for anything that comes at all.
const LONG: Duration = Duration::from_secs(20);

/// Limits that nothing here comes near.
const WIDE: Limits = Limits {
    connections: 100,
    strangers: 100,
    head: LONG,
    body: LONG,
};

/// A server with these limits, and its address.
async fn start(limits: Limits) -> SocketAddr {
    let forges = Forges::from_parts(Config::without_files(Env::fixed([("HOME", "/")])));
    let server = Server::new(forges, Options::default()).unwrap();
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

/// A connection on which nothing was sent.
fn silent(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends the head of a request with the token.
fn send(stream: &mut TcpStream, line: &str, more: &str) {
    let addr = stream.peer_addr().unwrap();
    let head =
        format!("{line} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
}

/// The status of an answer that has a length; `None` where the connection is closed instead.
fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap() == 0 {
            return None;
        }
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    head.split(' ').nth(1).unwrap().parse().ok()
}

/// Asks for a page that there is not, which needs the token alone.
fn ask(stream: &mut TcpStream) -> Option<u16> {
    send(stream, "GET /", "");
    status(stream)
}

/// Waits for something that the server does by itself.
fn eventually(mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it has not come");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_nothing_keeps_nobody_out() {
    let addr = start(Limits {
        strangers: 2,
        ..WIDE
    })
    .await;
    let mut known = silent(addr);
    assert_eq!(ask(&mut known), Some(404));
    let mut strangers: Vec<TcpStream> = (0..3).map(|_| silent(addr)).collect();
    assert_eq!(ask(&mut silent(addr)), Some(404));
    // The oldest went, and who has shown the token stays.
    assert_eq!(status(&mut strangers[0]), None);
    assert_eq!(ask(&mut known), Some(404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_is_to_be_shown_in_time() {
    let addr = start(Limits {
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
async fn one_connection_too_many_is_told_so() {
    let addr = start(Limits {
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
async fn a_body_that_does_not_end_is_not_waited_for() {
    let addr = start(Limits {
        body: Duration::from_millis(50),
        ..WIDE
    })
    .await;
    let mut stream = silent(addr);
    send(&mut stream, "POST /mcp", "Content-Length: 10\r\n");
    stream.write_all(b"{").unwrap();
    assert_eq!(status(&mut stream), Some(408));
}
