use forge_core::{
    Error,
    model::{PrFields, PullQuery, StateFilter},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    listing::{self, ListRequest, ListRow},
    pr_edit::DraftState,
};
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::Clean,
    output::{Format, RowOut, WarningOut},
};

pub(super) struct PrList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrListInput {
    repo: Option<String>,
    /// Default open
    state: Option<PrListState>,
    /// Login, or @me
    author: Option<String>,
    assignee: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    base: Option<String>,
    head: Option<String>,
    draft: Option<DraftState>,
    /// Words, GitHub qualifiers
    search: Option<String>,
    /// Paths, globs
    #[serde(default)]
    touches: Vec<String>,
    limit: Option<u64>,
    /// detailed adds opening time, URL
    format: Option<Format>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PrListState {
    Open,
    Closed,
    Merged,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PrListOut {
    repo: String,
    pull_requests: Vec<RowOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Number of pull requests read to find these; absent if the forge filters
    #[serde(skip_serializing_if = "Option::is_none")]
    scanned: Option<u64>,
    /// With touches: whether every pull request was checked
    #[serde(skip_serializing_if = "Option::is_none")]
    scan_complete: Option<bool>,
    /// Which service answered, if several can
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for PrList {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_list",
        title: "List pull requests",
        description: "Pull requests, newest first, a line each with checks and reviews; pr_view has \
                      bodies.",
        effect: ToolEffect::Read,
    };
    type Args = PrListInput;
    type Out = PrListOut;

    async fn run(
        call: &CallContext,
        args: PrListInput,
    ) -> Result<ToolOutput<PrListOut>, ToolError> {
        check_head(args.head.as_deref())?;
        let repo = call.repo(args.repo.as_deref()).await?;
        let mut query = PullQuery::default();
        query.state = match args.state.unwrap_or(PrListState::Open) {
            PrListState::Open => StateFilter::Open,
            PrListState::Closed => StateFilter::Closed,
            PrListState::Merged => StateFilter::Merged,
            PrListState::All => StateFilter::All,
        };
        query.author = args.author;
        query.assignee = args.assignee;
        query.labels = args.labels;
        query.base = args.base;
        query.head = args.head;
        query.draft = args.draft.map(DraftState::is_draft);
        query.search = args.search;
        query.touches = args.touches;
        query.fields = PrFields::CHECKS;
        // The cursor contains a page of the forge's list, and how many rows of this page were
        // already shown.
        let detailed = args.format == Some(Format::Detailed);
        let limit = listing::limit(&repo, args.limit);
        let request = ListRequest {
            tool: Self::SPEC.name,
            bound: &(repo.id().comparison_key(), &query, limit, detailed),
            cursor: args.cursor.as_deref(),
            limit,
            max_chars: args.max_chars,
            noun: "pull requests",
        };
        let page = repo.pulls(&query, request.page()?).await?;
        let rows = page.items.iter().map(|pull| {
            let data = RowOut::of(pull, &call.cleaner);
            let line = match detailed {
                true => data.detailed(),
                false => data.text(),
            };
            ListRow {
                key: pull.id.key.to_string(),
                line,
                data,
                warnings: &pull.warnings,
            }
        });
        let listing = request.listing(call, &repo, &page, rows.collect(), RowOut::shorten)?;
        Ok(ToolOutput {
            text: listing.text,
            data: PrListOut {
                repo: repo.id().to_string(),
                pull_requests: listing.rows,
                total: page.total,
                scanned: page.scanned,
                scan_complete: (!query.touches.is_empty()).then_some(page.next.is_none()),
                source: listing.source,
                next_cursor: listing.next_cursor,
                warnings: listing.warnings,
            },
        })
    }
}

/// Refuses `owner:branch`, the form of GitHub's REST API. A branch name has no colon, so this
/// filter would match no pull request.
fn check_head(head: Option<&str>) -> Result<(), Error> {
    match head.and_then(|head| head.split_once(':')) {
        None => Ok(()),
        Some((_, branch)) => {
            let why = "head takes the name of a branch, without its owner";
            Err(Error::invalid("head", why).with_hint(format!("pass head={branch}")))
        }
    }
}
