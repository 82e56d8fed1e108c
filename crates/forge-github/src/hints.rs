//! Hints that several operations share.

use forge_core::{Action, Arg, Hint, LOST_HEAD, Op, Param, PrId};

use crate::gql::types as wire;

/// Repeats the failed call with a different base branch.
pub(crate) const CHOOSE_BASE: Action = Action::again(&[(Param::Base, Arg::Choose)]);
/// Repeats the failed call with a different head branch.
pub(crate) const CHOOSE_HEAD: Action = Action::again(&[(Param::Head, Arg::Choose)]);
/// Repeats the failed call with a different body.
pub(crate) const CHOOSE_BODY: Action = Action::again(&[(Param::Body, Arg::Choose)]);

/// Recovery for a pull request that is already merged.
pub(crate) static OPEN_ANOTHER: Hint = Hint::fixed(
    "open a new pull request for further changes",
    Action::op(Op::PrCreate),
);

/// Returns the recovery for conflicts with the base branch. Nobody can push to a head whose fork is
/// deleted.
pub(crate) fn solve_conflicts(pull: &wire::Pull) -> Hint {
    let lost = pull.is_cross_repository && pull.head_repository.is_none();
    if lost {
        LOST_HEAD.clone()
    } else {
        Hint::new("merge the base branch into the head, solve the conflicts and push")
    }
}

/// Recovery if the viewer has a pending review. The user chooses whether to submit or discard it,
/// because submitting publishes comments that are not part of this call.
pub(crate) static END_PENDING: Hint = Hint::fixed(
    "end your pending review: submit it together with this one, or discard it",
    Action::again(&[(Param::Pending, Arg::Choose)]),
);

/// Returns the recovery that submits a comment instead of a verdict.
pub(crate) fn comment_instead() -> Hint {
    Hint::new("comment instead").with_action(Action::again(&[]).with(Param::Verdict, "comment"))
}

/// Returns the recovery for a closed pull request.
pub(crate) fn reopen(pr: &PrId) -> Hint {
    let action = Action::op(Op::PrReopen).on(&pr.key);
    Hint::from(format!("reopen #{} first", pr.key)).with_action(action)
}
