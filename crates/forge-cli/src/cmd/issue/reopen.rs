//! `forge issue reopen`.

use clap::Args;
use forge_core::{
    Result,
    model::{IssueState, SetIssueState},
};

use super::shared::{add_skipped_comment, select, with_title};
use crate::{
    args::wait::WaitArgs,
    cmd::{Ctx, pr::shared::non_empty},
    exit::Exit,
};

/// `forge issue reopen`
#[derive(Args, Debug, Default)]
pub struct IssueReopenArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Also leave a comment
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Reopens an issue.
///
/// # Errors
///
/// Fails if the issue cannot be reopened.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueReopenArgs) -> Result<Exit> {
    let selected = select(ctx, repo, &args.selector).await?;
    let mut req = SetIssueState::to(IssueState::Open);
    req.comment = non_empty(args.comment.as_ref());
    let mut outcome = selected.repo.set_issue_state(&selected.id, &req).await?;
    if outcome.already {
        add_skipped_comment(&selected.repo, &mut outcome).await?;
        let name = with_title(&outcome.value);
        ctx.ui
            .report_unchanged(outcome, &format!("Issue {name} is already open"))?;
        return Ok(Exit::Ok);
    }
    let reopened = ctx.ui.outcome(outcome)?;
    ctx.ui
        .success(&format!("Reopened issue {}", with_title(&reopened)));
    Ok(Exit::Ok)
}
