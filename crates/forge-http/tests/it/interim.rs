//! Interim answers (1xx) before the final answer.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use forge_http::{Http, HttpSettings, RetryPolicy};
use http::Request;

use crate::double::{Double, answer};

fn http() -> Http {
    Http::new(HttpSettings {
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap()
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

#[tokio::test]
async fn interim_answers_are_skipped() {
    let hints = "103 Early Hints\r\nlink: x\r\n\r\n";
    let many = format!("{hints}HTTP/1.1 ").repeat(20) + "200 OK";
    let double = Double::start(vec![answer(&many, "", "{}")]).await;
    let got = http().send(get(&double.url)).await.unwrap();
    assert_eq!(got.into_body().into_bytes().unwrap(), "{}");
}

/// Without a separate thread for connections, no timer in the runtime of this test would fire. The
/// server sends for 30 s at most. The time limit is generous, because other tests use the same
/// processors.
#[tokio::test]
async fn endless_interim_answers_end_with_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let begun = Instant::now();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
        let hints = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(1_000);
        while begun.elapsed() < Duration::from_secs(30)
            && socket.write_all(hints.as_bytes()).is_ok()
        {}
    });
    let http = http();
    let request = get(&url);
    let deadline = Duration::from_millis(500);
    let sent = tokio::time::timeout(deadline, http.send(request)).await;
    assert!(sent.is_err());
    assert!(begun.elapsed() < Duration::from_secs(10));
}
