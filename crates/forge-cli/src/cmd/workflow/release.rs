//! `forge workflow release`: releases a claim, which reserved an issue for one holder.

use clap::Args;
use forge_core::Result;

use super::shared::{CHANGE_FIELDS, IssueArg, selection, show_change};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
};

/// `forge workflow release`
#[derive(Args, Debug)]
pub struct WorkflowReleaseArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// The id of the claim, as claim or pick printed it
    #[arg(long, value_name = "id")]
    pub claim: String,
    /// Why, in one line
    #[arg(long, value_name = "text")]
    pub reason: Option<String>,
    /// A state or intent of the claim's command [default: the state before the claim]
    #[arg(long, value_name = "state")]
    pub to: Option<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Releases the claim.
///
/// # Errors
///
/// Fails if the claim has ended.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowReleaseArgs) -> Result<Exit> {
    let selection = selection(&args.json, CHANGE_FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let (to, reason) = (args.to.as_deref(), args.reason.as_deref());
    let outcome = workflow.release(&id, &args.claim, to, reason).await?;
    show_change(ctx, selection.as_ref(), outcome)
}
