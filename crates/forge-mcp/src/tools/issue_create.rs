use forge::workflow::with_setup;
use forge_core::model::{EditIssue, NewIssue};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::issue_write_output::{
    IssueWritten, board, names, non_blank, of_issue, pairs, put_values, related,
};
use crate::calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec};

pub(super) struct IssueCreate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueCreateInput {
    repo: Option<String>,
    title: String,
    /// Markdown
    body: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    assignees: Vec<String>,
    /// Number or URL
    parent: Option<String>,
    /// Numbers or URLs
    #[serde(default)]
    blocked_by: Vec<String>,
    /// Fields, such as Priority=P1
    #[serde(default)]
    values: Vec<String>,
}

impl Tool for IssueCreate {
    const SPEC: ToolSpec = ToolSpec {
        name: "issue_create",
        title: "Open an issue",
        description: "Opens an issue; labels must exist. Recovery: after a lost answer look for the \
                      title in issue_list before calling again, as each call opens one.",
        effect: ToolEffect::Add,
    };
    type Args = IssueCreateInput;
    type Out = IssueWritten;

    async fn run(
        call: &CallContext,
        args: IssueCreateInput,
    ) -> Result<ToolOutput<IssueWritten>, ToolError> {
        let repo = call.repo(non_blank(args.repo).as_deref()).await?;
        let mut kept = EditIssue::default();
        let values = pairs(args.values)?.into_iter();
        kept.values = values.map(|(name, value)| (name, Some(value))).collect();
        kept.board = board(call, &repo)?.filter(|_| !kept.values.is_empty());
        kept.labels.add = names(args.labels);
        let labelled = put_values(call, &repo, None, &mut kept).await?;
        let values = kept.values.into_iter();
        let mut new = NewIssue::new(args.title, args.body.unwrap_or_default());
        new.labels = kept.labels.add;
        new.assignees = names(args.assignees);
        new.values = values
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        new.board = kept.board;
        if let Some(parent) = non_blank(args.parent) {
            new.parent = Some(call.related(&repo, "parent", &parent).await?);
        }
        new.blocked_by = related(call, &repo, "blocked_by", args.blocked_by).await?;
        let made = repo.create_issue(&new).await;
        let outcome = made.map_err(|e| if labelled { with_setup(e) } else { e })?;
        Ok(of_issue(call, "opened", &outcome))
    }
}
