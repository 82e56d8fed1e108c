//! The names of tangled's protocol that can be configured, by their keys; a test compares them with
//! the backend's.

use forge_core::locator::RecordKind;

/// Those that are NSIDs.
pub(super) const NSIDS: &[&str] = &[
    "sh_pull",
    "sh_status",
    "sh_state_open",
    "sh_state_closed",
    "sh_state_merged",
    "sh_issue",
    "sh_issue_state",
    "sh_issue_open",
    "sh_issue_closed",
    "sh_comment",
    "sh_old_comment",
    "sh_old_issue_comment",
    "sh_label_op",
    "sh_label",
    "sh_repo",
    "sh_collaborator",
    "sh_markdown",
    "org_pull",
    "org_patch",
    "org_issue",
    "org_comment",
    "org_label",
    "org_repo",
    "org_manifest",
    "org_collaborator",
    "org_markdown",
    "org_inline",
    "org_ticket_label",
    "index_list_pulls",
    "index_list_issues",
    "index_get_pull",
    "index_get_issue",
    "index_get_repo",
    "index_list_statuses",
    "index_list_issue_states",
    "index_list_comments",
    "index_list_label_ops",
    "index_list_labels",
    "index_list_collaborators",
    "knot_describe_repo",
    "knot_list_collaborators",
    "knot_branch",
    "knot_branches",
    "knot_default_branch",
    "knot_tree",
    "knot_blob",
    "knot_log",
    "knot_compare",
    "knot_merge_check",
    "knot_merge",
    "knot_hidden_ref",
    "knot_delete_branch",
    "knot_merge_base",
    "knot_format_patch",
    "knot_submit_patch",
    "spindle_pipelines",
];

