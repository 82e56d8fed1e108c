//! The tools: one file each. To add one, write its file and name it twice here.

mod agreed;
mod closes;
mod forge_status;
mod linked;
mod pr_checks;
mod pr_comment;
mod pr_context;
mod pr_create;
mod pr_diff;
mod pr_edit;
mod pr_list;
mod pr_merge;
mod pr_resubmit;
mod pr_review;
mod pr_set_state;
mod pr_thread_resolve;
mod pr_update_branch;
mod pr_view;
mod reviewers;
mod states;
mod written;

use crate::calls::Route;

/// Every tool, those that write among them.
pub(crate) fn all() -> Vec<Route> {
    vec![
        Route::of::<forge_status::ForgeStatus>(),
        Route::of::<pr_checks::PrChecks>(),
        Route::of::<pr_comment::PrComment>(),
        Route::of::<pr_context::PrContext>(),
        Route::of::<pr_create::PrCreate>(),
        Route::of::<pr_diff::PrDiff>(),
        Route::of::<pr_edit::PrEdit>(),
        Route::of::<pr_list::PrList>(),
        Route::of::<pr_merge::PrMerge>(),
        Route::of::<pr_resubmit::PrResubmit>(),
        Route::of::<pr_review::PrReview>(),
        Route::of::<pr_set_state::PrSetState>(),
        Route::of::<pr_thread_resolve::PrThreadResolve>(),
        Route::of::<pr_update_branch::PrUpdateBranch>(),
        Route::of::<pr_view::PrView>(),
    ]
}
