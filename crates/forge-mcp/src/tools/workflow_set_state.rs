use forge::workflow::MoveRequest;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    issue_write_output::non_blank,
    workflow_parts::{WorkflowChangeOut, moved, workflow_of},
};
use crate::calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec};

pub(super) struct WorkflowSetState;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowSetStateInput {
    repo: Option<String>,
    /// Number or URL
    issue: String,
    /// State, or intent like __COMPLETE__
    state: String,
    /// Command that moves it
    #[schemars(required)]
    command: Option<String>,
    reason: Option<String>,
    /// Id of your claim
    claim: Option<String>,
    /// Ignore another claim; needs reason
    #[serde(default)]
    force: bool,
    /// Allow only moves along the graph; needs reason
    #[serde(default)]
    handoff: bool,
}

impl Tool for WorkflowSetState {
    const SPEC: ToolSpec = ToolSpec {
        name: "workflow_set_state",
        title: "Move an issue to a state",
        description: "Moves an issue to a state that command allows. A state with a lock claims it, \
                      other states end your claim, a final state closes it. Recovery: the error \
                      lists the command's states and intents; after a conflict workflow_view.",
        effect: ToolEffect::Set,
    };
    type Args = WorkflowSetStateInput;
    type Out = WorkflowChangeOut;

    async fn run(
        call: &CallContext,
        args: WorkflowSetStateInput,
    ) -> Result<ToolOutput<WorkflowChangeOut>, ToolError> {
        let target = call
            .issue(non_blank(args.repo).as_deref(), &args.issue)
            .await?;
        let workflow = workflow_of(call, &target).await?;
        let (reason, claim) = (non_blank(args.reason), non_blank(args.claim));
        // A missing command is passed on as an empty one, because the workflow's error then lists
        // the known commands.
        let command = args.command.as_deref().unwrap_or_default();
        let mut req = MoveRequest::new(&args.state, command);
        req.reason = reason.as_deref();
        req.claim = claim.as_deref();
        req.force = args.force;
        let outcome = match args.handoff {
            true => workflow.handoff(&target.id, &req).await?,
            false => workflow.set_state(&target.id, &req).await?,
        };
        Ok(moved(call, workflow.definition(), &outcome))
    }
}
