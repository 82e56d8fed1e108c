use forge_core::{Action, PageReq, Param, model::NewLabel};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    script::{Script, data, gateway},
    wire::{label, nodes, page},
};

fn found(label: Value) -> Value {
    json!({ "repository": { "id": "R_1", "label": label } })
}

fn new(name: &str) -> NewLabel {
    NewLabel::new(name)
}

#[tokio::test]
async fn labels_are_paged() {
    let of = |list: Value| json!({ "repository": { "labels": list } });
    let script = Script::play(vec![
        data("Labels", of(page(vec![label("a"), label("b")], "l2"))),
        data("Labels", of(nodes(vec![label("c")]))),
    ])
    .await;
    let all = script.repo.labels(PageReq::first(10)).await.unwrap();
    assert_json_snapshot!("labels", (script.sent(), all));
}

#[tokio::test]
async fn labels_are_defined_changed_and_deleted() {
    let script = Script::play(vec![
        data("Label", found(Value::Null)),
        data("createLabel", json!({ "m": { "label": label("bug") } })),
        data("Label", found(label("bug"))),
        data("updateLabel", json!({ "m": { "label": label("Bug") } })),
        data("Label", found(label("bug"))),
        data("Label", found(label("bug"))),
        data("deleteLabel", json!({ "m": {} })),
        data("Label", found(Value::Null)),
        data(
            "Labels",
            json!({ "repository": { "labels": nodes(vec![label("bag")]) } }),
        ),
    ])
    .await;
    let repo = &script.repo;
    assert_eq!(
        repo.define_label(&new("bug")).await.unwrap().value.name,
        "bug"
    );
    let mut change = new("Bug");
    change.overwrite = true;
    change.color = Some("#D73A4A".into());
    change.description = Some("x".into());
    assert_eq!(repo.define_label(&change).await.unwrap().value.name, "Bug");
    let there = repo.define_label(&new("bug")).await.unwrap_err();
    assert_eq!(there.code(), "already_exists");
    let force = Action::again(&[]).with(Param::Force, "true");
    assert_eq!(there.hint().unwrap().action(), Some(&force));
    repo.delete_label("bug").await.unwrap();
    let gone = repo.delete_label("bug").await.unwrap_err();
    assert!(gone.is_not_found() && gone.hint().map_or("", |h| h.text()).contains("bag"));
    assert_json_snapshot!("label_changes", script.sent());
}

#[tokio::test]
async fn invalid_labels_are_not_sent() {
    let script = Script::play(vec![]).await;
    let mut word = new("a");
    word.color = Some("red".into());
    let mut long = new("a");
    long.description = Some("x".repeat(101));
    for bad in [new(" "), new(&"x".repeat(51)), word, long] {
        assert_eq!(
            script.repo.define_label(&bad).await.unwrap_err().code(),
            "invalid_input"
        );
    }
    script.sent();
}

#[tokio::test]
async fn label_with_lost_answer_is_read_back() {
    let script = Script::play(vec![
        data("Label", found(Value::Null)),
        gateway("createLabel"),
        data("Label", found(label("bug"))),
        data("Label", found(label("bug"))),
        gateway("deleteLabel"),
        data("Label", found(Value::Null)),
    ])
    .await;
    assert_eq!(
        script
            .repo
            .define_label(&new("bug"))
            .await
            .unwrap()
            .warnings
            .len(),
        1
    );
    assert_eq!(
        script
            .repo
            .delete_label("bug")
            .await
            .unwrap()
            .warnings
            .len(),
        1
    );
    script.sent();
}
