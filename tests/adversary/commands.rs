//! Every tool, resource and command, with arguments that are valid in a place of [`crate::places`].

use serde_json::{Value, json};

/// Returns every tool that reads, once for each form of its arguments.
pub fn reading_tools() -> Vec<(&'static str, Value)> {
    let sections = json!([
        "checks", "threads", "comments", "reviews", "files", "commits", "history"
    ]);
    vec![
        ("pr_list", json!({})),
        ("pr_list", json!({"state": "all", "format": "detailed"})),
        ("pr_view", json!({"number": 1})),
        (
            "pr_view",
            json!({"number": 1, "include": sections, "format": "detailed"}),
        ),
        ("pr_diff", json!({"number": 1})),
        ("pr_diff", json!({"number": 1, "format": "detailed"})),
        ("pr_diff", json!({"number": 1, "names_only": true})),
        ("pr_diff", json!({"number": 1, "paths": ["feature-1.txt"]})),
        ("pr_checks", json!({"number": 1, "logs": true})),
        ("forge_status", json!({})),
    ]
}

/// Returns every tool that writes, in an order in which each call succeeds.
pub fn writing_tools() -> Vec<(&'static str, Value)> {
    let edits = json!([{"path": "src/lib.rs", "content": "edited\n"}]);
    vec![
        (
            "pr_create",
            json!({"title": "Fresh", "head": "fresh", "body": "Text."}),
        ),
        (
            "pr_create",
            json!({"title": "Edits", "head": "edits", "edits": edits}),
        ),
        (
            "pr_edit",
            json!({"number": 1, "title": "Other", "add_labels": ["bug"]}),
        ),
        ("pr_comment", json!({"number": 1, "body": "Text."})),
        (
            "pr_review",
            json!({"number": 1, "verdict": "comment", "body": "Text.",
            "comments": [{"path": "feature-1.txt", "line": 1, "body": "Why?"}]}),
        ),
        ("pr_thread_resolve", json!({"number": 1, "thread": "t"})),
        (
            "pr_review_dismiss",
            json!({"number": 1, "review": "r", "body": "No."}),
        ),
        ("pr_checks_rerun", json!({"number": 1})),
        ("pr_set_state", json!({"number": 9, "state": "closed"})),
        ("pr_set_state", json!({"number": 9, "state": "open"})),
        ("pr_update_branch", json!({"number": 2})),
        ("pr_update_branch", json!({"number": 3, "method": "rebase"})),
        ("pr_merge", json!({"number": 1, "method": "merge"})),
        (
            "pr_merge",
            json!({"number": 4, "method": "merge", "delete_branch": true}),
        ),
        ("pr_merge", json!({"number": 5, "method": "squash"})),
        ("pr_merge", json!({"number": 6, "method": "rebase"})),
        ("pr_resubmit", json!({"number": 7})),
    ]
}

/// Commands that only read.
pub const READING: &[&[&str]] = &[
    &["pr", "list"],
    &[
        "pr",
        "list",
        "--state",
        "all",
        "--json",
        "number,title,statusCheckRollup,mergeable,files",
    ],
    &["pr", "list", "--search", "Title"],
    &["pr", "status"],
    &["pr", "status", "--conflict-status"],
    &["pr", "view", "1"],
    &["pr", "view", "1", "--comments"],
    &["pr", "view", "1", "--history"],
    &[
        "pr",
        "view",
        "1",
        "--json",
        "commits,files,mergeable,mergeStateStatus,reviews,additions",
    ],
    &["pr", "view"],
    &["pr", "diff", "1"],
    &["pr", "diff", "1", "--name-only"],
    &["pr", "diff", "1", "--patch"],
    &["pr", "diff", "1", "--since", "0"],
    &["pr", "checks", "1"],
    &["pr", "thread", "list", "1"],
    &["issue", "list"],
    &["issue", "view", "1", "--comments"],
    &["label", "list"],
    &["capabilities"],
];

/// Commands that only read and accept no `-R`.
pub const ALONE: &[&[&str]] = &[
    &["config", "list"],
    &["config", "validate"],
    &["auth", "status"],
    &["mcp", "config", "--client", "claude-code"],
];

/// Commands that write, in an order in which each command succeeds.
pub const WRITING: &[&[&str]] = &[
    &["pr", "create", "-H", "fresh", "--fill"],
    &["pr", "edit", "1", "-t", "Other"],
    &["pr", "comment", "1", "-b", "Text."],
    &["pr", "review", "1", "-a"],
    &["pr", "close", "9"],
    &["pr", "reopen", "9"],
    &["pr", "ready", "9", "--undo"],
    &["pr", "resubmit", "9"],
    &["pr", "update-branch", "2"],
    &["pr", "update-branch", "3", "--rebase"],
    &["pr", "merge", "1", "--merge"],
    &["pr", "merge", "4", "--merge", "-d"],
    &["pr", "merge", "5", "--squash"],
    &["pr", "merge", "6", "--rebase"],
    &["issue", "create", "-t", "Another", "-b", "Text."],
    &["issue", "edit", "1", "-t", "Other"],
    &["issue", "comment", "1", "-b", "Text."],
    &["issue", "close", "1"],
    &["label", "create", "canary"],
    &["label", "delete", "canary", "--yes"],
];
