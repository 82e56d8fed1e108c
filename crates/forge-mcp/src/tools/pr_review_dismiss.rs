use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::write_output;
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrReviewDismiss;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrReviewDismissInput {
    repo: Option<String>,
    number: String,
    /// Id, from pr_view include=reviews
    review: String,
    /// Reason for the author of the review
    body: String,
}

impl Tool for PrReviewDismiss {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_review_dismiss",
        title: "Dismiss a review",
        description: "Dismisses an approval or a request for changes, so that it no longer \
                      counts.",
        effect: ToolEffect::Destroy,
    };
    type Args = PrReviewDismissInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrReviewDismissInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let outcome = target
            .repo
            .dismiss_review(&target.id, &args.review, &args.body)
            .await?;
        let mut out = write_output::of(call, &target.id, "review dismissed", &outcome);
        out.id = Some(outcome.value.id.clone());
        Ok(write_output::answer(out))
    }
}
