//! `forge pr reopen`.

use forge_core::{
    Result,
    model::{PrFields, PrState},
};

use super::shared::pull_with_title;
use crate::{
    args::pr::ReopenArgs,
    cmd::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// Runs it.
///
/// # Errors
/// When the pull request cannot be reopened.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ReopenArgs) -> Result<Exit> {
    let mut selected = select::pull(
        ctx,
        repo,
        Some(&args.selector),
        Unnamed::NotWithRepo,
        PrFields::NONE,
    )
    .await?;
    let pull = selected.view(PrFields::NONE).await?;
    if pull.state == PrState::Open {
        ctx.ui.caution(&format!(
            "Pull request {} is already open",
            pull_with_title(&pull)
        ));
        return Ok(Exit::Ok);
    }
    let reopened = selected
        .repo
        .reopen(&selected.id, args.comment.as_deref())
        .await?;
    let reopened = ctx.ui.outcome(reopened)?;
    ctx.ui.success(&format!(
        "Reopened pull request {}",
        pull_with_title(&reopened)
    ));
    Ok(Exit::Ok)
}
