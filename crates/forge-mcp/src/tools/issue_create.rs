use std::collections::BTreeMap;

use forge_core::model::NewIssue;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::issue_written::{IssueWritten, board, given, names, of_issue, related};
use crate::calls::{Answer, Call, Effect, Spec, Stop, Tool};

pub(super) struct IssueCreate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
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
    #[serde(default)]
    blocked_by: Vec<String>,
    /// Field to value, such as {"Priority": "P1"}
    #[serde(default)]
    values: BTreeMap<String, String>,
}

impl Tool for IssueCreate {
    const SPEC: Spec = Spec {
        name: "issue_create",
        title: "Open an issue",
        description: "Opens an issue; labels must exist. Recovery: after a lost answer look for the \
                      title in issue_list before calling again, as each call opens one.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = IssueWritten;

    async fn run(call: &Call, args: Args) -> Result<Answer<IssueWritten>, Stop> {
        let repo = call.repo(given(args.repo).as_deref()).await?;
        let mut values = args.values;
        values.retain(|_, value| !value.trim().is_empty());
        let mut new = NewIssue {
            title: args.title,
            body: args.body.unwrap_or_default(),
            labels: names(args.labels),
            assignees: names(args.assignees),
            values,
            ..NewIssue::default()
        };
        new.board = board(call, &repo)?.filter(|_| !new.values.is_empty());
        if let Some(parent) = given(args.parent) {
            new.parent = Some(call.related(&repo, "parent", &parent).await?);
        }
        new.blocked_by = related(call, &repo, "blocked_by", args.blocked_by).await?;
        let outcome = repo.create_issue(&new).await?;
        Ok(of_issue(call, "opened", &outcome))
    }
}
