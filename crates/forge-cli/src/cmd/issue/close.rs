//! `forge issue close`.

use clap::{Args, ValueEnum};
use forge_core::{
    Error, Result,
    model::{IssueReason, IssueState, SetIssueState},
};

use super::shared::{add_skipped_comment, related, select, with_title};
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
    /// Another issue describes the same problem or request.
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
    /// The issue of which this one is a duplicate, by number or URL
    #[arg(long, value_name = "issue")]
    pub duplicate_of: Option<String>,
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
    let duplicate_of = non_empty(args.duplicate_of.as_ref());
    let other_reason = |reason: CloseReasonArg| reason != CloseReasonArg::Duplicate;
    if duplicate_of.is_some() && args.reason.is_some_and(other_reason) {
        let message = "`--duplicate-of` can only be used with `--reason duplicate`";
        return Err(Error::invalid("reason", message).with_hint("omit one of them"));
    }
    let selected = select(ctx, repo, &args.selector).await?;
    let mut req = SetIssueState::to(IssueState::Closed);
    req.reason = args.reason.map(|reason| match reason {
        CloseReasonArg::Completed => IssueReason::Completed,
        CloseReasonArg::NotPlanned => IssueReason::NotPlanned,
        CloseReasonArg::Duplicate => IssueReason::Duplicate,
    });
    if let Some(other) = duplicate_of {
        let other = related(ctx, &selected.repo, &other).await?;
        let same_repo = other.repo.comparison_key() == selected.id.repo.comparison_key();
        if same_repo && other.key == selected.id.key {
            let message = "`--duplicate-of` cannot reference the current issue";
            return Err(
                Error::invalid("duplicate_of", message).with_hint("name the issue that it repeats")
            );
        }
        req = SetIssueState::duplicate_of(other);
    }
    req.comment = non_empty(args.comment.as_ref());
    let mut outcome = selected.repo.set_issue_state(&selected.id, &req).await?;
    if outcome.already {
        add_skipped_comment(&selected.repo, &mut outcome).await?;
        let name = with_title(&outcome.value);
        ctx.ui
            .report_unchanged(outcome, &format!("Issue {name} is already closed"))?;
        return Ok(Exit::Ok);
    }
    let closed = ctx.ui.outcome(outcome)?;
    ctx.ui
        .success(&format!("Closed issue {}", with_title(&closed)));
    Ok(Exit::Ok)
}
