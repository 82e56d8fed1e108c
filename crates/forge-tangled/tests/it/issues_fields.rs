//! Fields of issues: labels with values, their definitions, and hostile values.

use std::collections::BTreeMap;

use forge_core::{
    Action, Call, Issues, Labels, Op, PageReq,
    model::{
        BoardId, EditIssue, Issue, IssueField, IssueFields, IssueQuery, NewIssue, NewLabel,
        SetChange,
    },
};
use forge_tangled::Tangled;
use forge_tangled_world::Fault;
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage, action};

const OP: &str = "sh.tangled.label.op";
const DEFINITION: &str = "sh.tangled.label.definition";

pub fn field(name: &str, options: &[&str]) -> IssueField {
    IssueField::new(name, options.iter().map(|o| (*o).to_owned()).collect())
}

async fn define(stage: &Stage, forge: &Tangled, name: &str, options: &[&str]) -> IssueField {
    let wanted = field(name, options);
    let defined = forge.define_issue_field(stage.repo_id(), None, &wanted);
    defined.await.unwrap().value
}

fn setting(values: &[(&str, Option<&str>)]) -> EditIssue {
    let values = values.iter();
    let mut edit = EditIssue::default();
    edit.values = values
        .map(|(f, v)| ((*f).to_owned(), v.map(str::to_owned)))
        .collect();
    edit
}

async fn open(stage: &Stage, forge: &Tangled) -> Issue {
    let new = NewIssue::new("One", "");
    let made = forge.create_issue(stage.repo_id(), &new).await;
    made.unwrap().value
}

/// Returns Alice's label definitions with that name.
fn definitions(stage: &Stage, name: &str) -> Vec<Value> {
    let all = stage.world.pds().records(&stage.alice.did, DEFINITION);
    let mut values: Vec<Value> = all.into_iter().map(|(_, _, value)| value).collect();
    values.retain(|value| value["name"] == name);
    values
}

fn ops(stage: &Stage, did: &str) -> usize {
    stage.world.pds().records(did, OP).len()
}

#[tokio::test]
async fn field_definition_is_string_with_enum() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let state = field("state", &["Todo", " Doing ", "Todo"]);
    let defined = forge.define_issue_field(stage.repo_id(), None, &state);
    let defined = defined.await.unwrap();
    assert_eq!(defined.ingestion.word(), "confirmed");
    assert_eq!(defined.value, field("state", &["Todo", "Doing"]));
    let [written] = definitions(&stage, "state").try_into().unwrap();
    assert_eq!(
        written["valueType"],
        json!({"type": "string", "format": "any", "enum": ["Todo", "Doing"]})
    );
    assert_eq!(written["scope"], json!(["sh.tangled.repo.issue"]));
    assert_eq!(written["multiple"], false);
    let fields = forge.issue_fields(stage.repo_id(), None).await.unwrap();
    assert_eq!(fields, [field("state", &["Todo", "Doing"])]);
}

#[tokio::test]
async fn added_field_options_keep_existing_options() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    define(&stage, &forge, "state", &["Todo", "Doing"]).await;
    let more = define(&stage, &forge, "STATE", &["Done", "Todo"]).await;
    assert_eq!(more.options, ["Todo", "Doing", "Done"]);
    let done = field("state", &["Done"]);
    let again = forge.define_issue_field(stage.repo_id(), None, &done);
    let again = again.await.unwrap();
    assert!(again.unchanged, "{again:?}");
    assert_eq!(again.value.options, ["Todo", "Doing", "Done"]);
    let [written] = definitions(&stage, "state").try_into().unwrap();
    assert_eq!(
        written["valueType"]["enum"],
        json!(["Todo", "Doing", "Done"])
    );
}

#[tokio::test]
async fn field_of_wrong_kind_or_owner_is_refused() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    define(&stage, &forge, "state", &["Todo"]).await;
    define(&stage, &forge, "note", &[]).await;
    for (wanted, why) in [
        (field("assignee", &["a"]), "does not take one text"),
        (field("state", &[]), "takes only one of its options"),
        (field("note", &["a"]), "takes any text"),
        (field("parent", &["a"]), "is a relation"),
        (field(" ", &["a"]), "1 to 40 characters"),
        (field("x", &["a", " "]), "an option cannot be empty"),
        (field("x", &[""]), "an option cannot be empty"),
        (field("x", &["a\nb"]), "control character"),
    ] {
        let e = forge
            .define_issue_field(stage.repo_id(), None, &wanted)
            .await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{e}");
        assert!(e.message().contains(why), "{e}");
    }
    let bob = stage.tangled(&stage.bob);
    let other = field("x", &["a"]);
    let e = bob.define_issue_field(stage.repo_id(), None, &other);
    assert_eq!(e.await.unwrap_err().code(), "permission_denied");
    let board = BoardId {
        owner: "octo".to_owned(),
        number: 1,
    };
    let e = forge.issue_fields(stage.repo_id(), Some(&board)).await;
    assert_eq!(e.unwrap_err().code(), "unsupported");
    assert_eq!(definitions(&stage, "x").len(), 0);
}

