//! Attachments: a request for the repository's id, then one upload for each file.

use forge_core::{ErrorKind, model::NewAttachment};
use insta::assert_json_snapshot;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::script::{Script, Step, rest};

fn file(name: &str) -> NewAttachment {
    NewAttachment::new(name, "image/png", b"x".to_vec())
}

fn repository(status: u16) -> Step {
    let body = json!({ "id": 42, "full_name": "o/r" });
    let answer = ResponseTemplate::new(status).set_body_json(body);
    rest("GET /repos/octo/tools", answer)
}

fn upload(name: &str, answer: ResponseTemplate) -> Step {
    let query = format!("content_type=image%2Fpng&name={name}&repository_id=42");
    rest(&format!("POST /user-attachments/assets?{query}"), answer)
}

#[tokio::test]
async fn file_is_uploaded_for_repository() {
    let made = ResponseTemplate::new(201)
        .set_body_json(json!({ "url": "https://github.com/user-attachments/assets/1" }));
    let script = Script::play(vec![repository(200), upload("a%20b%2Epng", made)]).await;
    let answers = script.repo.attach(&[file("a b.png")]).await.unwrap();
    let made: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_json_snapshot!("attach", (script.sent(), made));
}

#[tokio::test]
async fn attachments_succeed_or_fail_separately() {
    for (status, wanted) in [
        (404, "may not attach files"),
        (422, "Too large"),
        (502, "502"),
    ] {
        let no = ResponseTemplate::new(status).set_body_json(json!({ "message": "Too large" }));
        let script = Script::play(vec![repository(200), upload("a%2Epng", no)]).await;
        let mut answers = script.repo.attach(&[file("a.png")]).await.unwrap();
        let error = answers.remove(0).unwrap_err();
        assert!(error.message().contains(wanted), "{error}");
        // The script would refuse a retry as an unexpected request.
        script.sent();
    }
    let silent = ResponseTemplate::new(201).set_body_json(json!({}));
    let script = Script::play(vec![repository(200), upload("a%2Epng", silent)]).await;
    let mut answers = script.repo.attach(&[file("a.png")]).await.unwrap();
    let error = answers.remove(0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Protocol) && error.hint().is_some());
}

#[tokio::test]
async fn attachments_without_repository_are_not_uploaded() {
    let script = Script::play(vec![repository(404)]).await;
    let error = script.repo.attach(&[file("a.png")]).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    script.sent();
}
