//! Argument and tool names of other MCP servers. Some are accepted as aliases; for the others, the
//! error names what this server has instead.

/// Alternative argument names, as other servers use them.
pub(super) const ALIASES: &[(&str, &[&str])] = &[
    (
        "repo",
        &[
            "repository",
            "repo_uri",
            "repository_uri",
            "repo_url",
            "uri",
        ],
    ),
    (
        "number",
        &[
            "pull_number",
            "pr_number",
            "pull_request_number",
            "pull_request",
            "pull",
            "pr",
            "pull_id",
            "issue_number",
            "pr_identifier",
            "identifier",
            "id",
            "url",
        ],
    ),
    (
        "issue",
        &["number", "issue_number", "issue_id", "id", "url"],
    ),
    ("limit", &["per_page", "first", "count", "page_size"]),
    ("cursor", &["after", "next_cursor", "page_token"]),
    (
        "body",
        &[
            "description",
            "text",
            "body_text",
            "message",
            "comment",
            "commit_message",
        ],
    ),
    (
        "expected_head",
        &[
            "sha",
            "head_sha",
            "expected_head_sha",
            "expected_head_oid",
            "commit_id",
        ],
    ),
    ("context_lines", &["diff_context_lines"]),
    ("search", &["query", "q"]),
    ("draft", &["is_draft"]),
    ("method", &["merge_method", "merge_strategy", "strategy"]),
    (
        "head",
        &["head_branch", "head_ref", "source_branch", "source", "from"],
    ),
    (
        "base",
        &["base_branch", "base_ref", "target_branch", "target", "to"],
    ),
    ("thread", &["thread_id", "thread_node_id"]),
    ("action", &["method", "resolved"]),
    ("review", &["review_id"]),
    (
        "reply_to",
        &["in_reply_to", "comment_id", "thread", "thread_id"],
    ),
    ("verdict", &["event", "review_event"]),
    ("paths", &["path", "files", "file"]),
    ("path", &["file", "file_path", "filename"]),
    ("line", &["line_number", "end_line"]),
    ("ref", &["branch", "revision", "commit", "sha"]),
    ("content", &["contents", "new_content"]),
    ("subject", &["commit_title", "commit_headline"]),
    ("comment", &["body", "message", "text"]),
    ("message", &["commit_message"]),
    ("reason", &["state_reason"]),
    ("add_reviewers", &["reviewers", "request_reviewers"]),
    ("edits", &["files", "changes"]),
    ("labels", &["label"]),
    (
        "closes",
        &["issues", "linked_issues", "linked_issue_numbers"],
    ),
];

/// Alternative values of choices, as other servers use them.
pub(super) const VALUE_ALIASES: &[(&str, &[&str])] = &[
    ("draft", &["true"]),
    ("ready", &["false", "ready_for_review"]),
    // `false` is no alias of `reopen`. Clients in a strict mode send `false` for an argument that
    // the model did not set, which must not reopen a thread.
    ("resolve", &["true", "resolve_thread"]),
    ("reopen", &["unresolve", "unresolve_thread"]),
    ("checks", &["ci", "status", "check_runs"]),
    ("ci", &["checks", "status", "check_runs"]),
    ("ci_logs", &["logs"]),
    ("threads", &["review_threads", "review_comments"]),
    (
        "comments",
        &["threads", "review_threads", "review_comments"],
    ),
];

/// Aliases of `body` that are refused where `body` replaces a description. Their value is probably
/// a comment, which would overwrite the description.
pub(super) const NOT_A_DESCRIPTION: &[&str] = &["comment", "message", "commit_message"];

/// Aliases of branch arguments that are refused in tools for lists, because there `from` and `to`
/// could be dates.
pub(super) const MAYBE_DATES: &[&str] = &["from", "to"];

