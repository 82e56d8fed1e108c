//! Error hints that several files use, and the actions that the hints offer.

use forge_core::{Action, Arg, Hint, Op, Param};

/// Repeats the failed call unchanged.
pub(crate) const AGAIN: Action = Action::again(&[]);

/// Repeats the failed call with another head branch.
pub(crate) const OTHER_HEAD: Action = Action::again(&[(Param::Head, Arg::Choose)]);

/// Repeats the failed call with the changes as a patch.
pub(crate) const AS_PATCH: Action =
    Action::again(&[(Param::Head, Arg::Omit), (Param::Patch, Arg::Choose)]);

/// Recovery for a pull request that is already merged.
pub(crate) static OPEN_ANOTHER: Hint = Hint::fixed(
    "open a new pull request for further changes",
    Action::op(Op::PrCreate),
);

/// Returns the call that submits another round of a pull request.
pub(crate) fn resubmit(uri: &str) -> Action {
    Action::op(Op::PrResubmit).on(uri)
}

/// Returns the call that merges a pull request, by rebase: tangled has no other method.
pub(crate) fn merge(uri: &str) -> Action {
    Action::op(Op::PrMerge)
        .on(uri)
        .with(Param::Method, "rebase")
}

/// Returns the hint for an invalid cursor.
pub(crate) fn from_start() -> Hint {
    Hint::new("start again without a cursor")
        .with_action(Action::again(&[(Param::Cursor, Arg::Omit)]))
}

/// Returns the hint for a pull request that does not exist.
pub(crate) fn list_pulls() -> Hint {
    Hint::new("list the pull requests that are there").with_action(Action::op(Op::PrList))
}

/// Returns the hint for a comment that does not exist.
pub(crate) fn comment_ids() -> Hint {
    Hint::new("view the pull request with its comments, which shows their ids")
        .with_action(Action::op(Op::PrView).with(Param::Include, "comments"))
}

/// Returns the hint for a closed pull request.
pub(crate) fn reopen(uri: &str) -> Hint {
    Hint::new("reopen it first").with_action(Action::op(Op::PrReopen).on(uri))
}

/// Returns the hint for a pull request that changed during a merge.
pub(crate) fn look_again(uri: &str) -> Hint {
    Hint::new("review the pull request again, then merge")
        .with_action(Action::op(Op::PrView).on(uri))
}

/// Returns the hint for a round (submitted patch) that does not apply.
pub(crate) fn rebase_first(uri: &str) -> Hint {
    Hint::new("have its author rebase the branch and submit another round")
        .with_action(resubmit(uri))
}

/// Returns the hint for a round that cannot be used.
pub(crate) fn another_round_hint(uri: &str) -> Hint {
    Hint::new("have its author submit another round").with_action(resubmit(uri))
}

/// Returns the hint for a merge that was made but not recorded. `merge` is the action that merges
/// again.
pub(crate) fn record_merge(merge: Action) -> Hint {
    Hint::new("merge again; forge then finds the change on the branch, and only writes the record")
        .with_action(merge)
}

/// Returns the hint for a comment on an issue that does not exist.
pub(crate) fn issue_comment_ids() -> Hint {
    Hint::new("view the issue with its comments, which shows their ids")
        .with_action(Action::op(Op::IssueView).with(Param::Include, "comments"))
}
