//! Opens a pull request from whole-file edits with two requests.

use forge_core::{
    Action, Op, Param, Retry,
    model::{CreatePull, FileEdit, PushEdits},
};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::{
    create::prepared,
    script::{Script, body, data, error, gateway},
    wire::{changed, pull},
};

/// The blob id of the content "old\n".
const OLD: &str = "3367afdbbf91e638efe983616377c60477cc6612";

/// Edits of a branch that has the files `a.txt`, `gone.txt` and the executable `run.sh`.
pub fn edits() -> CreatePull {
    let mut req = CreatePull::new("edit", "Edit some files");
    req.edits = vec![
        FileEdit::write("a.txt", "new\n"),
        FileEdit::delete("gone.txt"),
        FileEdit::write("run.sh", vec![0xff, 0]),
        FileEdit::write("docs/new.md", ""),
    ];
    req
}

pub fn there(more: Value) -> Value {
    let file = |mode: u32, oid: &str| json!({ "mode": mode, "oid": oid });
    let mut target = json!({
        "oid": "b".repeat(40),
        "file0": file(0o100_644, OLD), "file1": file(0o100_644, OLD),
        "file2": file(0o100_755, OLD), "file3": null, "file4": null,
    });
    for (key, value) in more.as_object().unwrap() {
        target[key] = value.clone();
    }
    prepared(json!({ "repository": { "headRef": null, "onto": { "target": target } } }))
}

fn made() -> Value {
    json!({
        "branch": { "ref": { "id": "REF_9" } },
        "commit": { "commit": { "oid": "a".repeat(40) } },
        "create": { "pullRequest": changed(
            7,
            json!({ "title": "Edit some files", "headRefName": null }),
        ) },
    })
}

#[tokio::test]
async fn pull_from_edits_is_created_by_one_document() {
    let script = Script::play(vec![
        data("CreatePrepare", there(json!({}))),
        data("createRef", made()),
    ])
    .await;
    let made = script.repo.create_pull(&edits()).await.unwrap();
    assert!(made.warnings.is_empty() && made.steps.is_empty());
    assert_eq!(made.value.number, Some(7));
    let order: Vec<_> = ["createRef(", "createCommitOnBranch(", "createPullRequest("]
        .iter()
        .map(|name| script.documents()[1].find(name).unwrap())
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_json_snapshot!("edits", script.sent());
}

#[tokio::test]
async fn branch_for_edits_is_named_after_title() {
    let script = Script::play(vec![
        data("CreatePrepare", there(json!({}))),
        data("createRef", made()),
    ])
    .await;
    let mut req = edits();
    req.head = forge_core::model::HeadRef::branch("");
    script.repo.create_pull(&req).await.unwrap();
    let sent = script.sent();
    let name = sent[1].1["create"]["headRefName"].as_str().unwrap();
    assert!(name.starts_with("edit-some-files-"), "{name}");
    assert_eq!(sent[1].1["branch"]["name"], format!("refs/heads/{name}"));
    assert_eq!(sent[1].1["commit"]["branch"]["branchName"], name);
    assert_eq!(sent[0].1["head"], name);
}

#[tokio::test]
async fn edits_on_branch_require_expected_head() {
    let commit = json!({ "m": { "commit": { "oid": "a".repeat(40) } } });
    let script = Script::play(vec![
        data("PushPrepare", there(json!({}))),
        data("createCommitOnBranch", commit),
        data("PushPrepare", there(json!({ "oid": "c".repeat(40) }))),
    ])
    .await;
    let message = "Edit some files\n\nWhy.";
    let push = PushEdits::new("work", "b".repeat(40), message, edits().edits);
    let made = script.repo.push_edits(&push).await.unwrap();
    assert_eq!(made.value.oid, "a".repeat(40));
    let moved = script.repo.push_edits(&push).await.unwrap_err();
    assert_eq!(moved.code(), "conflict");
    let sent = script.sent();
    let input = &sent[1].1["m"];
    assert_eq!(input["expectedHeadOid"], "b".repeat(40));
    assert_eq!(input["branch"]["branchName"], "work");
    assert_eq!(input["message"]["body"], "Why.");
    assert_eq!(input["fileChanges"]["additions"][0]["path"], "a.txt");
}

#[tokio::test]
async fn edits_conflicting_with_base_are_refused_before_writes() {
    let executable = |path: &str, executable| {
        let mut req = edits();
        req.edits = vec![FileEdit::write(path, "x").with_executable(executable)];
        req
    };
    let entry = |mode: u32| json!({ "file0": { "mode": mode, "oid": OLD } });
    let one = |edit: FileEdit| {
        let mut req = edits();
        req.edits = vec![edit];
        req
    };
    for (part, req, said) in [
        (
            entry(0o100_644),
            one(FileEdit::write("a.txt", "old\n")),
            "change nothing",
        ),
        (
            json!({ "file0": null }),
            one(FileEdit::delete("a.txt")),
            "no such file",
        ),
        (
            entry(0o040_000),
            one(FileEdit::write("src", "x")),
            "is a directory",
        ),
        (
            entry(0o120_000),
            one(FileEdit::write("link", "x")),
            "symbolic link",
        ),
        (
            json!({ "file0": null }),
            executable("new.sh", true),
            "to an executable file",
        ),
        (
            entry(0o100_755),
            executable("run.sh", false),
            "to a plain file",
        ),
        (
            json!({ "file0": null, "file1": { "mode": 0o100_644, "oid": OLD } }),
            one(FileEdit::write("a.txt/b", "x")),
            "conflict with 'a.txt'",
        ),
    ] {
        let script = Script::play(vec![data("CreatePrepare", there(part))]).await;
        let e = script.repo.create_pull(&req).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains(said) && e.hint().is_some(), "{e:?}");
        script.sent();
    }
}

