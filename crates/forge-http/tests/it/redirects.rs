//! Redirects are followed, and credentials stay with their host.

use bytes::Bytes;
use forge_http::NoRedirect;
use http::Request;

use crate::{
    double::{Double, answer},
    retries::http,
};

fn request(method: &str, url: &str) -> Request<Bytes> {
    Request::builder()
        .method(method)
        .uri(url)
        .header("authorization", "token canary-canary")
        .header("cookie", "a=canary")
        .header("dpop", "canary")
        .header("private-token", "canary")
        .header("accept", "text/plain")
        .body(Bytes::new())
        .unwrap()
}

#[tokio::test]
async fn redirect_to_other_origin_drops_credentials() {
    let storage = Double::start(vec![answer("200 OK", "", "log")]).await;
    let to = format!("location: {}/signed?x=1\r\n", storage.url);
    let forge = Double::start(vec![answer("302 Found", &to, "")]).await;
    let response = http().send(request("GET", &forge.url)).await.unwrap();
    assert_eq!(response.into_body().into_bytes().unwrap(), "log");
    assert!(forge.heads()[0].contains("canary"));
    let head = &storage.heads()[0];
    assert!(
        !head.contains("canary") && head.contains("text/plain"),
        "{head}"
    );
}

#[tokio::test]
async fn redirect_within_origin_keeps_credentials() {
    let forge = Double::start(vec![
        answer("301 Moved", "location: /repositories/1\r\n", ""),
        answer("200 OK", "", ""),
    ])
    .await;
    assert_eq!(
        http()
            .send(request("GET", &forge.url))
            .await
            .unwrap()
            .status()
            .as_u16(),
        200
    );
    let head = &forge.heads()[1];
    assert!(
        head.starts_with("GET /repositories/1 ") && head.contains("token canary"),
        "{head}"
    );
}

#[tokio::test]
async fn write_is_not_redirected_to_other_origin() {
    let other = Double::start(vec![answer("200 OK", "", "")]).await;
    for (status, location, requests) in [
        ("307 Temporary", format!("{}/x", other.url), 1),
        ("302 Found", "/y".to_owned(), 1),
        ("308 Permanent", "/y".to_owned(), 2),
    ] {
        let to = format!("location: {location}\r\n");
        let forge = Double::start(vec![answer(status, &to, ""), answer("200 OK", "", "")]).await;
        http().send(request("POST", &forge.url)).await.unwrap();
        assert_eq!((forge.count(), other.count()), (requests, 0), "{status}");
    }
}

#[tokio::test]
async fn redirect_to_clear_text_or_loop_is_refused() {
    let forge = Double::start(vec![answer(
        "302 Found",
        "location: http://a.example/\r\n",
        "",
    )])
    .await;
    let error = http().send(request("GET", &forge.url)).await.unwrap_err();
    assert_eq!(error.code(), "config");
    let forge = Double::start(vec![answer("302 Found", "location: /\r\n", "")]).await;
    let error = http().send(request("GET", &forge.url)).await.unwrap_err();
    assert_eq!((error.code(), forge.count()), ("protocol", 6));
}

#[tokio::test]
async fn redirect_is_returned_if_request_forbids_following() {
    let forge = Double::start(vec![
        answer("302 Found", "location: /elsewhere\r\n", ""),
        answer("200 OK", "", ""),
    ])
    .await;
    let mut asked = request("GET", &forge.url);
    asked.extensions_mut().insert(NoRedirect);
    let response = http().send(asked).await.unwrap();
    assert_eq!(response.status().as_u16(), 302);
    assert_eq!(response.headers()["location"], "/elsewhere");
    assert_eq!(forge.heads().len(), 1);
}
