use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::written;
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    content::name_of,
    output::Written,
};

pub(super) struct PrChecksRerun;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
}

impl Tool for PrChecksRerun {
    const SPEC: Spec = Spec {
        name: "pr_checks_rerun",
        title: "Run failed checks again",
        description: "Runs the failed and cancelled checks of the head commit again. To wait: \
                      pr_context wait_for=checks.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let outcome = target.repo.rerun_failed_checks(&target.id).await?;
        let names: Vec<String> = outcome.value.iter().map(|c| name_of(&c.name)).collect();
        let did = match names.is_empty() {
            true => "nothing to run again".to_owned(),
            false => format!("running again: {}", names.join(", ")),
        };
        Ok(written::answer(written::of(
            call, &target.id, &did, &outcome,
        )))
    }
}
