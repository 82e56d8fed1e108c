use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::written;
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    output::Written,
};

pub(super) struct PrComment;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Markdown
    body: String,
    /// Id of the comment or thread to answer
    reply_to: Option<String>,
}

impl Tool for PrComment {
    const SPEC: Spec = Spec {
        name: "pr_comment",
        title: "Comment on a pull request",
        description: "Comments, or answers a comment or thread. For comments on lines or a verdict: \
                      pr_review. Does not resolve: pr_thread_resolve.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let reply_to = match args.reply_to {
            Some(key) => Some(call.comment(&target, key).await?),
            None => None,
        };
        let outcome = target
            .repo
            .comment(&target.id, &args.body, reply_to.as_ref())
            .await?;
        let did = if reply_to.is_some() {
            "answered"
        } else {
            "commented"
        };
        let mut out = written::of(call, &target.id, did, &outcome);
        out.id = Some(outcome.value.id.clone());
        out.url = Some(call.cleaner.line(&outcome.value.url));
        Ok(written::answer(out))
    }
}