/// Arguments of other servers that are never accepted. Each row has their names, the arguments that
/// the tool's schema must contain for the row to apply, and the text of the error.
pub(super) const INSTEAD: &[(&[&str], &str, &str)] = &[
    (
        &["page"],
        "cursor",
        "pages have no numbers: pass the cursor of the previous result",
    ),
    (
        &["sort", "order", "order_by", "direction"],
        "limit",
        "the order is newest first",
    ),
    (
        &["method"],
        "include issue",
        "omit `method`: include names the sections",
    ),
    (
        &["method"],
        "include",
        "omit `method`: include=reviews for get_reviews, threads for get_review_comments, checks for get_status; pr_diff has the diff",
    ),
    (
        &["method"],
        "verdict",
        "omit `method`: a review is submitted at once; pending=submit for submit_pending, discard for delete_pending, keep for create without event",
    ),
    (&["method"], "repo", "omit `method`"),
    (&["state"], "append", "to close or reopen, use pr_set_state"),
    (
        &["reason", "state_reason"],
        "delete_branch",
        "a pull request has no reason for its state: leave it out, or comment",
    ),
    (
        NOT_A_DESCRIPTION,
        "append",
        "to comment, use pr_comment: body replaces the description",
    ),
    (
        NOT_A_DESCRIPTION,
        "parent",
        "to comment, use issue_comment: body replaces the description",
    ),
    (
        &["wait", "wait_for"],
        "failed_only",
        "to wait for checks, call pr_context with wait_for=checks",
    ),
    (
        &["run_id", "job_id", "return_content", "tail_lines"],
        "failed_only",
        "the checks are those of the head commit: for the ends of failed logs, pass logs=true",
    ),
    (
        &["timeout", "timeout_s"],
        "wait_for",
        "a wait ends by itself: continue with the cursor of its result",
    ),
    (
        &["content", "path"],
        "edits",
        "pass edits, a list of objects with path and content",
    ),
    (
        &[
            "old_text",
            "new_text",
            "old_string",
            "new_string",
            "old_str",
            "new_str",
        ],
        "content",
        "an edit replaces the whole file: pass content",
    ),
    (&["maintainer_can_modify"], "base", "it cannot be set here"),
    (
        &[
            "path",
            "line",
            "start_line",
            "side",
            "start_side",
            "subject_type",
        ],
        "verdict",
        "for a comment on a line, pass comments, a list of objects with path, line and body",
    ),
    (
        &["commit_message"],
        "depends_on",
        "the title is also the commit message",
    ),
    (
        &["subject_type"],
        "line",
        "leave it out: a comment without line is on the whole file",
    ),
    (&["start_side"], "side", "side applies to both ends"),
    (
        &["position"],
        "line",
        "pass line, a line number of the file",
    ),
    (
        &["number", "pull_number", "pr_number", "pull", "pr"],
        "ref",
        "pass ref, the head commit that pr_view shows",
    ),
    (
        &["ref", "branch", "sha"],
        "failed_only",
        "pass number, a pull request or its head branch",
    ),
    (
        &["path", "paths", "file", "files"],
        "touches",
        "pass touches, a list of paths or globs",
    ),
    (
        &["reviewer", "reviewers", "milestone"],
        "touches",
        "pass search, such as review-requested:@me, reviewed-by:ada or milestone:v1",
    ),
    (
        &["start_line", "end_line"],
        "ref",
        "a file is read from its first line: pass cursor to read the next part",
    ),
];

/// Values that belong to another argument or tool. Each row has the value, a choice that the
/// argument must offer for the row to apply, and the advice.
pub(super) const VALUES_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("diff", "commits", "pr_diff has the diff"),
    ("logs", "commits", "pr_checks with logs=true has the logs"),
    (
        "sub_issues",
        "history",
        "issue_view shows sub-issues without include",
    ),
    ("draft", "merged", "pass draft=draft, not state"),
    ("draft", "closed", "pr_edit with draft=draft makes a draft"),
    (
        "ready",
        "closed",
        "pr_edit with draft=ready ends the draft state",
    ),
    ("merged", "closed", "pr_merge merges a pull request"),
];

