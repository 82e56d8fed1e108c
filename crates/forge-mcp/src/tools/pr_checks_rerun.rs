use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::write_output;
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::name_of,
    output::WriteOut,
};

pub(super) struct PrChecksRerun;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrChecksRerunInput {
    repo: Option<String>,
    number: String,
}

impl Tool for PrChecksRerun {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_checks_rerun",
        title: "Run failed checks again",
        description: "Runs the failed and cancelled checks of the head commit again. To wait: \
                      pr_context wait_for=checks.",
        effect: ToolEffect::Add,
    };
    type Args = PrChecksRerunInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrChecksRerunInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let outcome = target.repo.rerun_failed_checks(&target.id).await?;
        let names: Vec<String> = outcome.value.iter().map(|c| name_of(&c.name)).collect();
        let did = match names.is_empty() {
            true => "nothing to run again".to_owned(),
            false => format!("running again: {}", names.join(", ")),
        };
        Ok(write_output::answer(write_output::of(
            call, &target.id, &did, &outcome,
        )))
    }
}
