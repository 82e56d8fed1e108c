use forge_core::model::ThreadId;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::write_output;
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrThreadResolve;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrThreadResolveInput {
    repo: Option<String>,
    number: String,
    /// Id, from pr_view include=threads
    thread: String,
    /// Default resolve
    action: Option<ThreadAction>,
}

// Not a boolean: clients in a strict mode send false for an unset argument, and false would mean
// the opposite of the default. (A doc comment would become part of the schema.)
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum ThreadAction {
    Resolve,
    Reopen,
}

impl Tool for PrThreadResolve {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_thread_resolve",
        title: "Resolve a review thread",
        description: "Resolves a review thread, or opens it again with action=reopen. To answer \
                      first: pr_comment with reply_to.",
        effect: ToolEffect::Set,
    };
    type Args = PrThreadResolveInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrThreadResolveInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let thread = ThreadId {
            pr: target.id.clone(),
            key: args.thread,
        };
        let resolved = args.action != Some(ThreadAction::Reopen);
        let outcome = target.repo.resolve_thread(&thread, resolved).await?;
        let did = if outcome.value.resolved {
            "resolved"
        } else {
            "opened again"
        };
        let mut out = write_output::of(call, &target.id, &format!("thread {did}"), &outcome);
        out.id = Some(outcome.value.id.clone());
        Ok(write_output::answer(out))
    }
}
