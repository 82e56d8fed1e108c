use forge_core::model::ThreadId;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::written;
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    output::Written,
};

pub(super) struct PrThreadResolve;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Id, from pr_view include=threads
    thread: String,
    /// Default true
    resolved: Option<bool>,
}

impl Tool for PrThreadResolve {
    const SPEC: Spec = Spec {
        name: "pr_thread_resolve",
        title: "Resolve a review thread",
        description: "Resolves a review thread, or opens it again with resolved=false. Answers \
                      nothing: pr_comment with reply_to first.",
        effect: Effect::Set,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let thread = ThreadId {
            pr: target.id.clone(),
            key: args.thread,
        };
        let outcome = target
            .repo
            .resolve_thread(&thread, args.resolved.unwrap_or(true))
            .await?;
        let did = if outcome.value.resolved {
            "resolved"
        } else {
            "opened again"
        };
        let mut out = written::of(call, &target.id, &format!("thread {did}"), &outcome);
        out.id = Some(outcome.value.id.clone());
        Ok(written::answer(out))
    }
}
