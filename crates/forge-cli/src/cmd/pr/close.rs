//! `forge pr close`.

use forge_core::{
    Result,
    model::{CloseReq, PrFields, PrState},
};

use super::shared::pull_with_title;
use crate::{
    args::pr::CloseArgs,
    cmd::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// Runs it.
///
/// # Errors
/// When the pull request cannot be closed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &CloseArgs) -> Result<Exit> {
    let mut selected = select::pull(
        ctx,
        repo,
        Some(&args.selector),
        Unnamed::NotWithRepo,
        PrFields::NONE,
    )
    .await?;
    let pull = selected.view(PrFields::NONE).await?;
    if pull.state == PrState::Closed {
        ctx.ui.caution(&format!(
            "Pull request {} is already closed",
            pull_with_title(&pull)
        ));
        return Ok(Exit::Ok);
    }
    let req = CloseReq {
        comment: args.comment.clone(),
        delete_branch: args.delete_branch,
    };
    let closed = ctx
        .ui
        .outcome(selected.repo.close(&selected.id, &req).await?)?;
    ctx.ui
        .success(&format!("Closed pull request {}", pull_with_title(&closed)));
    Ok(Exit::Ok)
}
