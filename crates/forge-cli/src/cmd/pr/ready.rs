//! `forge pr ready`.

use forge_core::{Result, model::PrFields};

use super::shared::pull_name;
use crate::{
    args::pr::ReadyArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// Runs it.
///
/// # Errors
/// When the pull request is not open, or the forge has no drafts.
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
            .already(outcome, &format!("Pull request {name} is already \"{is}\""))?;
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
