use forge_core::{Error, Precondition, model::PrFields};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use crate::{
    output::Written,
    server::{Answer, Call, Effect, Spec, Stop, Tool},
};

pub(super) struct PrResubmit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
}

impl Tool for PrResubmit {
    const SPEC: Spec = Spec {
        name: "pr_resubmit",
        title: "Submit a new round",
        description: "Submits the changed head as a new round where the forge has rounds; \
                      elsewhere says which branch to push to.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let pull = target.repo.view(&target.id, PrFields::ROW).await?;
        let branch = call.cleaner.line(&pull.head_branch);
        let from = match &pull.head_repo {
            Some(fork) => format!(" of {fork}"),
            None => String::new(),
        };
        Err(Error::precondition(
            Precondition::Rule,
            format!(
                "{} has no rounds to submit: what is pushed to its head branch is its next version",
                target.id
            ),
        )
        .with_hint(format!("push to branch {branch}{from}"))
        .into())
    }
}