#[tokio::test]
async fn options_of_a_field_have_no_limit() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let mut options: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    options.push("x".repeat(101));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    define(&stage, &forge, "state", &options).await;
    let [written] = definitions(&stage, "state").try_into().unwrap();
    assert_eq!(written["valueType"]["enum"], json!(options));
}

#[tokio::test]
async fn interrupted_field_definition_is_resumed() {
    let stage = Stage::new();
    let fault = Fault::error(400, "InvalidRequest", "no");
    let put = fault.on("com.atproto.repo.putRecord");
    stage.world.pds().host().fault(put);
    let forge = stage.tangled(&stage.alice);
    let state = field("state", &["Todo"]);
    let e = forge
        .define_issue_field(stage.repo_id(), None, &state)
        .await;
    let e = e.unwrap_err();
    assert!(
        e.message()
            .starts_with("the definition of 'state' is written"),
        "{e}"
    );
    stage.world.pds().host().clear_faults();
    define(&stage, &forge, "state", &["Todo"]).await;
    assert_eq!(definitions(&stage, "state").len(), 1);
}

#[tokio::test]
async fn label_with_values_is_defined_and_extended() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let label = |name: &str, values: &[&str]| {
        let mut label = NewLabel::new(name);
        label.values = values.iter().map(|v| (*v).to_owned()).collect();
        label.overwrite = true;
        label
    };
    forge
        .define_label(stage.repo_id(), &label("size", &["s"]))
        .await
        .unwrap();
    forge
        .define_label(stage.repo_id(), &label("size", &["m"]))
        .await
        .unwrap();
    let [written] = definitions(&stage, "size").try_into().unwrap();
    assert_eq!(written["valueType"]["enum"], json!(["s", "m"]));
    let scope = json!(["sh.tangled.repo.pull", "sh.tangled.repo.issue"]);
    assert_eq!(written["scope"], scope);
    forge
        .define_label(stage.repo_id(), &label("bug", &[]))
        .await
        .unwrap();
    let e = forge
        .define_label(stage.repo_id(), &label("bug", &["s"]))
        .await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    assert!(e.message().contains("takes no values"), "{e}");
}

#[tokio::test]
async fn values_are_set_replaced_and_cleared() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    define(&stage, &forge, "state", &["Todo", "Doing"]).await;
    define(&stage, &forge, "size", &["s", "m"]).await;
    let mut new = NewIssue::new("One", "");
    new.values = BTreeMap::from([("state".to_owned(), "todo".to_owned())]);
    let made = forge.create_issue(stage.repo_id(), &new).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    let id = made.value.id;
    assert_eq!(made.value.values["state"], "Todo");
    assert_eq!(made.value.labels[0].name, "state:Todo");

    let edit = setting(&[("State", Some("Doing")), ("size", Some("s"))]);
    let edited = forge.edit_issue(&id, &edit).await.unwrap();
    assert_eq!(edited.value.values["state"], "Doing");
    assert_eq!(edited.value.values["size"], "s");
    assert_eq!(ops(&stage, &stage.alice.did), 2);

    let again = forge.edit_issue(&id, &edit).await.unwrap();
    assert!(again.unchanged, "{again:?}");
    assert_eq!(ops(&stage, &stage.alice.did), 2);

    let cleared = forge
        .edit_issue(&id, &setting(&[("state", None)]))
        .await
        .unwrap();
    assert_eq!(cleared.value.values.keys().collect::<Vec<_>>(), ["size"]);
    let records = stage.world.pds().records(&stage.alice.did, OP);
    let newest = records.iter().max_by_key(|(uri, ..)| uri.clone()).unwrap();
    // The index also checks the value of a removal.
    assert_eq!(newest.2["delete"][0]["value"], "Doing");
    let none = forge
        .edit_issue(&id, &setting(&[("state", None)]))
        .await
        .unwrap();
    assert!(none.unchanged);
    let view = stage
        .tangled(&stage.bob)
        .issue(&id, &IssueFields::NONE)
        .await;
    assert_eq!(
        view.unwrap().values,
        BTreeMap::from([("size".into(), "s".into())])
    );
}

