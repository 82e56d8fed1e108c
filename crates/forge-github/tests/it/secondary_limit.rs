//! The secondary rate limit, of which only the body of an answer tells: there is no `Retry-After`.

use serde_json::json;
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, Step, answer, data},
    wire::{comment, one},
};

const LIMITS: [&str; 2] = [
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    "You have triggered an abuse detection mechanism. Please wait a few minutes before you try \
     again.",
];

fn forbidden(operation: &str, message: &str) -> Step {
    let body = json!({ "message": message, "documentation_url": "https://docs.github.com" });
    answer(operation, ResponseTemplate::new(403).set_body_json(body))
}

fn read() -> Step {
    let newest = json!({ "nodes": [{ "id": "IC_0" }] });
    let pull = json!({ "id": "PR_7", "number": 7, "newestComment": newest });
    data("PullView", one(pull))
}

fn written() -> Step {
    let edge = json!({ "node": comment("IC_1", "ada", "Hello") });
    data("addComment", json!({ "m": { "commentEdge": edge } }))
}

#[tokio::test]
async fn limit_without_retry_after_is_waited_for() {
    for limit in LIMITS {
        let script = Script::play(vec![
            forbidden("PullView", limit),
            read(),
            forbidden("addComment", limit),
            written(),
        ])
        .await;
        let made = script.repo.comment(&script.pr(), "Hello", None).await;
        made.unwrap();
        // A wait is one more request.
        let names = ["PullView", "PullView", "addComment", "addComment"];
        assert_eq!(script.names(), names);
    }
}

#[tokio::test]
async fn second_limit_ends_the_waiting_and_writes_nothing() {
    for limit in LIMITS {
        let script = Script::play(vec![
            read(),
            forbidden("addComment", limit),
            forbidden("addComment", limit),
        ])
        .await;
        let made = script.repo.comment(&script.pr(), "Hello", None).await;
        let e = made.unwrap_err();
        assert_eq!(e.code(), "rate_limited", "{e:?}");
        assert!(e.message().contains("(nothing was written)"), "{e:?}");
        assert_eq!(script.names().len(), 3);
    }
}

#[tokio::test]
async fn other_refusal_is_not_waited_for() {
    let denied = "Resource not accessible by personal access token";
    let script = Script::play(vec![forbidden("PullView", denied)]).await;
    let made = script.repo.comment(&script.pr(), "Hello", None).await;
    assert_eq!(made.unwrap_err().code(), "permission_denied");
    assert_eq!(script.names(), ["PullView"]);
}
