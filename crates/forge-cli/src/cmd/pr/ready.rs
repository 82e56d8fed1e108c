//! `forge pr ready`.

use clap::Args;
use forge_core::{Result, model::PrFields};

use super::shared::pull_name;
use crate::{
    args::wait::WaitArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// `forge pr ready`
#[derive(Args, Debug, Default)]
pub struct ReadyArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Make the pull request a draft again
    #[arg(long)]
    pub undo: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Marks a pull request as ready, or as a draft.
///
/// # Errors
///
/// Fails if the pull request is not open, or the forge has no drafts.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ReadyArgs) -> Result<Exit> {
    let selected = select::pull(
        ctx,
        repo,
        args.selector.as_deref(),
        Unnamed::NotWithRepo,
        PrFields::TO_CHANGE,
    )
    .await?;
    let outcome = selected.repo.set_draft(&selected.id, args.undo).await?;
    let name = pull_name(&outcome.value.id);
    if outcome.already {
        let is = if args.undo {
            "in draft"
        } else {
            "ready for review"
        };
        ctx.ui
            .report_unchanged(outcome, &format!("Pull request {name} is already \"{is}\""))?;
        return Ok(Exit::Ok);
    }
    ctx.ui.outcome(outcome)?;
    ctx.ui.success(&if args.undo {
        format!("Pull request {name} is converted to \"draft\"")
    } else {
        format!("Pull request {name} is marked as \"ready for review\"")
    });
    Ok(Exit::Ok)
}
