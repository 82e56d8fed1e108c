//! A GitHub Enterprise host that returns lists without an end.

use forge_github_double::Fault;
use serde_json::json;

use crate::hub::{Hub, REPO};

/// Returns a page of labels with long names. Its cursor differs from the previous page's cursor.
fn labels(cursor: &str) -> String {
    let label =
        |n| json!({ "id": format!("LA_{n}"), "name": "x".repeat(10_000), "color": "aaaaaa" });
    let nodes: Vec<_> = (0..100).map(label).collect();
    let end = json!({ "hasNextPage": true, "endCursor": cursor });
    let list = json!({ "totalCount": 1_000_000, "nodes": nodes, "pageInfo": end });
    json!({ "data": { "repository": { "labels": list } } }).to_string()
}

#[test]
fn endless_label_list_is_cut_with_warning() {
    let hub = Hub::new();
    let kind = [("content-type", "application/json")];
    let mut second = Fault::answer(200, &kind, labels("c2")).on_operation("Labels");
    second.on.body = Some("\"c1\"".to_owned());
    hub.double.fault(second.always());
    let first = Fault::answer(200, &kind, labels("c1")).on_operation("Labels");
    hub.double.fault(first.always());
    let out = hub
        .forge(&["label", "list", "-R", REPO, "-L", "3"])
        .output();
    assert_eq!(out.stdout_text().lines().count(), 3);
    let said = out.stderr_text();
    assert!(said.contains("the list is incomplete"), "{said}");
    assert!(said.contains("more than 32 MiB"), "{said}");
}

#[test]
fn endless_list_of_long_file_names_is_refused() {
    let hub = Hub::with_pull();
    let file = json!({
        "sha": "1111111111111111111111111111111111111111", "filename": "x".repeat(10_000),
        "status": "modified", "additions": 1, "deletions": 0, "patch": "@@ -0,0 +1 @@\n+x",
    });
    let files = json!(vec![file; 100]).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("link", "<https://github.localhost/x?page=2>; rel=\"next\""),
    ];
    let path = format!("/repos/{REPO}/pulls/1/files");
    let endless = Fault::answer(200, &headers, files);
    hub.double.fault(endless.on_path(&path).always());
    let out = hub
        .forge(&["pr", "diff", "1", "-R", REPO, "--stat"])
        .output();
    assert_ne!(out.code, Some(0));
    let said = out.stderr_text();
    assert!(said.contains("take more than 32 MiB"), "{said}");
    assert!(said.contains("--name-only"), "{said}");
    assert_eq!(out.stdout_text(), "");
}

#[test]
fn oversized_text_is_refused_with_the_limit() {
    let hub = Hub::with_pull();
    let pull = json!({ "number": 1, "body": "x".repeat(9 << 20) });
    let answer = json!({ "data": { "repository": { "pullRequest": pull } } });
    let kind = [("content-type", "application/json")];
    let long = Fault::answer(200, &kind, answer.to_string()).on_operation("PullView");
    hub.double.fault(long.always());
    for args in [
        &["pr", "view", "1", "-R", REPO][..],
        &["pr", "view", "1", "-R", REPO, "--json", "body"],
    ] {
        let out = hub.forge(args).output();
        assert_eq!((out.code, out.stdout_text().as_str()), (Some(1), ""));
        let said = out.stderr_text();
        assert!(
            said.contains("sent more than 8 MiB in one answer"),
            "{said}"
        );
        assert!(said.contains("ask for less at once"), "{said}");
    }
}
