//! Tests each row of the table of `RetryPolicy`: the answer, and the number of requests.

use bytes::Bytes;
use forge_core::{Result, Retry};
use forge_http::{
    Body, Http, HttpSettings, Idempotency, MaxRetries, RetryPolicy, is_no_connection,
};
use http::{Request, Response};
use tokio::net::TcpListener;

use crate::double::{Act, Double, answer, truncated};

pub fn http() -> Http {
    Http::new(HttpSettings {
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap()
}

pub fn request(url: &str, class: Idempotency) -> Request<Bytes> {
    Request::post(format!("{url}/graphql"))
        .extension(class)
        .header("authorization", "token canary-canary")
        .body(Bytes::from_static(b"{}"))
        .unwrap()
}

async fn run(script: Vec<Act>, class: Idempotency) -> (Result<Response<Body>>, usize) {
    let double = Double::start(script).await;
    let outcome = http().send(request(&double.url, class)).await;
    (outcome, double.count())
}

fn ok() -> Act {
    answer("200 OK", "", "{}")
}

#[tokio::test]
async fn gateway_error_is_retried_only_for_reads() {
    for status in [
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let bad = || answer(status, "", "<html>");
        let (got, n) = run(vec![bad(), bad(), ok()], Idempotency::Read).await;
        assert_eq!((got.unwrap().status().as_u16(), n), (200, 3), "{status}");
        let (got, n) = run(vec![bad()], Idempotency::Read).await;
        assert_eq!(
            (got.unwrap().status().as_u16().to_string(), n),
            (status[..3].to_owned(), 4)
        );
        let (got, n) = run(vec![bad(), ok()], Idempotency::Write).await;
        assert_eq!(
            (got.unwrap().status().as_u16().to_string(), n),
            (status[..3].to_owned(), 1)
        );
        let (got, n) = run(vec![bad(), ok()], Idempotency::Replay).await;
        assert_eq!((got.unwrap().status().as_u16(), n), (200, 2));
    }
    let (got, n) = run(
        vec![answer("500 Internal Server Error", "", "")],
        Idempotency::Read,
    )
    .await;
    assert_eq!((got.unwrap().status().as_u16(), n), (500, 1));
}

#[tokio::test]
async fn broken_connection_is_retried_only_for_reads() {
    for broken in [
        Act::Reset,
        truncated("{\"data\":"),
        Act::Send("HTTP/1.1 200 OK\r\n".into()),
    ] {
        let (got, n) = run(vec![broken.clone(), ok()], Idempotency::Read).await;
        assert_eq!((got.unwrap().status().as_u16(), n), (200, 2));
        let (got, n) = run(vec![broken.clone()], Idempotency::Read).await;
        let error = got.unwrap_err();
        assert_eq!(
            (error.code(), error.retry(), n),
            ("network", Retry::Transient, 4)
        );
        let (got, n) = run(vec![broken, ok()], Idempotency::Write).await;
        let error = got.unwrap_err();
        assert_eq!(
            (error.code(), error.retry(), n),
            ("network", Retry::Ambiguous, 1)
        );
        assert!(error.hint().unwrap().text().contains("may have succeeded"));
        assert!(!is_no_connection(&error), "{error:?}");
    }
}

#[tokio::test]
async fn timeout_is_retried_only_for_reads() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let http = Http::new(HttpSettings {
        retry: RetryPolicy::without_pauses(),
        idle_timeout: std::time::Duration::from_millis(50),
        ..HttpSettings::default()
    })
    .unwrap();
    let accepted = tokio::spawn(async move {
        let mut sockets = Vec::new();
        while sockets.len() < 5 {
            sockets.push(silent.accept().await.unwrap().0);
        }
        sockets
    });
    let read = http
        .send(request(&url, Idempotency::Read))
        .await
        .unwrap_err();
    assert_eq!((read.code(), read.retry()), ("timeout", Retry::Transient));
    let write = http
        .send(request(&url, Idempotency::Write))
        .await
        .unwrap_err();
    assert_eq!((write.code(), write.retry()), ("timeout", Retry::Ambiguous));
    assert_eq!(
        accepted.await.unwrap().len(),
        5,
        "four for the read, one for the write"
    );
}

#[tokio::test]
async fn failed_connection_is_retried_for_reads_and_writes() {
    for class in [Idempotency::Read, Idempotency::Write] {
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = gone.local_addr().unwrap();
        drop(gone);
        let error = http()
            .send(request(&format!("http://{address}"), class))
            .await
            .unwrap_err();
        assert_eq!((error.code(), error.retry()), ("network", Retry::Transient));
        assert!(
            error
                .message()
                .starts_with(&format!("no connection to {address}"))
        );
        assert!(is_no_connection(&error), "{error:?}");
    }
}

#[tokio::test]
async fn write_is_retried_until_server_listens() {
    let place = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = place.local_addr().unwrap();
    drop(place);
    let brief = std::time::Duration::from_millis(5);
    let retry = RetryPolicy {
        retries: 10_000,
        base: brief,
        cap: brief,
        ..RetryPolicy::default()
    };
    let http = Http::new(HttpSettings {
        retry,
        ..HttpSettings::default()
    })
    .unwrap();
    let (late, sent) = tokio::join!(
        async {
            // The pause is long enough for the first attempt to fail. Its exact length does not
            // matter.
            tokio::time::sleep(brief * 4).await;
            Double::serve(TcpListener::bind(address).await.unwrap(), vec![ok()])
        },
        http.send(request(&format!("http://{address}"), Idempotency::Write)),
    );
    assert_eq!((sent.unwrap().status().as_u16(), late.count()), (200, 1));
}

#[tokio::test]
async fn rate_limit_within_budget_is_waited_for() {
    for class in [Idempotency::Read, Idempotency::Write] {
        for status in ["429 Too Many Requests", "403 Forbidden"] {
            let wait = answer(status, "retry-after: 7\r\n", "{}");
            let (got, n) = run(vec![wait, ok()], class).await;
            assert_eq!((got.unwrap().status().as_u16(), n), (200, 2));
            let long = answer(status, "retry-after: 61\r\n", "{}");
            let (got, n) = run(vec![long, ok()], class).await;
            assert_eq!(
                (got.unwrap().status().as_u16().to_string(), n),
                (status[..3].to_owned(), 1)
            );
            let endless = answer(status, "retry-after: 0\r\n", "{}");
            let (got, n) = run(vec![endless], class).await;
            assert_eq!(
                (got.unwrap().status().as_u16().to_string(), n),
                (status[..3].to_owned(), 4)
            );
        }
        let (got, n) = run(vec![answer("403 Forbidden", "", "{}"), ok()], class).await;
        assert_eq!(
            (got.unwrap().status().as_u16(), n),
            (403, 1),
            "no rate limit"
        );
    }
}

#[tokio::test]
async fn rate_limit_waits_share_one_budget() {
    let wait = |s: u32| {
        answer(
            "429 Too Many Requests",
            &format!("retry-after: {s}\r\n"),
            "{}",
        )
    };
    let (got, n) = run(vec![wait(40), wait(40), ok()], Idempotency::Read).await;
    assert_eq!((got.unwrap().status().as_u16(), n), (429, 2));
}

#[tokio::test]
async fn max_retries_limits_repetitions() {
    let double = Double::start(vec![answer("502 Bad Gateway", "", "")]).await;
    let mut request = request(&double.url, Idempotency::Read);
    request.extensions_mut().insert(MaxRetries(0));
    assert_eq!(http().send(request).await.unwrap().status().as_u16(), 502);
    assert_eq!(double.count(), 1);
}

#[tokio::test]
async fn request_without_idempotency_is_classified_by_method() {
    let double = Double::start(vec![answer("502 Bad Gateway", "", "")]).await;
    for (method, requests) in [("GET", 4), ("POST", 5), ("DELETE", 6)] {
        let request = Request::builder()
            .method(method)
            .uri(&double.url)
            .body(Bytes::new())
            .unwrap();
        http().send(request).await.unwrap();
        assert_eq!(double.count(), requests);
    }
}

#[tokio::test]
async fn rate_limits_are_remembered_by_host_and_bucket() {
    let headers = "x-ratelimit-resource: graphql\r\nx-ratelimit-limit: 5000\r\n\
                   x-ratelimit-remaining: 4999\r\nx-ratelimit-reset: 1790000000\r\n";
    let double = Double::start(vec![answer("200 OK", headers, "{}")]).await;
    let http = http();
    http.send(request(&double.url, Idempotency::Read))
        .await
        .unwrap();
    let host = double.url.strip_prefix("http://").unwrap();
    let limits = http.rate_limits(host);
    assert_eq!(
        (limits[0].resource.as_str(), limits[0].remaining),
        ("graphql", 4999)
    );
}
