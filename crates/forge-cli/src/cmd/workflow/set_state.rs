//! `forge workflow set-state` and `forge workflow handoff`: move one issue.

use clap::Args;
use forge::workflow::MoveRequest;
use forge_core::Result;

use super::shared::{CHANGE_FIELDS, HolderArgs, IssueArg, command_named, selection, show_change};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
};

/// `forge workflow set-state` and `forge workflow handoff`
#[derive(Args, Debug)]
pub struct WorkflowSetStateArgs {
    /// The issue.
    #[command(flatten)]
    pub issue: IssueArg,
    /// A state, or an intent such as __COMPLETE__
    #[arg(value_name = "state")]
    pub state: String,
    /// The id of your claim
    #[arg(long, value_name = "id")]
    pub claim: Option<String>,
    /// The workflow's command that moves the issue, such as research
    #[arg(short, long, value_name = "name")]
    pub command: Option<String>,
    /// Move the issue although another holder has claimed it; needs --reason
    #[arg(long, requires = "reason")]
    pub force: bool,
    /// Holder of the claim, if the move makes a claim.
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

/// Moves the issue. If `hands_off` is true, the move is a handoff, which needs a reason and follows
/// the workflow graph.
///
/// # Errors
///
/// Fails if the move to the state is not allowed, or another holder has a claim. In both cases
/// nothing is written.
pub async fn run(
    ctx: &Ctx,
    repo: Option<&str>,
    args: &WorkflowSetStateArgs,
    hands_off: bool,
) -> Result<Exit> {
    let selection = selection(&args.json, CHANGE_FIELDS)?;
    let (workflow, id) = args.issue.open(ctx, repo).await?;
    let command = command_named(workflow.definition(), args.command.as_deref())?;
    let mut req = MoveRequest::new(&args.state, command);
    req.reason = args.reason.as_deref();
    req.claim = args.claim.as_deref();
    req.holder = args.holder.holder.as_deref();
    req.lease_s = args.holder.lease;
    req.force = args.force;
    let outcome = match hands_off {
        true => workflow.handoff(&id, &req).await?,
        false => workflow.set_state(&id, &req).await?,
    };
    show_change(ctx, selection.as_ref(), outcome)
}
