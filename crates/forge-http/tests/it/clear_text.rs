//! Limits on clear text, and the use of proxies.

use bytes::Bytes;
use forge_http::{Http, HttpSettings, Proxies, RetryPolicy};
use http::Request;

use crate::double::{Double, answer};

fn http(vars: &[(&str, &str)]) -> Http {
    let get = |name: &str| {
        vars.iter()
            .find(|(k, _)| *k == name)
            .map(|(_, v)| (*v).to_owned())
    };
    let proxies = Proxies::from_env(&get).unwrap();
    Http::new(HttpSettings {
        proxies,
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap()
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url)
        .header("authorization", "token canary-canary")
        .body(Bytes::new())
        .unwrap()
}

#[tokio::test]
async fn clear_text_http_reaches_only_this_machine() {
    for (vars, url) in [
        (&[][..], "http://api.github.com/graphql"),
        (&[], "http://10.0.0.1/"),
        (&[], "http://localhost.example/"),
        (
            &[("HTTP_PROXY", "http://proxy.example:8080")],
            "http://api.github.localhost/",
        ),
        (
            &[("HTTPS_PROXY", "http://127.0.0.1:1")],
            "http://api.github.com/",
        ),
        (
            &[
                ("HTTP_PROXY", "http://127.0.0.1:1"),
                ("NO_PROXY", "a.example"),
            ],
            "http://a.example/",
        ),
        (&[], "ftp://localhost/"),
    ] {
        let error = http(vars).send(get(url)).await.unwrap_err();
        assert_eq!(error.code(), "config", "{url}");
        assert!(error.message().contains("clear text"), "{url}: {error}");
    }
}

#[tokio::test]
async fn subdomains_of_localhost_are_this_machine() {
    let double = Double::start(vec![answer("200 OK", "", "")]).await;
    let port = double.url.rsplit(':').next().unwrap();
    let url = format!("http://api.github.localhost:{port}/x");
    assert_eq!(
        http(&[]).send(get(&url)).await.unwrap().status().as_u16(),
        200
    );
    assert_eq!(double.count(), 1);
}

#[tokio::test]
async fn local_proxy_gets_absolute_url() {
    let double = Double::start(vec![answer("200 OK", "", "")]).await;
    let http = http(&[("http_proxy", double.url.as_str())]);
    for url in [
        "http://api.github.localhost/graphql",
        "http://anything.example/x?y=1",
    ] {
        assert_eq!(http.send(get(url)).await.unwrap().status().as_u16(), 200);
    }
    let heads = double.heads();
    assert!(
        heads[0].starts_with("GET http://api.github.localhost/graphql HTTP/1.1"),
        "{}",
        heads[0]
    );
    assert!(
        heads[1].starts_with("GET http://anything.example/x?y=1 HTTP/1.1"),
        "{}",
        heads[1]
    );
}

#[tokio::test]
async fn https_proxy_tunnel_gets_no_credentials() {
    let double = Double::start(vec![answer("403 Forbidden", "", "")]).await;
    let http = http(&[("HTTPS_PROXY", double.url.as_str())]);
    let error = http
        .send(get("https://api.github.com/graphql"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "network");
    let heads = double.heads();
    assert!(
        heads[0].starts_with("CONNECT api.github.com:443 HTTP/1.1"),
        "{}",
        heads[0]
    );
    assert!(heads.iter().all(|h| !h.contains("canary")));
}
