//! Hints that several operations give.

use forge_core::{Action, Arg, Hint, Op, Param, PrId};

/// The call that failed, with another base branch.
pub(crate) const CHOOSE_BASE: Action = Action::again(&[(Param::Base, Arg::Choose)]);
/// The call that failed, with another head branch.
pub(crate) const CHOOSE_HEAD: Action = Action::again(&[(Param::Head, Arg::Choose)]);
/// The call that failed, with another text.
pub(crate) const CHOOSE_BODY: Action = Action::again(&[(Param::Body, Arg::Choose)]);

/// What to do about a pull request that is merged.
pub(crate) static OPEN_ANOTHER: Hint = Hint::fixed(
    "open a new pull request for further changes",
    Action::op(Op::PrCreate),
);

/// What to do about a review of the viewer's that is not submitted.
pub(crate) static END_PENDING: Hint =
    Hint::new("submit or discard your pending review on the page of the pull request first");

/// Commenting in place of a verdict.
pub(crate) fn comment_instead() -> Hint {
    Hint::new("comment instead").with_action(Action::again(&[]).with(Param::Verdict, "comment"))
}

/// What to do about a pull request that is closed.
pub(crate) fn reopen(pr: &PrId) -> Hint {
    let action = Action::op(Op::PrReopen).on(&pr.key);
    Hint::from(format!("reopen #{} first", pr.key)).with_action(action)
}