#[tokio::test]
async fn edits_to_existing_branch_are_refused_before_writes() {
    let mut answer = there(json!({}));
    answer["repository"]["headRef"] = json!({ "id": "REF_1", "name": "edit" });
    let script = Script::play(vec![data("CreatePrepare", answer)]).await;
    let e = script.repo.create_pull(&edits()).await.unwrap_err();
    assert!(e.message().contains("'edit' already exists"), "{e}");
    script.sent();
}

#[tokio::test]
async fn invalid_edits_are_not_sent() {
    let script = Script::play(vec![]).await;
    let mut outside = edits();
    outside.edits = vec![FileEdit::write("../x", "x")];
    let mut range = edits();
    range.head = forge_core::model::HeadRef::branch("a..b");
    let mut fork = edits();
    fork.head.owner = Some("grace".into());
    for req in [outside, range, fork] {
        assert_eq!(
            script.repo.create_pull(&req).await.unwrap_err().code(),
            "invalid_input"
        );
    }
    script.sent();
}

/// Returns the answer if one mutation failed, so that the later mutations failed as well.
fn half(done: &[&str], kind: &str, message: &str) -> Value {
    let mut answer = json!({ "data": made(), "errors": [] });
    let mut errors = vec![];
    for alias in ["branch", "commit", "create"] {
        if !done.contains(&alias) {
            answer["data"][alias] = Value::Null;
            let message = if errors.is_empty() {
                message
            } else {
                "No commits between main and edit"
            };
            let kind = if errors.is_empty() {
                kind
            } else {
                "UNPROCESSABLE"
            };
            errors.push(error(&[alias], kind, message));
        }
    }
    answer["errors"] = Value::Array(errors);
    answer
}

#[tokio::test]
async fn branch_for_edits_is_deleted_after_failed_create() {
    let failed = half(
        &["branch"],
        "STALE_DATA",
        "Expected branch to point to \"x\" but it did not. Pull and try again.",
    );
    let script = Script::play(vec![
        data("CreatePrepare", there(json!({}))),
        body("createRef", failed),
        data("deleteRef", json!({ "m": { "clientMutationId": null } })),
    ])
    .await;
    let e = script.repo.create_pull(&edits()).await.unwrap_err();
    assert_eq!(e.code(), "conflict");
    assert_eq!(script.sent()[2].1, json!({ "m": { "refId": "REF_9" } }));
}

#[tokio::test]
async fn error_names_the_branch_left_by_failed_create() {
    let failed = half(
        &["branch", "commit"],
        "UNPROCESSABLE",
        "Draft pull requests are not supported in this repository.",
    );
    let mut kept = json!({ "data": { "m": null } });
    kept["errors"] = json!([error(
        &["m"],
        "FORBIDDEN",
        "Resource not accessible by integration"
    )]);
    let script = Script::play(vec![
        data("CreatePrepare", there(json!({}))),
        body("createRef", failed),
        body("deleteRef", kept),
    ])
    .await;
    let e = script.repo.create_pull(&edits()).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed");
    assert!(
        e.message()
            .contains("the new branch 'edit' was created and still exists"),
        "{e}"
    );
    let hint = e.hint().unwrap();
    assert!(hint.text().contains("git push"), "{hint}");
    let open = Action::op(Op::PrCreate)
        .with(Param::Head, "edit")
        .with(Param::Title, "Edit some files");
    assert_eq!(hint.action(), Some(&open));
    script.sent();
}

#[tokio::test]
async fn edits_fail_if_branch_creation_is_refused() {
    let failed = half(
        &[],
        "FORBIDDEN",
        "ada does not have the correct permissions to execute `CreateRef`",
    );
    let script = Script::play(vec![
        data("CreatePrepare", there(json!({}))),
        body("createRef", failed),
    ])
    .await;
    let e = script.repo.create_pull(&edits()).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    script.sent();
}

#[tokio::test]
async fn edits_with_lost_answer_are_read_back() {
    let list = |rows: Vec<Value>| {
        data(
            "PullList",
            json!({ "repository": { "pullRequests": { "nodes": rows } } }),
        )
    };
    let mut opened = pull(7);
    opened["headRefName"] = json!("edit");
    let there = || data("CreatePrepare", there(json!({})));

    let script = Script::play(vec![there(), gateway("createRef"), list(vec![opened])]).await;
    let made = script.repo.create_pull(&edits()).await.unwrap();
    assert_eq!((made.value.number, made.warnings.len()), (Some(7), 1));
    script.sent();

    for (found, left) in [(json!({ "id": "REF_9" }), true), (Value::Null, false)] {
        let branch = data("Branch", json!({ "repository": { "ref": found } }));
        let script = Script::play(vec![there(), gateway("createRef"), list(vec![]), branch]).await;
        let e = script.repo.create_pull(&edits()).await.unwrap_err();
        assert_eq!(e.retry(), Retry::Ambiguous);
        assert_eq!(e.message().contains("still exists"), left, "{e}");
        script.sent();
    }
}
