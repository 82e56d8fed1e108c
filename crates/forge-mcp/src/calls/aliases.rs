//! Argument and tool names of other MCP servers: some are accepted as aliases, others get advice.

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
    // No alias of `reopen` is `false`, which clients in a strict mode send for an unset argument.
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

/// Aliases of `body` that are refused where `body` replaces a description, because a comment would
/// overwrite it.
pub(super) const NOT_A_DESCRIPTION: &[&str] = &["comment", "message", "commit_message"];

/// Aliases of branch arguments that are refused in tools for lists, because the values could be
/// dates.
pub(super) const MAYBE_DATES: &[&str] = &["from", "to"];

/// Arguments of other servers that are never accepted: the names, the arguments that must be in the
/// same schema, and the advice.
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
        &["start_line", "end_line"],
        "ref",
        "a file is read from its first line: pass cursor to read the next part",
    ),
];

/// Sections that another tool has: the value, a choice that must be in the same list, and the
/// advice.
pub(super) const SECTIONS_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("diff", "commits", "pr_diff has the diff"),
    ("logs", "commits", "pr_checks with logs=true has the logs"),
];

/// Tools of github-mcp-server, also of its older versions, each with the equivalent tools of this
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
];

/// Arguments for the tool that replaces a tool of github-mcp-server, where the name is not enough.
pub(crate) const TOOL_NOTES: &[(&str, &str)] = &[
    ("create_branch", "with edits it also creates the branch"),
    ("list_commits", "include=commits has its commits"),
];
