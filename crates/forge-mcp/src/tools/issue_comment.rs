use forge_core::Error;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{
    issue_write_output::{IssueWritten, non_blank, of_comment},
    write_output::refuse_trail_entry,
};
use crate::calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec};

pub(super) struct IssueComment;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueCommentInput {
    repo: Option<String>,
    /// Number or URL
    issue: String,
    /// Markdown
    body: Option<String>,
    /// Id of the comment to replace
    edit: Option<String>,
    /// Id of the comment to delete
    delete: Option<String>,
    /// With edit: the issue's version
    expected_version: Option<String>,
}

impl Tool for IssueComment {
    const SPEC: ToolSpec = ToolSpec {
        name: "issue_comment",
        title: "Comment on an issue",
        description: "Comments with body; edit replaces a comment, delete removes one. Change \
                      others' comments only if the user says so. Recovery: issue_view \
                      include=comments has the ids; look there before repeating a call whose answer \
                      was lost.",
        effect: ToolEffect::Replace,
    };
    type Args = IssueCommentInput;
    type Out = IssueWritten;

    async fn run(
        call: &CallContext,
        args: IssueCommentInput,
    ) -> Result<ToolOutput<IssueWritten>, ToolError> {
        let (body, edit, delete) = (
            non_blank(args.body),
            non_blank(args.edit),
            non_blank(args.delete),
        );
        refuse_trail_entry("body", body.as_deref().unwrap_or_default())?;
        let target = call
            .issue(non_blank(args.repo).as_deref(), &args.issue)
            .await?;
        let (repo, issue) = (&target.repo, &target.id);
        let version = non_blank(args.expected_version);
        match (body, edit, delete) {
            (Some(body), None, None) if version.is_none() => {
                let made = repo.create_issue_comment(issue, &body).await?;
                let of = (made.value.id.as_str(), made.value.url.as_str());
                Ok(of_comment(call, issue, "commented", of, &made))
            }
            (Some(body), Some(id), None) => {
                let made = repo
                    .edit_issue_comment(issue, &id, &body, version.as_deref())
                    .await?;
                let of = (made.value.id.as_str(), made.value.url.as_str());
                Ok(of_comment(call, issue, "comment replaced", of, &made))
            }
            (None, None, Some(id)) if version.is_none() => {
                let gone = repo.delete_issue_comment(issue, &id).await?;
                Ok(of_comment(call, issue, "comment deleted", (&id, ""), &gone))
            }
            (body, _, delete) => {
                let why = match (body, delete) {
                    (None, None) => "body is missing",
                    _ => "these arguments do not go together",
                };
                Err(Error::invalid("body", why)
                    .with_hint(
                        "pass body; body and edit, perhaps with expected_version; or delete alone",
                    )
                    .into())
            }
        }
    }
}
