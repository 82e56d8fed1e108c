use forge_core::{
    ErrorKind,
    model::{PrFields, Resubmit},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::write_output;
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrResubmit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrResubmitInput {
    repo: Option<String>,
    number: String,
    /// git format-patch text; default: the head branch's commits
    patch: Option<String>,
    /// Comment on the new round
    comment: Option<String>,
}

impl Tool for PrResubmit {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_resubmit",
        title: "Submit a new round",
        description: "Submits the changed head as a new round if the forge has rounds; else names \
                      the branch to push to. Title and description: pr_edit.",
        effect: ToolEffect::Add,
    };
    type Args = PrResubmitInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrResubmitInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let mut req = Resubmit::default();
        req.patch = args.patch.map(String::into_bytes);
        req.comment = args.comment;
        match target.repo.resubmit(&target.id, &req).await {
            Ok(outcome) => Ok(write_output::of_pull(
                call,
                "submitted a round of",
                &outcome,
            )),
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => {
                let pull = target.repo.pull(&target.id, PrFields::ROW).await?;
                let branch = call.cleaner.line(&pull.head_branch);
                let from = match &pull.head_repo {
                    Some(fork) => format!(" of {fork}"),
                    None if pull.is_cross_repository() => {
                        " of a repository that was deleted or is not visible".to_owned()
                    }
                    None => String::new(),
                };
                Err(e.with_hint(format!("push to branch {branch}{from}")).into())
            }
            Err(e) => Err(e.into()),
        }
    }
}
