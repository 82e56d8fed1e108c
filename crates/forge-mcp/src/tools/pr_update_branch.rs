use forge_core::model::{PrFields, UpdateBranch, UpdateMethod};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    agreed::{Question, Said, agreed},
    written,
};
use crate::{
    output::Written,
    server::{Answer, Call, Effect, Spec, Stop, Tool},
};

pub(super) struct PrUpdateBranch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Default merge; rebase rewrites the branch, asks the user
    method: Option<Method>,
    /// Refuse if the head is another
    expected_head: Option<String>,
    /// Only for clients that cannot ask
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Method {
    Merge,
    Rebase,
}

impl Tool for PrUpdateBranch {
    const SPEC: Spec = Spec {
        name: "pr_update_branch",
        title: "Update the head branch",
        description: "Brings the head branch up to date with the base. Merges no pull request: \
                      pr_merge. Resolves no conflicts.",
        effect: Effect::Destroy,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let mut req = UpdateBranch {
            expected_head: args.expected_head.clone(),
            ..UpdateBranch::default()
        };
        if args.method == Some(Method::Rebase) {
            req.method = UpdateMethod::Rebase;
            let pull = target.repo.view(&target.id, PrFields::ROW).await?;
            let question = format!(
                "Rewrite the branch {} of {} \"{}\" on top of {}? Whoever has it has to fetch it again.",
                call.cleaner.line(&pull.head_branch),
                target.id,
                call.cleaner.line(&pull.title),
                call.cleaner.line(&pull.base_branch),
            );
            let said = Said {
                head: args.expected_head.as_deref(),
                confirm: args.confirm.as_deref(),
            };
            agreed(call, &target, &pull, &said, Question::of(&question)).await?;
            // What was agreed to is what is rewritten.
            req.expected_head = pull.head_oid;
        }
        let outcome = target.repo.update_branch(&target.id, &req).await?;
        Ok(written::of_pull(call, "head branch updated", &outcome))
    }
}
