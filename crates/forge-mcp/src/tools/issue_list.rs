use forge_core::model::{IssueFields, IssueFilter, IssueQuery};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    issue_write_output::{board, names, non_blank},
    listing::{self, ListRequest, ListRow},
};
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::Clean,
    output::{IssueOut, WarningOut},
};

pub(super) struct IssueList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueListInput {
    repo: Option<String>,
    /// Default open
    state: Option<IssueListState>,
    /// Login, or @me
    author: Option<String>,
    assignee: Option<String>,
    /// All of these
    #[serde(default)]
    labels: Vec<String>,
    /// Words, GitHub qualifiers
    search: Option<String>,
    limit: Option<u64>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IssueListState {
    Open,
    Closed,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IssueListOut {
    repo: String,
    issues: Vec<IssueOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Number of issues read to find these; absent if the forge filters
    #[serde(skip_serializing_if = "Option::is_none")]
    scanned: Option<u64>,
    /// Which service answered, if several can
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for IssueList {
    const SPEC: ToolSpec = ToolSpec {
        name: "issue_list",
        title: "List issues",
        description: "Issues, newest first, a line each with labels and field values; issue_view has \
                      bodies. Recovery: if a cursor is refused, start without it.",
        effect: ToolEffect::Read,
    };
    type Args = IssueListInput;
    type Out = IssueListOut;

    async fn run(
        call: &CallContext,
        args: IssueListInput,
    ) -> Result<ToolOutput<IssueListOut>, ToolError> {
        let repo = call.repo(non_blank(args.repo).as_deref()).await?;
        let mut query = IssueQuery::default();
        query.state = match args.state.unwrap_or(IssueListState::Open) {
            IssueListState::Open => IssueFilter::Open,
            IssueListState::Closed => IssueFilter::Closed,
            IssueListState::All => IssueFilter::All,
        };
        query.author = non_blank(args.author);
        query.assignee = non_blank(args.assignee);
        query.labels = names(args.labels);
        query.search = non_blank(args.search);
        query.fields = IssueFields::NONE;
        query.fields.board = board(call, &repo)?;
        let cursor = non_blank(args.cursor);
        let limit = listing::limit(&repo, args.limit);
        let request = ListRequest {
            tool: Self::SPEC.name,
            bound: &(repo.id().comparison_key(), &query, limit),
            cursor: cursor.as_deref(),
            limit,
            max_chars: args.max_chars,
            noun: "issues",
        };
        let page = repo.issues(&query, request.page()?).await?;
        let rows = page.items.iter().map(|issue| {
            let data = IssueOut::of(issue, &call.cleaner);
            ListRow {
                key: issue.id.key.to_string(),
                line: data.row(),
                data,
                warnings: &issue.warnings,
            }
        });
        let listing = request.listing(call, &repo, &page, rows.collect(), IssueOut::shorten)?;
        Ok(ToolOutput {
            text: listing.text,
            data: IssueListOut {
                repo: repo.id().to_string(),
                issues: listing.rows,
                total: page.total,
                scanned: page.scanned,
                source: listing.source,
                next_cursor: listing.next_cursor,
                warnings: listing.warnings,
            },
        })
    }
}
