use forge_core::{
    Error,
    model::{NewReview, NewThread, PendingReview, Side, Verdict},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::write_output;
use crate::{
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrReview;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrReviewInput {
    repo: Option<String>,
    number: String,
    verdict: VerdictArg,
    body: Option<String>,
    #[serde(default)]
    comments: Vec<Inline>,
    pending: Option<PendingArg>,
    expected_head: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictArg {
    Approve,
    RequestChanges,
    Comment,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PendingArg {
    // `None` is the first choice: clients in a strict mode must send a choice, and send the first
    // one.
    None,
    Keep,
    Submit,
    Discard,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inline {
    path: String,
    /// In diff; omit for whole file
    line: Option<u64>,
    start_line: Option<u64>,
    /// left: old file
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
        description: "Submits one review: verdict, body, comments on lines. pending=keep publishes \
                      nothing yet; submit adds what was kept, discard deletes it.",
        effect: ToolEffect::Replace,
    };
    type Args = PrReviewInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrReviewInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        // On tangled, a review is a comment. It could therefore count as an entry of a workflow's
        // audit trail, so a text of that form is refused.
        write_output::refuse_trail_entry("body", args.body.as_deref().unwrap_or_default())?;
        for comment in &args.comments {
            write_output::refuse_trail_entry("comments", &comment.body)?;
        }
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        if args.pending == Some(PendingArg::Discard) {
            return discard(call, &target, &args).await;
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
        review.pending = match args.pending {
            Some(PendingArg::Keep) => PendingReview::Keep,
            Some(PendingArg::Submit) => PendingReview::Submit,
            Some(PendingArg::Discard | PendingArg::None) | None => PendingReview::Refuse,
        };
        let outcome = target.repo.submit_review(&target.id, &review).await?;
        let before = outcome.value.pending_before;
        let state = write_output::humanize(&outcome.value.state);
        let did = match review.pending {
            PendingReview::Keep => {
                let new = u64::try_from(review.threads.len()).unwrap_or(u64::MAX);
                let count = counted(before.saturating_add(new));
                format!("kept pending: {count}; nobody else sees the review")
            }
            PendingReview::Submit => {
                format!(
                    "reviewed: {state}, with {} that had been pending",
                    counted(before)
                )
            }
            PendingReview::Refuse => format!("reviewed: {state}"),
        };
        let mut out = write_output::of(call, &target.id, &did, &outcome);
        out.id = Some(outcome.value.id.clone());
        out.threads.clone_from(&outcome.value.threads);
        out.head_oid = outcome.value.commit.clone();
        Ok(write_output::answer(out))
    }
}

async fn discard(
    call: &CallContext,
    target: &PullTarget,
    args: &PrReviewInput,
) -> Result<ToolOutput<WriteOut>, ToolError> {
    let says = args.body.is_some() || !args.comments.is_empty();
    if says || args.expected_head.is_some() || !matches!(args.verdict, VerdictArg::Comment) {
        return Err(Error::invalid(
            "pending",
            "pending=discard deletes the pending review, and submits none",
        )
        .with_hint(
            "pass verdict=comment without body, comments and expected_head; submit the review in \
             another call",
        )
        .into());
    }
    let outcome = target.repo.discard_pending_review(&target.id).await?;
    let did = match outcome.already {
        true => "no pending review".to_owned(),
        false => format!("pending review discarded, with {}", counted(outcome.value)),
    };
    let out = write_output::of(call, &target.id, &did, &outcome);
    Ok(write_output::answer(out))
}

fn counted(comments: u64) -> String {
    match comments {
        1 => "1 comment".to_owned(),
        count => format!("{count} comments"),
    }
}
