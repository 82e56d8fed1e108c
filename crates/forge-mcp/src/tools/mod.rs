//! The tools, each in its own file. To add a tool, write its file and add it to the two lists
//! below.

mod confirmation;
mod forge_status;
mod issue_comment;
mod issue_create;
mod issue_edit;
mod issue_list;
mod issue_view;
mod issue_write_output;
mod linked;
mod listing;
mod pr_checks;
mod pr_checks_rerun;
mod pr_comment;
mod pr_context;
mod pr_create;
mod pr_diff;
mod pr_edit;
mod pr_list;
mod pr_merge;
mod pr_resubmit;
mod pr_review;
mod pr_review_dismiss;
mod pr_set_state;
mod pr_thread_resolve;
mod pr_update_branch;
mod pr_view;
mod repo_file;
mod repo_push;
mod reviewers;
mod workflow_advance;
mod workflow_claim;
mod workflow_parts;
mod workflow_pick;
mod workflow_set_state;
mod workflow_view;
mod write_output;

use crate::calls::Route;

/// Returns all tools, including those that write.
pub(crate) fn all() -> Vec<Route> {
    vec![
        Route::of::<forge_status::ForgeStatus>(),
        Route::of::<issue_comment::IssueComment>(),
        Route::of::<issue_create::IssueCreate>(),
        Route::of::<issue_edit::IssueEdit>(),
        Route::of::<issue_list::IssueList>(),
        Route::of::<issue_view::IssueView>(),
        Route::of::<pr_checks::PrChecks>(),
        Route::of::<pr_checks_rerun::PrChecksRerun>(),
        Route::of::<pr_comment::PrComment>(),
        Route::of::<pr_context::PrContext>(),
        Route::of::<pr_create::PrCreate>(),
        Route::of::<pr_diff::PrDiff>(),
        Route::of::<pr_edit::PrEdit>(),
        Route::of::<pr_list::PrList>(),
        Route::of::<pr_merge::PrMerge>(),
        Route::of::<pr_resubmit::PrResubmit>(),
        Route::of::<pr_review::PrReview>(),
        Route::of::<pr_review_dismiss::PrReviewDismiss>(),
        Route::of::<pr_set_state::PrSetState>(),
        Route::of::<pr_thread_resolve::PrThreadResolve>(),
        Route::of::<pr_update_branch::PrUpdateBranch>(),
        Route::of::<pr_view::PrView>(),
        Route::of::<repo_file::RepoFile>(),
        Route::of::<repo_push::RepoPush>(),
        Route::of::<workflow_advance::WorkflowAdvance>(),
        Route::of::<workflow_claim::WorkflowClaim>(),
        Route::of::<workflow_pick::WorkflowPick>(),
        Route::of::<workflow_set_state::WorkflowSetState>(),
        Route::of::<workflow_view::WorkflowView>(),
    ]
}
