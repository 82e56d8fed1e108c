//! Tokens, scopes, single sign-on and rate limits; no token is ever shown.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use forge_core::Secret;
use forge_core::{Action, Call, ErrorKind, Param, Result, model::PrFields};
use forge_github::{FixedToken, TokenSource};
use forge_testkit::CANARY;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, Step, TOKEN, answer, body, data, error},
    wire::{changed, one, pull, user},
};

fn refused(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({ "message": message }))
}

fn viewer(answer_: ResponseTemplate) -> Step {
    answer("Viewer", answer_)
}

#[tokio::test]
async fn missing_token_sends_no_request() {
    let script = Script::with_token(vec![], Arc::new(FixedToken::none())).await;
    let e = script.repo.viewer().await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Unauthenticated { host } if host == "github.com"));
    let login = Action::new(Call::Login).with(Param::Host, "github.com");
    assert_eq!(e.hint().unwrap().action(), Some(&login));
    script.sent();
}

/// A token source that returns `old`, and returns `new` once `old` was refused.
#[derive(Debug, Default)]
struct Expiring {
    asked: AtomicUsize,
    renewed: AtomicUsize,
}

#[async_trait]
impl TokenSource for Expiring {
    async fn token(&self, _: &str) -> Result<Option<Secret>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Secret::new("0canary0-old")))
    }
    async fn renewed(&self, _: &str, refused: &Secret) -> Result<Option<Secret>> {
        self.renewed.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Secret::new("0canary0-new")).filter(|_| refused.expose() == "0canary0-old"))
    }

    fn origin(&self, host: &str) -> Option<String> {
        Some(format!("the drawer of {host}"))
    }
}

#[tokio::test]
async fn expired_token_is_renewed_once() {
    let tokens = Arc::new(Expiring::default());
    let script = Script::with_token(
        vec![
            viewer(refused(401, "Bad credentials")),
            data("Viewer", json!({ "viewer": user("ada") })),
            data("Viewer", json!({ "viewer": user("ada") })),
            viewer(refused(401, "Bad credentials")),
        ],
        tokens.clone(),
    )
    .await;
    script.repo.viewer().await.unwrap();
    script.repo.viewer().await.unwrap();
    let e = script.repo.viewer().await.unwrap_err();
    assert_eq!(e.code(), "unauthenticated");
    assert_eq!(
        e.message(),
        "github.com refused the token from the drawer of github.com: Bad credentials"
    );
    assert_eq!(
        (
            tokens.asked.load(Ordering::SeqCst),
            tokens.renewed.load(Ordering::SeqCst)
        ),
        (1, 2)
    );
    script.sent();
}

#[tokio::test]
async fn sso_error_has_url() {
    let url = "https://github.com/orgs/octo/sso?authorization_request=x";
    let sso = refused(403, "Resource protected by organization SAML enforcement.")
        .insert_header("x-github-sso", format!("required; url={url}").as_str());
    let script = Script::play(vec![viewer(sso)]).await;
    let e = script.repo.viewer().await.unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::PermissionDenied { sso_url: Some(u), .. } if u == url));
    assert!(e.hint().unwrap().text().contains(url));
    script.sent();
}

#[tokio::test]
async fn missing_scope_is_named() {
    let message = "Your token has not been granted the required scopes to execute this query. The 'name' field requires one of the following scopes: ['read:user'], but your token has only been granted the: [''] scopes.";
    let script = Script::play(vec![body(
        "Viewer",
        json!({ "errors": [error(&["viewer", "name"], "INSUFFICIENT_SCOPES", message)] }),
    )])
    .await;
    let e = script.repo.viewer().await.unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::PermissionDenied { missing, .. } if *missing == ["read:user"])
    );
    assert!(e.hint().unwrap().text().contains("read:user"));
    script.sent();
}

fn limit(kind: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "errors": [{ "type": kind, "message": "API rate limit exceeded for user ID 1." }] }))
}

#[tokio::test]
async fn short_rate_limit_in_body_is_waited_for() {
    for kind in ["RATE_LIMITED", "RATE_LIMIT"] {
        let script = Script::play(vec![
            viewer(limit(kind).insert_header("retry-after", "5")),
            data("Viewer", json!({ "viewer": user("ada") })),
        ])
        .await;
        script.repo.viewer().await.unwrap();
        script.sent();

        let script = Script::play(vec![viewer(
            limit(kind).insert_header("retry-after", "3600"),
        )])
        .await;
        let e = script.repo.viewer().await.unwrap_err();
        assert_eq!(e.code(), "rate_limited");
        assert!(e.hint().unwrap().text().contains("3600 s"));
        script.sent();
    }
}

#[tokio::test]
async fn rate_limited_write_is_sent_again() {
    let script = Script::play(vec![
        data("PullView", one(pull(7))),
        answer(
            "closePullRequest",
            limit("RATE_LIMITED").insert_header("retry-after", "1"),
        ),
        answer(
            "closePullRequest",
            refused(403, "You have exceeded a secondary rate limit")
                .insert_header("retry-after", "1"),
        ),
        data(
            "closePullRequest",
            json!({ "change": { "pullRequest": changed(7, json!({ "state": "CLOSED" })) } }),
        ),
    ])
    .await;
    script
        .repo
        .close(&script.pr(), &Default::default())
        .await
        .unwrap();
    script.sent();
}

#[tokio::test]
async fn remaining_rate_limit_is_reported() {
    let answer_ = ResponseTemplate::new(200)
        .set_body_json(json!({ "data": { "viewer": user("ada") } }))
        .insert_header("x-ratelimit-limit", "5000")
        .insert_header("x-ratelimit-remaining", "4321")
        .insert_header("x-ratelimit-reset", "1790000000")
        .insert_header("x-ratelimit-resource", "graphql");
    let script = Script::play(vec![viewer(answer_)]).await;
    script.repo.viewer().await.unwrap();
    assert_eq!(script.forge.rate_limits()[0].remaining, 4321);
    script.sent();
}

#[tokio::test]
async fn token_in_server_message_is_redacted() {
    let echo = &format!("the token {TOKEN} is bad, and so is ghp_{CANARY}{CANARY}");
    for step in [
        viewer(refused(401, echo)),
        viewer(refused(403, echo)),
        viewer(refused(422, echo)),
        viewer(refused(500, echo)),
        body(
            "Viewer",
            json!({ "errors": [error(&["viewer"], "FORBIDDEN", echo)] }),
        ),
        body(
            "Viewer",
            json!({ "errors": [error(&["viewer"], "NOT_FOUND", echo)] }),
        ),
        answer(
            "Viewer",
            ResponseTemplate::new(200).set_body_string(format!("{{\"data\": {TOKEN}")),
        ),
    ] {
        let script = Script::play(vec![step]).await;
        let e = script.repo.viewer().await.unwrap_err();
        let said = format!(
            "{e} {e:?} {:?} {:?} {:?}",
            e.hint(),
            e.context(),
            script.forge
        );
        assert!(!said.contains(CANARY), "{}", said.replace(CANARY, "(it)"));
    }
}

#[tokio::test]
async fn token_with_line_break_is_refused_without_echo() {
    let broken = Arc::new(FixedToken::new(format!("{CANARY}\ntoken")));
    let script = Script::with_token(vec![], broken).await;
    let e = script
        .repo
        .pull(&script.pr(), PrFields::NONE)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "unauthenticated");
    assert!(!format!("{e} {e:?}").contains(CANARY));
    script.sent();
}
