use forge::workflow::PickRequest;
use forge_core::model::IssueId;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{issue_write_output::non_blank, workflow_parts::PickOut};
use crate::calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec};

pub(super) struct WorkflowPick;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowPickInput {
    repo: Option<String>,
    /// Command or role that takes issues
    command: Option<String>,
    /// Pick only from this state
    state: Option<String>,
    /// Skips larger issues
    max_estimate: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkflowPickOut {
    repo: String,
    #[serde(flatten)]
    pick: PickOut,
    /// Number of issues read
    scanned: usize,
    /// More issues were not read
    truncated: bool,
}

impl Tool for WorkflowPick {
    const SPEC: ToolSpec = ToolSpec {
        name: "workflow_pick",
        title: "Pick the next issue",
        description: "The issue to work on next, and why: open, unclaimed, not blocked. Does not \
                      claim it: workflow_claim without issue picks and claims in one. Recovery: \
                      pass command or state.",
        effect: ToolEffect::Read,
    };
    type Args = WorkflowPickInput;
    type Out = WorkflowPickOut;

    async fn run(
        call: &CallContext,
        args: WorkflowPickInput,
    ) -> Result<ToolOutput<WorkflowPickOut>, ToolError> {
        let repo = call.repo(non_blank(args.repo).as_deref()).await?;
        let workflow = call.server.forges().workflow(&repo).await?;
        let (command, state) = (non_blank(args.command), non_blank(args.state));
        let max_estimate = non_blank(args.max_estimate);
        let mut req = PickRequest::default();
        req.state = state.as_deref();
        req.command = command.as_deref();
        req.max_estimate = max_estimate.as_deref();
        let picked = workflow.pick(&req).await?;
        let own = IssueId::number(repo.id().clone(), 0);
        let pick = PickOut::of(call, workflow.definition(), &own, &picked.pick);
        let more = if picked.truncated { " of more" } else { "" };
        let text = pick.text() + &format!("read {} issues{more}", picked.scanned);
        Ok(ToolOutput {
            text,
            data: WorkflowPickOut {
                repo: repo.id().to_string(),
                pick,
                scanned: picked.scanned,
                truncated: picked.truncated,
            },
        })
    }
}
