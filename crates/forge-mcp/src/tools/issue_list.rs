use forge_core::model::{IssueFields, IssueFilter, IssueQuery};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    issue_written::{board, given, names},
    listing::{self, ListRequest, ListRow},
};
use crate::{
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    content::Clean,
    output::{IssueOut, WarningOut},
};

pub(super) struct IssueList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    /// Default open
    state: Option<State>,
    /// Login, or @me
    author: Option<String>,
    assignee: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    limit: Option<u64>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    Open,
    Closed,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Out {
    repo: String,
    issues: Vec<IssueOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Looked at to find these, where a filter runs on our side
    #[serde(skip_serializing_if = "Option::is_none")]
    scanned: Option<u64>,
    /// Who answered, where several can
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for IssueList {
    const SPEC: Spec = Spec {
        name: "issue_list",
        title: "List issues",
        description: "Issues, newest first, a line each with labels and field values; issue_view has \
                      bodies. Recovery: start again without cursor when rows moved.",
        effect: Effect::Read,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
        let repo = call.repo(given(args.repo).as_deref()).await?;
        let query = IssueQuery {
            state: match args.state.unwrap_or(State::Open) {
                State::Open => IssueFilter::Open,
                State::Closed => IssueFilter::Closed,
                State::All => IssueFilter::All,
            },
            author: given(args.author),
            assignee: given(args.assignee),
            labels: names(args.labels),
            fields: IssueFields {
                board: board(call, &repo)?,
                ..IssueFields::NONE
            },
            ..IssueQuery::default()
        };
        let cursor = given(args.cursor);
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
        Ok(Answer {
            text: listing.text,
            data: Out {
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
