//! The tools: one file each. To add one, write its file and put its name in this list.

use crate::server::Route;

macro_rules! tools {
    ($($name:ident: $tool:ident,)*) => {
        $(mod $name;)*

        /// Every tool, those that write among them.
        pub(crate) fn all() -> Vec<Route> {
            vec![$(Route::of::<$name::$tool>(),)*]
        }
    };
}

tools! {
    forge_status: ForgeStatus,
    pr_checks: PrChecks,
    pr_comment: PrComment,
    pr_create: PrCreate,
    pr_diff: PrDiff,
    pr_edit: PrEdit,
    pr_list: PrList,
    pr_merge: PrMerge,
    pr_resubmit: PrResubmit,
    pr_review: PrReview,
    pr_set_state: PrSetState,
    pr_thread_resolve: PrThreadResolve,
    pr_view: PrView,
}

mod written;
