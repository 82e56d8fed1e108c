//! `forge pr close`.

use clap::Args;
use forge_core::{
    Result,
    model::{CloseReq, PrFields, PrState},
};

use super::{
    clone_branch::{self, BaseUpdate},
    shared::{non_empty, pull_with_title},
};
use crate::{
    args::wait::WaitArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// `forge pr close`
#[derive(Args, Debug, Default)]
pub struct CloseArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// Also leave a comment
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// Delete the head branch afterwards
    #[arg(short, long)]
    pub delete_branch: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Closes a pull request.
///
/// # Errors
///
/// Fails if the pull request cannot be closed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &CloseArgs) -> Result<Exit> {
    let selected = select::pull(
        ctx,
        repo,
        Some(&args.selector),
        Unnamed::NotWithRepo,
        PrFields::TO_CHANGE,
    )
    .await?;
    let mut req = CloseReq::default();
    req.comment = non_empty(args.comment.as_ref());
    req.delete_branch = args.delete_branch;
    if req.delete_branch && clone_branch::is_on_head_branch(ctx, &selected).await? {
        let pull = selected.repo.pull(&selected.id, PrFields::NONE).await?;
        if pull.state == PrState::Open {
            clone_branch::switch_to_base(ctx, &pull).await?;
            // A hook may commit during the switch, so the branch is deleted only if it is still at
            // the head that was read before.
            req.expected_head = pull.head_oid;
        }
    }
    let outcome = selected.repo.close(&selected.id, &req).await?;
    let complete = !outcome.already && outcome.steps.iter().all(|step| step.done);
    let name = pull_with_title(&outcome.value);
    let steps = outcome.steps.clone();
    let closed = if outcome.already {
        ctx.ui
            .report_unchanged(outcome, &format!("Pull request {name} is already closed"))?
    } else {
        let closed = ctx.ui.outcome(outcome)?;
        ctx.ui.success(&format!("Closed pull request {name}"));
        closed
    };
    clone_branch::report_deleted(ctx, &selected.repo, &steps).await;
    // If the forge keeps the branch, the local branch is also kept.
    if req.delete_branch && complete {
        clone_branch::delete_local_branch(ctx, repo, &selected.repo, &closed, BaseUpdate::Same)
            .await?;
    }
    Ok(Exit::Ok)
}
