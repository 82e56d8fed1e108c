use forge_core::Error;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{issue_write_output::non_blank, write_output};
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    output::WriteOut,
};

pub(super) struct PrComment;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrCommentInput {
    repo: Option<String>,
    number: String,
    /// Markdown
    body: Option<String>,
    /// Id of the comment or thread to answer
    reply_to: Option<String>,
    /// Id of the comment to replace
    edit: Option<String>,
    /// Id of the comment to delete
    delete: Option<String>,
}

impl Tool for PrComment {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_comment",
        title: "Comment on a pull request",
        description: "Comments, or answers a comment or thread; edit replaces a comment, delete \
                      removes one. Change others' comments only if the user says so. For comments \
                      on lines or a verdict: pr_review. To resolve a thread: pr_thread_resolve.",
        effect: ToolEffect::Replace,
    };
    type Args = PrCommentInput;
    type Out = WriteOut;

    async fn run(
        call: &CallContext,
        args: PrCommentInput,
    ) -> Result<ToolOutput<WriteOut>, ToolError> {
        // On GitHub, a comment on a pull request is also a comment on the issue with its number. It
        // could therefore count as an entry of a workflow's audit trail, so a text of that form is
        // refused.
        write_output::refuse_trail_entry("body", args.body.as_deref().unwrap_or_default())?;
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let (repo, pr) = (&target.repo, &target.id);
        let named = (
            non_blank(args.reply_to),
            non_blank(args.edit),
            non_blank(args.delete),
        );
        let (did, outcome) = match (non_blank(args.body), named) {
            (Some(body), (None, None, None)) => ("commented", repo.comment(pr, &body, None).await?),
            (Some(body), (Some(key), None, None)) => {
                let to = call.comment(&target, key).await?;
                ("answered", repo.comment(pr, &body, Some(&to)).await?)
            }
            (Some(body), (None, Some(key), None)) => {
                let id = call.comment(&target, key).await?;
                ("comment replaced", repo.edit_comment(&id, &body).await?)
            }
            (None, (None, None, Some(key))) => {
                let id = call.comment(&target, key).await?;
                let gone = repo.delete_comment(&id).await?;
                let mut out = write_output::of(call, pr, "comment deleted", &gone);
                out.id = Some(id.key);
                return Ok(write_output::answer(out));
            }
            (body, named) => {
                let why = match (body, named.2) {
                    (None, None) => "body is missing",
                    _ => "these arguments do not go together",
                };
                return Err(Error::invalid("body", why)
                    .with_hint("pass body, perhaps with reply_to or edit; or delete alone")
                    .into());
            }
        };
        let mut out = write_output::of(call, pr, did, &outcome);
        out.id = Some(outcome.value.id.clone());
        out.url = Some(call.cleaner.line(&outcome.value.url));
        Ok(write_output::answer(out))
    }
}
