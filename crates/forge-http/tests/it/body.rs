//! Size limits, compression and streams.

use bytes::Bytes;
use forge_core::Retry;
use forge_http::{BodyMax, Http, HttpSettings, Idempotency, RetryPolicy, StreamBody, is_too_long};
use http::Request;
use http_body_util::BodyExt;

use crate::double::{Double, answer, truncated};

fn small() -> Http {
    Http::new(HttpSettings {
        retry: RetryPolicy::without_pauses(),
        body_max: 1000,
        ..HttpSettings::default()
    })
    .unwrap()
}

#[tokio::test]
async fn body_beyond_limit_is_refused() {
    for (length, fits) in [(1000, true), (1001, false)] {
        let body = "x".repeat(length);
        let chunked = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        );
        for act in [
            answer("200 OK", "", &body),
            crate::double::Act::Send(chunked),
        ] {
            let double = Double::start(vec![act]).await;
            let got = small()
                .send(Request::get(&double.url).body(Bytes::new()).unwrap())
                .await;
            assert_eq!(double.count(), 1);
            match got {
                Ok(response) => {
                    assert!(fits);
                    assert_eq!(response.into_body().into_bytes().unwrap().len(), length);
                }
                Err(error) => {
                    assert!(!fits);
                    assert_eq!(error.code(), "protocol");
                    assert!(error.message().contains("more than 1000 bytes"));
                }
            }
        }
    }
}

#[tokio::test]
async fn smaller_body_limit_of_client_or_request_applies() {
    for (max, length, fits) in [(100, 100, true), (100, 101, false), (5_000, 1_001, false)] {
        let double = Double::start(vec![answer("200 OK", "", &"x".repeat(length))]).await;
        let request = Request::get(&double.url).extension(BodyMax(max));
        let got = small().send(request.body(Bytes::new()).unwrap()).await;
        match got {
            Ok(_) => assert!(fits, "{length} of {max}"),
            Err(e) => assert!(!fits && is_too_long(&e), "{length} of {max}: {e:?}"),
        }
    }
}

#[tokio::test]
async fn write_with_oversized_answer_is_ambiguous() {
    let double = Double::start(vec![answer("200 OK", "", &"x".repeat(2000))]).await;
    let error = small()
        .send(Request::post(&double.url).body(Bytes::new()).unwrap())
        .await
        .unwrap_err();
    assert_eq!((error.retry(), double.count()), (Retry::Ambiguous, 1));
}

#[tokio::test]
async fn stream_is_unlimited_and_reports_a_broken_connection() {
    let long = "x".repeat(5000);
    let request = |url: &str| {
        Request::get(url)
            .extension(StreamBody)
            .body(Bytes::new())
            .unwrap()
    };
    let double = Double::start(vec![answer("200 OK", "", &long)]).await;
    let body = small()
        .send(request(&double.url))
        .await
        .unwrap()
        .into_body();
    assert_eq!(body.collect().await.unwrap().to_bytes().len(), 5000);

    let double = Double::start(vec![truncated(&long)]).await;
    let body = small()
        .send(request(&double.url))
        .await
        .unwrap()
        .into_body();
    let error = body.collect().await.unwrap_err();
    assert!(error.message().contains("in the middle of the answer"));
    assert_eq!(error.retry(), Retry::Transient);
}

#[tokio::test]
async fn error_answer_to_stream_request_is_buffered() {
    let double = Double::start(vec![answer(
        "406 Not Acceptable",
        "",
        "{\"message\":\"too large\"}",
    )])
    .await;
    let request = Request::get(&double.url)
        .extension(StreamBody)
        .body(Bytes::new())
        .unwrap();
    let response = small().send(request).await.unwrap();
    assert_eq!(
        response.into_body().into_bytes().unwrap(),
        "{\"message\":\"too large\"}"
    );
}

#[tokio::test]
async fn truncated_answer_to_read_is_retried() {
    let double = Double::start(vec![truncated("{"), answer("200 OK", "", "{}")]).await;
    let request = Request::post(&double.url)
        .extension(Idempotency::Read)
        .body(Bytes::new())
        .unwrap();
    let body = small().send(request).await.unwrap().into_body();
    assert_eq!(
        (body.into_bytes().unwrap(), double.count()),
        (Bytes::from_static(b"{}"), 2)
    );
}
