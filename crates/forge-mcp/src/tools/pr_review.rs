use forge_core::{
    Error,
    model::{NewReview, NewThread, Side, Verdict},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::write_output;
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrReview;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrReviewInput {
    repo: Option<String>,
    number: String,
    verdict: VerdictArg,
    /// Markdown; request_changes needs one
    body: Option<String>,
    #[serde(default)]
    comments: Vec<Inline>,
    expected_head: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictArg {
    Approve,
    RequestChanges,
    Comment,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inline {
    path: String,
    /// Line of the new file, within the diff; without it: the whole file
    line: Option<u64>,
    start_line: Option<u64>,
    /// left: the old file
    side: Option<CommentSide>,
    body: String,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CommentSide {
    Left,
    Right,
}

impl Tool for PrReview {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_review",
        title: "Review a pull request",
        description: "Submits one review: verdict, body and comments on lines of the diff together. \
                      To answer a thread: pr_comment.",
        effect: ToolEffect::Add,
    };
    type Args = PrReviewInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrReviewInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        if args.comments.len() > 100 {
            return Err(Error::invalid(
                "comments",
                format!("{} comments are too many: at most 100", args.comments.len()),
            )
            .with_hint("submit several reviews")
            .into());
        }
        let verdict = match args.verdict {
            VerdictArg::Approve => Verdict::Approve,
            VerdictArg::RequestChanges => Verdict::RequestChanges,
            VerdictArg::Comment => Verdict::Comment,
        };
        let mut review = NewReview::new(verdict, args.body.unwrap_or_default());
        let comments = args.comments.into_iter();
        review.threads.extend(comments.map(|c| {
            let mut thread = NewThread::new(c.path, c.line, c.body);
            thread.start_line = c.start_line;
            thread.side = match c.side {
                Some(CommentSide::Left) => Side::Left,
                _ => Side::Right,
            };
            thread
        }));
        review.expected_head = args.expected_head;
        let outcome = target.repo.submit_review(&target.id, &review).await?;
        let did = format!("reviewed: {}", write_output::humanize(&outcome.value.state));
        let mut out = write_output::of(call, &target.id, &did, &outcome);
        out.id = Some(outcome.value.id.clone());
        out.threads.clone_from(&outcome.value.threads);
        out.head_oid = outcome.value.commit.clone();
        Ok(write_output::answer(out))
    }
}
