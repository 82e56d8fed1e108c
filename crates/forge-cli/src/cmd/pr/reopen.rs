//! `forge pr reopen`.

use clap::Args;
use forge_core::{Result, model::PrFields};

use super::shared::{non_empty, pull_with_title};
use crate::{
    args::wait::WaitArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// `forge pr reopen`
#[derive(Args, Debug, Default)]
pub struct ReopenArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// Also leave a comment
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Reopens a pull request.
///
/// # Errors
///
/// Fails if the pull request cannot be reopened.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ReopenArgs) -> Result<Exit> {
    let selected = select::pull(
        ctx,
        repo,
        Some(&args.selector),
        Unnamed::NotWithRepo,
        PrFields::TO_CHANGE,
    )
    .await?;
    let reopened = selected
        .repo
        .reopen(&selected.id, non_empty(args.comment.as_ref()).as_deref())
        .await?;
    if reopened.already {
        let name = pull_with_title(&reopened.value);
        ctx.ui
            .report_unchanged(reopened, &format!("Pull request {name} is already open"))?;
        return Ok(Exit::Ok);
    }
    let reopened = ctx.ui.outcome(reopened)?;
    ctx.ui.success(&format!(
        "Reopened pull request {}",
        pull_with_title(&reopened)
    ));
    Ok(Exit::Ok)
}