/// Values of `method` in tools of github-mcp-server. Each row has the tool, the values, the
/// equivalent tool of this server, and the end of the advice.
const METHODS: &[(&str, &[&str], &str, &str)] = &[
    ("pull_request_read", &["get"], "pr_view", ""),
    ("pull_request_read", &["get_diff"], "pr_diff", ""),
    (
        "pull_request_read",
        &["get_files"],
        "pr_view",
        " with include=files",
    ),
    (
        "pull_request_read",
        &["get_commits"],
        "pr_view",
        " with include=commits",
    ),
    (
        "pull_request_read",
        &["get_comments"],
        "pr_view",
        " with include=comments",
    ),
    (
        "pull_request_read",
        &["get_reviews"],
        "pr_view",
        " with include=reviews",
    ),
    (
        "pull_request_read",
        &["get_review_comments"],
        "pr_view",
        " with include=threads",
    ),
    (
        "pull_request_read",
        &["get_status", "get_check_runs"],
        "pr_checks",
        "",
    ),
    (
        "pull_request_review_write",
        &["create"],
        "pr_review",
        "; without a verdict to submit: verdict=comment, pending=keep",
    ),
    (
        "pull_request_review_write",
        &["submit_pending"],
        "pr_review",
        " with pending=submit",
    ),
    (
        "pull_request_review_write",
        &["delete_pending"],
        "pr_review",
        " with verdict=comment, pending=discard",
    ),
    (
        "pull_request_review_write",
        &["resolve_thread"],
        "pr_thread_resolve",
        "",
    ),
    (
        "pull_request_review_write",
        &["unresolve_thread"],
        "pr_thread_resolve",
        " with action=reopen",
    ),
    (
        "issue_read",
        &["get", "get_labels", "get_parent", "get_sub_issues"],
        "issue_view",
        ", without include",
    ),
    (
        "issue_read",
        &["get_comments"],
        "issue_view",
        " with include=comments",
    ),
    ("issue_write", &["create"], "issue_create", ""),
    ("issue_write", &["update"], "issue_edit", ""),
];

/// Returns the tool that replaces a `method` of a github-mcp-server tool, and the advice to call
/// it.
pub(crate) fn replaced_method(tool: &str, method: &str) -> Option<(&'static str, String)> {
    let mut rows = METHODS.iter();
    let (_, _, ours, how) =
        rows.find(|(other, methods, ..)| *other == tool && methods.contains(&method))?;
    Some((*ours, format!("for {method}, call {ours}{how}")))
}

