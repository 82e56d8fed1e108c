use forge_core::{
    Error,
    model::{NewReview, NewThread, Side, Verdict},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::written;
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    output::Written,
};

pub(super) struct PrReview;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    verdict: Given,
    /// Markdown; request_changes needs one
    body: Option<String>,
    #[serde(default)]
    comments: Vec<Inline>,
    expected_head: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Given {
    Approve,
    RequestChanges,
    Comment,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inline {
    path: String,
    /// In the new file, in the diff; none: the whole file
    line: Option<u64>,
    start_line: Option<u64>,
    /// left: the old file
    side: Option<Where>,
    body: String,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Where {
    Left,
    Right,
}

impl Tool for PrReview {
    const SPEC: Spec = Spec {
        name: "pr_review",
        title: "Review a pull request",
        description: "Submits one review: verdict, body and comments on lines of the diff together. \
                      To answer a thread: pr_comment.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        if args.comments.len() > 100 {
            return Err(Error::invalid(
                "comments",
                format!("{} comments are more than 100", args.comments.len()),
            )
            .with_hint("submit several reviews")
            .into());
        }
        let verdict = match args.verdict {
            Given::Approve => Verdict::Approve,
            Given::RequestChanges => Verdict::RequestChanges,
            Given::Comment => Verdict::Comment,
        };
        let mut review = NewReview::new(verdict, args.body.unwrap_or_default());
        let comments = args.comments.into_iter();
        review.threads.extend(comments.map(|c| NewThread {
            path: c.path,
            line: c.line,
            start_line: c.start_line,
            side: match c.side {
                Some(Where::Left) => Side::Left,
                _ => Side::Right,
            },
            body: c.body,
        }));
        review.expected_head = args.expected_head;
        let outcome = target.repo.submit_review(&target.id, &review).await?;
        let did = format!("reviewed: {}", written::spoken(&outcome.value.state));
        let mut out = written::of(call, &target.id, &did, &outcome);
        out.id = Some(outcome.value.id.clone());
        out.threads.clone_from(&outcome.value.threads);
        out.head_oid = outcome.value.commit.clone();
        Ok(written::answer(out))
    }
}
