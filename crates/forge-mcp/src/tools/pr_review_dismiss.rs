use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::written;
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    output::Written,
};

pub(super) struct PrReviewDismiss;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Id, from pr_view include=reviews
    review: String,
    /// Why
    body: String,
}

impl Tool for PrReviewDismiss {
    const SPEC: Spec = Spec {
        name: "pr_review_dismiss",
        title: "Dismiss a review",
        description: "Dismisses an approval or a request for changes, so that it counts no longer.",
        effect: Effect::Destroy,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let outcome = target
            .repo
            .dismiss_review(&target.id, &args.review, &args.body)
            .await?;
        let mut out = written::of(call, &target.id, "review dismissed", &outcome);
        out.id = Some(outcome.value.id.clone());
        Ok(written::answer(out))
    }
}