/// Tools of github-mcp-server, including its older versions, each with the equivalent tools of this
/// server.
pub(crate) const TOOL_ALIASES: &[(&str, &[&str])] = &[
    ("pull_request_read", &["pr_view", "pr_diff", "pr_checks"]),
    ("list_pull_requests", &["pr_list"]),
    ("search_pull_requests", &["pr_list"]),
    ("create_pull_request", &["pr_create"]),
    ("update_pull_request", &["pr_edit", "pr_set_state"]),
    ("update_pull_request_branch", &["pr_update_branch"]),
    ("merge_pull_request", &["pr_merge"]),
    (
        "pull_request_review_write",
        &["pr_review", "pr_thread_resolve"],
    ),
    ("add_comment_to_pending_review", &["pr_review"]),
    ("add_reply_to_pull_request_comment", &["pr_comment"]),
    ("issue_read", &["issue_view"]),
    ("issue_write", &["issue_create", "issue_edit"]),
    ("list_issues", &["issue_list"]),
    ("add_issue_comment", &["issue_comment", "pr_comment"]),
    ("get_file_contents", &["repo_file"]),
    ("create_branch", &["pr_create"]),
    ("create_or_update_file", &["repo_push", "pr_create"]),
    ("push_files", &["repo_push", "pr_create"]),
    ("delete_file", &["repo_push", "pr_create"]),
    ("get_job_logs", &["pr_checks"]),
    ("actions_run_trigger", &["pr_checks_rerun"]),
    ("get_me", &["forge_status"]),
    ("get_pull_request", &["pr_view"]),
    ("get_pull_request_comments", &["pr_view"]),
    ("get_pull_request_diff", &["pr_diff"]),
    ("get_pull_request_files", &["pr_view"]),
    ("get_pull_request_reviews", &["pr_view"]),
    ("get_pull_request_status", &["pr_checks"]),
    ("list_commits", &["pr_view"]),
    ("resolve_review_thread", &["pr_thread_resolve"]),
    ("get_issue", &["issue_view"]),
    ("get_issue_comments", &["issue_view"]),
    ("search_issues", &["issue_list"]),
    ("create_issue", &["issue_create"]),
    ("update_issue", &["issue_edit"]),
    ("update_issue_title", &["issue_edit"]),
    ("update_issue_body", &["issue_edit"]),
    ("update_issue_state", &["issue_edit"]),
    ("update_issue_labels", &["issue_edit"]),
    ("update_issue_assignees", &["issue_edit"]),
    ("sub_issue_write", &["issue_edit"]),
    ("add_sub_issue", &["issue_edit"]),
    ("remove_sub_issue", &["issue_edit"]),
    ("issue_dependency_write", &["issue_edit"]),
    ("list_sub_issues", &["issue_view"]),
    ("label_write", &["pr_edit", "issue_edit"]),
    ("update_pull_request_title", &["pr_edit"]),
    ("update_pull_request_body", &["pr_edit"]),
    ("update_pull_request_draft_state", &["pr_edit"]),
    ("update_pull_request_state", &["pr_set_state"]),
    ("request_pull_request_reviewers", &["pr_edit"]),
    ("request_copilot_review", &["pr_edit"]),
    ("create_pending_pull_request_review", &["pr_review"]),
    ("submit_pending_pull_request_review", &["pr_review"]),
    ("delete_pending_pull_request_review", &["pr_review"]),
    ("create_and_submit_pull_request_review", &["pr_review"]),
    ("add_pull_request_review_comment", &["pr_review"]),
    (
        "add_pull_request_review_comment_to_pending_review",
        &["pr_review"],
    ),
    ("unresolve_review_thread", &["pr_thread_resolve"]),
    ("actions_get", &["pr_checks"]),
    ("actions_list", &["pr_checks"]),
    ("list_workflow_runs", &["pr_checks"]),
    ("list_workflow_jobs", &["pr_checks"]),
    ("get_workflow_run", &["pr_checks"]),
    ("rerun_failed_jobs", &["pr_checks_rerun"]),
    ("rerun_workflow_run", &["pr_checks_rerun"]),
    // Commands of `gh`.
    ("pr_close", &["pr_set_state"]),
    ("pr_reopen", &["pr_set_state"]),
    ("pr_ready", &["pr_edit"]),
    ("pr_files", &["pr_view"]),
    ("pr_threads", &["pr_view"]),
    ("pr_status", &["pr_view"]),
    ("issue_close", &["issue_edit"]),
    ("issue_reopen", &["issue_edit"]),
    ("issue_delete", &["issue_edit"]),
];

/// Additional advice for tools in [`TOOL_ALIASES`] whose replacement needs certain arguments.
pub(crate) const TOOL_NOTES: &[(&str, &str)] = &[
    ("create_branch", "with edits it also creates the branch"),
    ("list_commits", "include=commits has its commits"),
    ("pr_files", "include=files has its files"),
    ("pr_threads", "include=threads has its threads"),
    ("pr_ready", "with draft=ready"),
    (
        "update_pull_request_draft_state",
        "with draft=draft or ready",
    ),
    ("request_pull_request_reviewers", "with add_reviewers"),
    ("request_copilot_review", "with add_reviewers=@copilot"),
    (
        "create_pending_pull_request_review",
        "with verdict=comment, pending=keep",
    ),
    ("submit_pending_pull_request_review", "with pending=submit"),
    (
        "delete_pending_pull_request_review",
        "with verdict=comment, pending=discard",
    ),
    (
        "add_pull_request_review_comment",
        "with comments, a list of objects with path, line and body",
    ),
    (
        "add_pull_request_review_comment_to_pending_review",
        "with comments and pending=keep",
    ),
    ("unresolve_review_thread", "with action=reopen"),
    ("issue_close", "with state=closed"),
    ("issue_reopen", "with state=open"),
    ("issue_delete", "no tool deletes; state=closed closes"),
    ("sub_issue_write", "with parent, on the sub-issue"),
    ("add_sub_issue", "with parent, on the sub-issue"),
    ("remove_sub_issue", "with parent=\"-\", on the sub-issue"),
    ("issue_dependency_write", "with blocked_by"),
    (
        "label_write",
        "with add_labels or remove_labels; no tool defines labels",
    ),
];