#[tokio::test]
async fn unknown_field_or_option_lists_valid_names() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let issue = open(&stage, &forge).await;
    let refused = async |values: &[(&str, Option<&str>)]| {
        forge
            .edit_issue(&issue.id, &setting(values))
            .await
            .unwrap_err()
    };
    let define_first = |e: &forge_core::Error| {
        assert_eq!(e.hint().unwrap().text(), "define the field first");
        assert_eq!(action(e), &Action::op(Op::IssueFieldDefine));
        assert_eq!(action(e).call(), Call::Op(Op::IssueFieldDefine));
    };
    let e = refused(&[("state", Some("Todo"))]).await;
    assert_eq!(
        e.message(),
        "the field 'state' is not defined in this repository"
    );
    define_first(&e);
    define(&stage, &forge, "state", &["Todo", "Doing"]).await;
    for (values, why, hint) in [
        (
            [("stat", Some("Todo"))],
            "its fields are state",
            "did you mean 'state'?",
        ),
        (
            [("phase", Some("Todo"))],
            "its fields are state",
            "define the field first",
        ),
        (
            [("parent", Some("x"))],
            "is a relation",
            "pass the issues as a relation",
        ),
        (
            [("assignee", Some("x"))],
            "'assignee' is not defined",
            "define the field first",
        ),
        (
            [("state", Some("Doin"))],
            "its options are Todo, Doing",
            "did you mean 'Doing'?",
        ),
        ([("state", Some(""))], "has no option ''", "the options are"),
    ] {
        let e = refused(&values).await;
        assert_eq!(e.code(), "invalid_input", "{e}");
        assert!(e.message().contains(why), "{e}");
        assert!(e.hint().unwrap().text().contains(hint), "{:?}", e.hint());
    }
    assert_eq!(ops(&stage, &stage.alice.did), 0);
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let carol = stage.tangled(&carol);
    let e = carol
        .edit_issue(&issue.id, &setting(&[("state", Some("Todo"))]))
        .await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
}

#[tokio::test]
async fn hostile_field_values_are_text_or_ignored() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    define(&stage, &forge, "state", &["Todo", "Doing"]).await;
    define(&stage, &forge, "note", &[]).await;
    let issue = open(&stage, &forge).await;
    let doing = setting(&[("state", Some("Doing"))]);
    forge.edit_issue(&issue.id, &doing).await.unwrap();
    let uri = |name: &str| {
        let all = stage.world.pds().records(&stage.alice.did, DEFINITION);
        let found = all.into_iter().find(|(_, _, value)| value["name"] == name);
        found.unwrap().0
    };
    let (state, note) = (uri("state"), uri("note"));
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let long = "\u{1b}[31m\u{202e}x".repeat(2_000);
    let operands = |values: &[(&str, &str)]| -> Value {
        let values = values.iter();
        values
            .map(|(key, value)| json!({"key": key, "value": value}))
            .collect()
    };
    let put = |did: &str, key: &str, add: Value, at: &str| {
        let op = json!({
            "subject": issue.node_id, "performedAt": at, "add": add, "delete": [],
        });
        stage.world.pds().put(did, OP, key, op);
    };
    // Operations by a stranger, with malformed operands, and with a time in the far future.
    put(
        &carol.did,
        "3mkuuamwfj322",
        operands(&[(&state, "Todo")]),
        "2026-11-01T00:00:00Z",
    );
    put(
        &stage.bob.did,
        "3mkuuamwfj323",
        json!([7, {"key": state}, null]),
        "2999-01-01T00:00:00Z",
    );
    put(
        &stage.bob.did,
        "3mkuuamwfj324",
        operands(&[(&note, &long)]),
        "not a time",
    );
    let view = forge.issue(&issue.id, &IssueFields::NONE).await.unwrap();
    assert_eq!(view.values["state"], "Doing");
    assert_eq!(view.values["note"], long);
    // If two definitions have the same name, the first listed is the field.
    let twin = stage.use_label(&json!({
        "name": "State", "valueType": {"type": "string", "format": "any", "enum": ["Evil"]},
        "scope": ["sh.tangled.repo.issue"], "createdAt": "2026-06-01T00:00:00Z",
    }));
    let twin = operands(&[(&twin, "Evil")]);
    put(
        &stage.bob.did,
        "3mkuuamwfj325",
        twin,
        "2026-11-02T00:00:00Z",
    );
    let forge = stage.tangled(&stage.alice);
    let todo = setting(&[("state", Some("Todo"))]);
    let edited = forge.edit_issue(&issue.id, &todo).await.unwrap();
    assert_eq!(edited.value.values["state"], "Todo");
    assert!(edited.value.labels.iter().any(|l| l.name == "State:Evil"));
}

#[tokio::test]
async fn rows_filtered_by_label_have_values() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    define(&stage, &forge, "state", &["Todo", "Doing"]).await;
    let issue = open(&stage, &forge).await;
    open(&stage, &forge).await;
    let mut todo = EditIssue::default();
    todo.labels = SetChange {
        add: vec!["state:Todo".to_owned()],
        ..SetChange::default()
    };
    forge.edit_issue(&issue.id, &todo).await.unwrap();
    let mut query = IssueQuery::default();
    query.labels = vec!["state:todo".to_owned()];
    let page = forge
        .issues(stage.repo_id(), &query, PageReq::first(9))
        .await;
    let page = page.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].values["state"], "Todo");
}
