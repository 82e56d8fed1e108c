//! Sends a canary token through every path and checks that it appears nowhere.

use std::{
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use forge_core::Secret;
use forge_http::{Http, HttpSettings, Idempotency, RetryPolicy};
use http::Request;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::double::{Act, Double, answer, truncated};

const CANARY: &str = "no-known-shape.CANARY";

/// Records every field of all spans and events.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

impl Visit for Everything {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn canary_token_appears_nowhere() {
    let log = Everything::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let http = Http::new(HttpSettings {
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap();
    let echo = format!("{{\"message\":\"token {CANARY} is bad\"}}");
    let mut said = String::new();
    for act in [
        answer("200 OK", "x-github-request-id: A1:B2\r\n", &echo),
        answer("401 Unauthorized", "", &echo),
        answer("502 Bad Gateway", "", &echo),
        truncated(&echo),
        Act::Reset,
        Act::Send(format!("HTTP/1.1 {CANARY}\r\n\r\n")),
    ] {
        let double = Double::start(vec![act]).await;
        for class in [Idempotency::Read, Idempotency::Write] {
            let request = Request::post(format!("{}/graphql?access_token={CANARY}", double.url))
                .extension(class)
                .header("authorization", format!("Bearer {CANARY}"))
                .body(Bytes::from(echo.clone()))
                .unwrap();
            match http.send(request).await {
                Ok(response) => {
                    let body = response.into_body().into_bytes().unwrap();
                    write!(said, "{}", http.redact(&String::from_utf8_lossy(&body))).unwrap();
                }
                Err(error) => write!(said, "{error} {error:?} {:?}", error.context()).unwrap(),
            }
        }
        assert!(
            double.heads().iter().all(|h| h.contains(CANARY)),
            "the server receives the token"
        );
    }
    write!(said, "{http:?} {:?}", http.settings()).unwrap();
    let log = log.0.lock().unwrap().clone();
    for needle in [
        "method=POST",
        "path=/graphql",
        "status=200",
        "attempt=3",
        "request_id=\"A1:B2\"",
        "is bad",
    ] {
        assert!(log.contains(needle), "{needle} is missing in {log}");
    }
    assert!(!log.contains(CANARY), "{log}");
    assert!(!said.contains(CANARY), "{said}");
}

#[test]
fn encoded_credential_is_redacted() {
    let http = Http::new(HttpSettings::default()).unwrap();
    http.remember(&Secret::new(CANARY));
    let pair = BASE64_STANDARD.encode(format!("me@example.org:{CANARY}"));
    for echo in [
        CANARY.replace('.', "%2E"),
        BASE64_STANDARD.encode(CANARY),
        pair.replace('=', "%3D"),
        pair,
    ] {
        let told = http.redact(&format!("\"Basic {echo}\" is bad"));
        assert_eq!(told, "\"Basic ***\" is bad", "{echo}");
    }
}

#[test]
fn long_text_is_cut_before_redaction() {
    let http = Http::new(HttpSettings::default()).unwrap();
    http.remember(&Secret::new(CANARY));
    let said = http.redact(&format!("{CANARY} {}", "x ".repeat(50_000)));
    assert!(said.starts_with("*** x x"), "{said}");
    assert!(said.len() <= 4096, "{}", said.len());
}

/// A long-running process gets a new token every few seconds.
#[test]
fn unused_secrets_are_forgotten() {
    let http = Http::new(HttpSettings::default()).unwrap();
    let in_use = Secret::new("0canary0-in-use");
    let token = |n: usize| Secret::new(format!("canary-of-a-minute-{n:05}-"));
    for n in 0..1_500 {
        http.remember(&token(n));
        http.remember(&in_use);
    }
    let is_known = |secret: &Secret| !http.redact(secret.expose()).contains("canary");
    let known = (0..1_500).filter(|n| is_known(&token(*n))).count();
    assert_eq!(known, 999);
    assert!(is_known(&in_use) && is_known(&token(1_499)));
    let split = "title: 0canary0-\u{200b}in-use";
    assert_eq!(http.redact(split), "title: ***");
}
