//! `forge pr revert`.

use clap::Args;
use forge_core::{
    Result,
    model::{PrFields, RevertPull},
};

use super::{body, shared::non_empty};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// `forge pr revert`
#[derive(Args, Debug)]
#[command(mut_args(BodyArgs::with_help(
    "The description",
    "Read the description from a file (\"-\" for standard input)",
)))]
pub struct RevertArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// The description.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Open the pull request as a draft
    #[arg(short, long)]
    pub draft: bool,
    /// The title [default: Revert "…"]
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Creates a pull request that reverts a merged pull request.
///
/// # Errors
///
/// Fails if the pull request is not merged, or later changes conflict.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &RevertArgs) -> Result<Exit> {
    let selected = select::pull(
        ctx,
        repo,
        Some(&args.selector),
        Unnamed::NotWithRepo,
        PrFields::TO_CHANGE,
    )
    .await?;
    let mut req = RevertPull::default();
    req.title = non_empty(args.title.as_ref());
    let (body, file) = (args.body.body.as_deref(), args.body.body_file.as_deref());
    req.body = body::read_new(ctx, body, file, &selected.repo)?;
    req.draft = args.draft;
    let outcome = selected.repo.revert(&selected.id, &req).await?;
    let opened = ctx.ui.outcome(outcome)?;
    ctx.ui.url(&opened.url)?;
    Ok(Exit::Ok)
}
