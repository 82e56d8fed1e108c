//! `forge workflow claim`: claims an issue, which reserves the issue for one holder.

use clap::Args;
use forge::workflow::ClaimRequest;
use forge_core::Result;

use super::shared::{CHANGE_FIELDS, HolderArgs, IssueArg, command_named, selection, show_change};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
};

/// `forge workflow claim`
#[derive(Args, Debug)]
pub struct WorkflowClaimArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// The workflow's command that works on the issue, such as research
    #[arg(short, long, value_name = "name")]
    pub command: Option<String>,
    /// Replace the claim of another holder; needs --reason
    #[arg(long, requires = "reason")]
    pub force: bool,
    /// Holder of the claim.
    #[command(flatten)]
    pub holder: HolderArgs,
    /// Why, in one line
    #[arg(long, value_name = "text")]
    pub reason: Option<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Claims an issue.
///
/// # Errors
///
/// Fails if another holder has a claim, or work on the issue is not allowed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowClaimArgs) -> Result<Exit> {
    let selection = selection(&args.json, CHANGE_FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let command = command_named(workflow.definition(), args.command.as_deref())?;
    let mut req = ClaimRequest::new(command);
    req.holder = args.holder.holder.as_deref();
    req.lease_s = args.holder.lease;
    req.reason = args.reason.as_deref();
    req.force = args.force;
    show_change(ctx, selection.as_ref(), workflow.claim(&id, &req).await?)
}
