//! `forge issue close`.

use forge_core::{
    Result,
    model::{IssueReason, IssueState, SetIssueState},
};

use super::shared::{select, with_title};
use crate::{
    args::issue::{IssueCloseArgs, ReasonArg},
    cmd::{Ctx, pr::shared::given},
    exit::Exit,
};

/// Runs it.
///
/// # Errors
/// When the issue cannot be closed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCloseArgs) -> Result<Exit> {
    let selected = select(ctx, repo, &args.selector).await?;
    let req = SetIssueState {
        reason: args.reason.map(|reason| match reason {
            ReasonArg::Completed => IssueReason::Completed,
            ReasonArg::NotPlanned => IssueReason::NotPlanned,
            ReasonArg::Duplicate => IssueReason::Duplicate,
        }),
        comment: given(args.comment.as_ref()),
        ..SetIssueState::to(IssueState::Closed)
    };
    let outcome = selected.repo.set_issue_state(&selected.id, &req).await?;
    if outcome.already {
        let name = with_title(&outcome.value);
        ctx.ui
            .already(outcome, &format!("Issue {name} is already closed"))?;
        return Ok(Exit::Ok);
    }
    let closed = ctx.ui.outcome(outcome)?;
    ctx.ui
        .success(&format!("Closed issue {}", with_title(&closed)));
    Ok(Exit::Ok)
}
