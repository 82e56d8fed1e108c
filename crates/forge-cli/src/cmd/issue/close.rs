//! `forge issue close`.

use clap::{Args, ValueEnum};
use forge_core::{
    Result,
    model::{IssueReason, IssueState, SetIssueState},
};

use super::shared::{select, with_title};
use crate::{
    args::wait::WaitArgs,
    cmd::{Ctx, pr::shared::non_empty},
    exit::Exit,
};

/// `--reason`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CloseReasonArg {
    /// The work is done.
    Completed,
    /// The work is not planned.
    #[value(name = "not planned", alias = "not_planned")]
    NotPlanned,
    /// Another issue says the same.
    Duplicate,
}

/// `forge issue close`
#[derive(Args, Debug, Default)]
pub struct IssueCloseArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Also leave a comment
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// Reason for closing
    #[arg(short, long, value_name = "reason", value_enum, ignore_case = true)]
    pub reason: Option<CloseReasonArg>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Closes an issue.
///
/// # Errors
///
/// Fails if the issue cannot be closed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCloseArgs) -> Result<Exit> {
    let selected = select(ctx, repo, &args.selector).await?;
    let mut req = SetIssueState::to(IssueState::Closed);
    req.reason = args.reason.map(|reason| match reason {
        CloseReasonArg::Completed => IssueReason::Completed,
        CloseReasonArg::NotPlanned => IssueReason::NotPlanned,
        CloseReasonArg::Duplicate => IssueReason::Duplicate,
    });
    req.comment = non_empty(args.comment.as_ref());
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
