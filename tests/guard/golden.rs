//! Tests that every method of the GitHub backend has a golden test: a snapshot of its requests and
//! of the parsed result.

use std::{collections::BTreeSet, fs};

use forge_testkit::workspace_root;

/// Rows of a trait method, the module in `forge-github/tests/it` with its test, and the snapshot.
const GOLDEN: &[(&str, &str, &str)] = &[
    ("viewer", "repos", "viewer"),
    ("repo", "repos", "repo"),
    ("branches", "repos", "branches"),
    ("create", "create", "create"),
    ("list", "lists", "list"),
    ("view", "view", "view"),
    ("find", "lists", "find"),
    ("status", "lists", "status"),
    ("edit", "edit", "edit"),
    ("close", "state", "close"),
    ("reopen", "state", "states"),
    ("update_branch", "update", "update_branch"),
    ("set_draft", "state", "states"),
    ("mergeability", "merge", "mergeability"),
    ("base_rules", "rules", "base_rules"),
    ("contents", "diff", "contents"),
    ("merge", "merge", "merge"),
    ("cancel_merge", "state", "cancel_merge"),
    ("diff", "diff", "diff"),
    ("files", "diff", "files"),
    ("commits", "view", "commit"),
    ("history", "view", "history"),
    ("comment", "comments", "comment"),
    ("edit_comment", "comments", "comment_changes"),
    ("delete_comment", "comments", "comment_changes"),
    ("comments", "comments", "comments"),
    ("reviews", "reviews", "reviews"),
    ("submit_review", "reviews", "submit_review"),
    ("threads", "reviews", "threads"),
    ("resolve_thread", "reviews", "resolve"),
    ("checks", "view", "checks"),
    ("check_log", "checks", "check_log"),
    ("check_reasons", "checks", "check_reasons"),
    ("issues", "issues", "issue_lists"),
    ("issue", "issues", "issue_view"),
    ("create_issue", "issues", "issue_writes"),
    ("edit_issue", "issues", "issue_writes"),
    ("set_issue_state", "issues", "issue_writes"),
    ("create_issue_comment", "issues", "issue_writes"),
    ("links", "links", "links"),
    ("labels", "labels", "labels"),
    ("define_label", "labels", "label_changes"),
    ("delete_label", "labels", "label_changes"),
    ("attach", "attachments", "attach"),
];

/// Methods with tests that assert the requests without a snapshot, and the module of these tests.
const ASSERTED: &[(&str, &str)] = &[
    ("branch_is_protected", "repos"),
    ("check_create", "create"),
    ("define_issue_field", "issue_edits"),
    ("delete_issue", "issue_reads"),
    ("delete_issue_comment", "issue_reads"),
    ("discard_pending_review", "reviews"),
    ("dismiss_review", "reviews"),
    ("edit_issue_comment", "issue_reads"),
    ("edit_issues", "issue_edits"),
    ("examine", "repos"),
    ("fork", "repos"),
    ("issue_fields", "issue_edits"),
    ("issue_history", "issue_reads"),
    ("list_across", "lists"),
    ("push_edits", "edits"),
    ("related_issues", "issue_edits"),
    ("repo_file", "issue_reads"),
    ("rerun_failed_checks", "checks"),
    ("revert", "state"),
    ("set_lock", "state"),
];

/// Methods that send no request, because GitHub has no rounds, no records and no separate index.
const WITHOUT: &[&str] = &["index_limits", "listed_issues", "listed_pulls", "resubmit"];

/// Returns the text with which a test's source calls a method. Tests call the methods of
/// [`forge_core::Repo`].
fn call(method: &str) -> String {
    let name = match method {
        "repo" => "info",
        "create" => "create_pull",
        "check_create" => "check_create_pull",
        "edit" => "edit_pull",
        "list" => "pulls",
        "view" => "pull",
        other => other,
    };
    format!(".{name}(")
}

fn read(path: &str) -> String {
    let path = workspace_root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn every_method_has_a_golden_test() {
    let traits = read("crates/forge-core/src/forge.rs");
    let methods: BTreeSet<&str> = traits
        .lines()
        .filter_map(|line| line.trim().strip_prefix("async fn "))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    let named: BTreeSet<&str> = GOLDEN.iter().map(|(method, ..)| *method).collect();
    let asserted = ASSERTED.iter().map(|(method, _)| *method);
    let all: BTreeSet<&str> = named
        .into_iter()
        .chain(asserted)
        .chain(WITHOUT.iter().copied())
        .collect();
    let missing: Vec<_> = methods.symmetric_difference(&all).collect();
    assert!(
        missing.is_empty(),
        "one side alone knows these methods: {missing:?}"
    );
}

#[test]
fn methods_listed_as_asserted_are_called_by_tests() {
    for (method, module) in ASSERTED {
        let source = read(&format!("crates/forge-github/tests/it/{module}.rs"));
        assert!(source.contains(&call(method)), "{module}.rs: {method}");
    }
}

#[test]
fn listed_golden_tests_exist() {
    for (method, module, snapshot) in GOLDEN {
        let source = read(&format!("crates/forge-github/tests/it/{module}.rs"));
        let assertion = format!("assert_json_snapshot!(\"{snapshot}\",");
        // Whitespace is removed, because a call may span several lines.
        let mut tests = source
            .split("#[tokio::test]")
            .map(|test| test.split_whitespace().collect::<String>());
        let test = tests.find(|test| test.contains(&assertion));
        let test = test.unwrap_or_else(|| panic!("{module}.rs has no snapshot {snapshot}"));
        assert!(
            test.contains(&call(method)),
            "the test of {snapshot} in {module}.rs does not call {method}"
        );
        let kept = format!("crates/forge-github/tests/it/snapshots/it__{module}__{snapshot}.snap");
        assert!(!read(&kept).is_empty(), "{kept}");
    }
}