/// Those that are words.
pub(super) const WORDS: &[&str] = &[
    "org_state_open",
    "org_state_closed",
    "org_state_merged",
    "field_title",
    "field_body",
    "field_text",
    "field_state",
    "field_target_branch",
    "field_labels",
    "field_label_key",
    "field_assignees",
    "field_created_at",
    "field_ticket",
    "field_base",
    "field_head",
    "field_oid",
    "field_source",
    "field_source_repo",
    "field_source_branch",
    "field_sent_repo",
    "field_sent_branch",
    "field_subject",
    "field_reply_to",
    "field_declared",
    "field_editor",
    "field_stamp",
    "sh_field_title",
    "sh_field_body",
    "sh_field_text",
    "sh_field_created_at",
    "sh_field_target",
    "sh_field_target_repo",
    "sh_field_target_did",
    "sh_field_target_branch",
    "sh_field_flat_repo",
    "sh_field_flat_branch",
    "sh_field_source",
    "sh_field_source_repo",
    "sh_field_source_did",
    "sh_field_source_branch",
    "sh_field_source_sha",
    "sh_field_depends_on",
    "sh_field_rounds",
    "sh_field_patch_blob",
    "sh_field_patch",
    "sh_field_mentions",
    "sh_field_references",
    "sh_field_status_pull",
    "sh_field_status",
    "sh_field_state_issue",
    "sh_field_state",
    "sh_field_issue_repo",
    "sh_field_subject",
    "sh_field_reply_to",
    "sh_field_round",
    "sh_field_old_pull",
    "sh_field_old_issue",
    "sh_field_op_subject",
    "sh_field_op_at",
    "sh_field_op_add",
    "sh_field_op_delete",
    "sh_field_op_key",
    "sh_field_op_value",
    "sh_field_label_name",
    "sh_field_label_color",
    "sh_field_label_type",
    "sh_field_label_kind",
    "sh_field_label_format",
    "sh_field_label_values",
    "sh_field_label_scope",
    "sh_field_label_multiple",
    "sh_field_repo_name",
    "sh_field_repo_did",
    "sh_field_repo_knot",
    "sh_field_repo_spindle",
    "sh_field_repo_labels",
    "sh_field_repo_source",
    "sh_field_repo_description",
    "sh_field_push_repo",
    "sh_field_push_account",
    "manifest_owner",
    "manifest_did",
    "manifest_name",
    "manifest_slug",
    "manifest_in_owner",
    "manifest_in_repo",
    "index_field_subject",
    "index_field_pull",
    "index_field_issue",
    "index_field_repo",
    "index_field_wanted_status",
    "index_field_wanted_state",
    "index_field_author",
    "index_field_row_state",
    "index_field_row_comments",
    "index_field_collaborator",
    "knot_field_repo",
    "knot_field_repo_did",
    "knot_field_collaborators_of",
    "knot_field_branch_name",
    "knot_field_compare_base",
    "knot_field_compare_head",
    "knot_field_revision",
    "knot_field_path",
    "knot_field_owner",
    "knot_field_name",
    "knot_field_branch",
    "knot_field_patch",
    "knot_field_message",
    "knot_field_message_body",
    "knot_field_email",
    "knot_field_fork_ref",
    "knot_field_remote_ref",
    "knot_field_base_of",
    "knot_field_base_head",
    "knot_field_patch_from",
    "knot_field_patch_to",
    "knot_field_submit_repo",
    "knot_field_submit_patch",
    "knot_answer_owner",
    "knot_answer_rkey",
    "knot_answer_branch_name",
    "knot_answer_branch_hash",
    "knot_answer_branch_message",
    "knot_answer_branch_when",
    "knot_answer_branches",
    "knot_answer_reference",
    "knot_answer_reference_name",
    "knot_answer_reference_hash",
    "knot_answer_patch",
    "knot_answer_combined_patch",
    "knot_answer_conflicted",
    "knot_answer_conflicts",
    "knot_answer_conflict_file",
    "knot_answer_check_error",
    "knot_answer_fetched",
    "knot_answer_fetched_ref",
    "knot_answer_fetch_error",
    "knot_answer_files",
    "knot_answer_file_name",
    "knot_answer_file_mode",
    "knot_answer_blob_content",
    "knot_answer_blob_encoding",
    "knot_answer_blob_size",
    "knot_answer_blob_too_large",
    "knot_answer_commits",
    "knot_answer_commit_hash",
    "knot_answer_commit_parents",
    "knot_answer_commit_parents_too",
    "knot_answer_commit_message",
    "knot_answer_commit_author",
    "knot_answer_commit_committer",
    "knot_answer_person_email",
    "knot_answer_person_when",
    "knot_answer_common",
    "knot_answer_common_oid",
    "spindle_field_repo",
    "spindle_field_commits",
    "spindle_answer_pipelines",
    "spindle_answer_commit",
    "spindle_answer_created_at",
    "spindle_answer_trigger",
    "spindle_answer_workflows",
    "spindle_answer_workflow_name",
    "spindle_answer_workflow_status",
    "spindle_answer_workflow_error",
    "spindle_answer_workflow_started",
    "spindle_answer_workflow_finished",
    "spindle_answer_success",
    "spindle_answer_failed",
    "spindle_answer_timeout",
    "spindle_answer_cancelled",
    "web_record",
];

/// Whom a token for a write to a repository of 1.0 is for.
pub(super) const AUDIENCES: &[&str] = &["knot", "repository"];

/// What is in the collection that a key names, where a locator can name its records by at-uri.
pub(super) fn records_of(key: &str) -> Option<RecordKind> {
    match key {
        "sh_pull" | "sh_issue" | "org_pull" | "org_issue" => Some(RecordKind::Ticket),
        "sh_repo" | "org_repo" => Some(RecordKind::Repo),
        "org_manifest" => Some(RecordKind::Manifest),
        _ => None,
    }
}

/// Whether `text` is a word of such a name.
pub(super) fn is_word(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Whether `text` is an NSID, perhaps with a fragment.
pub(super) fn is_nsid(text: &str) -> bool {
    let (nsid, fragment) = match text.split_once('#') {
        Some((nsid, fragment)) => (nsid, Some(fragment)),
        None => (text, None),
    };
    nsid.len() <= 317
        && nsid.split('.').count() >= 3
        && nsid.split('.').all(is_word)
        && fragment.is_none_or(is_word)
}

#[cfg(all(test, feature = "tangled"))]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_the_backends() {
        let names = forge_tangled::Dialects::default().names();
        let keys_of = |nsid: bool| -> Vec<&str> {
            let of_kind = names.iter().filter(|(_, name)| name.contains('.') == nsid);
            of_kind.map(|(key, _)| key.as_str()).collect()
        };
        assert_eq!(NSIDS, keys_of(true));
        let mut words = WORDS.to_vec();
        words.push("audience");
        assert_eq!(words, keys_of(false));
    }
}
