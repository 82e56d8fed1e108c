use forge_core::{
    Cursor, PageReq, Warning, fingerprint,
    model::{PrFields, PullQuery, StateFilter},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, Lengths, Position, cursor},
    calls::{Answer, Call, Effect, Spec, Stop, Tool},
    content::Clean,
    output::{Format, RowOut, WarningOut},
};

pub(super) struct PrList;

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
    base: Option<String>,
    head: Option<String>,
    draft: Option<bool>,
    /// Words, qualifiers
    search: Option<String>,
    /// Paths, globs
    #[serde(default)]
    touches: Vec<String>,
    limit: Option<u64>,
    format: Option<Format>,
    /// Default 25000
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    Open,
    Closed,
    Merged,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Out {
    repo: String,
    pull_requests: Vec<RowOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Looked at to find these, where a filter runs on our side
    #[serde(skip_serializing_if = "Option::is_none")]
    scanned: Option<u64>,
    /// With touches: whether every pull request was looked at
    #[serde(skip_serializing_if = "Option::is_none")]
    scan_complete: Option<bool>,
    /// Who answered, where several can
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

impl Tool for PrList {
    const SPEC: Spec = Spec {
        name: "pr_list",
        title: "List pull requests",
        description: "Pull requests, newest first, a line each with checks and reviews; pr_view has \
                      bodies.",
        effect: Effect::Read,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
        let repo = call.repo(args.repo.as_deref()).await?;
        let query = PullQuery {
            state: match args.state.unwrap_or(State::Open) {
                State::Open => StateFilter::Open,
                State::Closed => StateFilter::Closed,
                State::Merged => StateFilter::Merged,
                State::All => StateFilter::All,
            },
            author: args.author,
            assignee: args.assignee,
            labels: args.labels,
            base: args.base,
            head: args.head,
            draft: args.draft,
            search: args.search,
            touches: args.touches,
            app: None,
            fields: PrFields::CHECKS,
        };
        let limits = repo.client().forge().capabilities().limits;
        let limit = usize::try_from(args.limit.unwrap_or(30)).unwrap_or(100);
        let limit = limit.clamp(1, 100.min(limits.page_max.max(1)));
        // A page of the forge and how many of its rows were shown; the forge's own cursor knows
        // where its page began.
        let detailed = args.format == Some(Format::Detailed);
        let bound = (repo.id().comparison_key(), &query, limit, detailed);
        let (from, page) = match &args.cursor {
            None => (None, PageReq::first(limit)),
            Some(text) => {
                let text = cursor::read(Self::SPEC.name, &bound, "", text)?;
                let (from, page) = behind_the_pin(text);
                let page = match page {
                    "" => PageReq::first(limit),
                    page => PageReq::after(Cursor::from_text(page), limit),
                };
                (Some(from), page)
            }
        };
        let began = page
            .cursor
            .as_ref()
            .map_or(String::new(), |c| c.as_str().to_owned());
        let page = repo.list(&query, page).await?;
        // One that was opened or closed meanwhile moves the others.
        let keys: Vec<String> = page.items.iter().map(|p| p.id.key.to_string()).collect();
        let before = |at: Position| fingerprint(&keys.get(..at.block).unwrap_or_default());
        let from = match from {
            None => Position::default(),
            Some(pinned) => cursor::unpin(pinned, cursor::SHOWN, before)?,
        };
        let mut rows: Vec<RowOut> = page
            .items
            .iter()
            .map(|p| RowOut::of(p, &call.cleaner))
            .collect();
        let lines: Vec<String> = rows
            .iter()
            .map(|row| match detailed {
                true => row.detailed(),
                false => row.text(),
            })
            .collect();
        let mut warnings = page.warnings.clone();
        let of_rows = page
            .items
            .iter()
            .map(|p| (p.id.key.to_string(), p.warnings.as_slice()));
        warnings.extend(Warning::of_rows(of_rows, &page.warnings));
        let warnings = WarningOut::all(&warnings, &call.about(), &call.cleaner);
        let max = budget::chars(args.max_chars);
        rows.iter_mut().for_each(|row| row.shorten(max));
        let said = WarningOut::lines(&warnings, max / 4);
        let lengths: Vec<usize> = rows.iter().map(budget::length).collect();
        let data = Lengths {
            always: budget::length(&warnings),
            blocks: &lengths,
        };
        let fitted = budget::fit_both(&said, &lines, data, from, max);
        let pinned = |at: Position| cursor::pin(at, before(at));
        let next = match (fitted.next, &page.next) {
            (Some(at), _) => Some(format!("{}~{began}", pinned(at))),
            (None, Some(next)) => {
                let start = pinned(Position::default());
                Some(format!("{start}~{}", next.as_str()))
            }
            (None, None) => None,
        };
        let next = next.map(|at| cursor::make(Self::SPEC.name, &bound, "", &at));
        let shown: Vec<RowOut> = rows
            .into_iter()
            .skip(fitted.begun.start)
            .take(fitted.begun.len())
            .collect();
        let mut text = fitted.text;
        let total = page.total.map_or(String::new(), |n| format!(" of {n}"));
        text.push_str(&match (&next, shown.len()) {
            (None, 0) if args.cursor.is_none() => {
                format!("No pull requests match in {}.", repo.id())
            }
            (None, n) => format!("{n}{total} shown: the end of the list of {}.", repo.id()),
            (Some(cursor), n) => format!(
                "{n}{total} shown of {}. More: cursor=\"{cursor}\"",
                repo.id()
            ),
        });
        let source = page.source.as_deref().map(|s| call.cleaner.line(s));
        if let Some(scanned) = page.scanned.filter(|n| *n > shown.len() as u64) {
            text.push_str(&format!(" {scanned} were looked at."));
            if let Some(source) = &source {
                text.push_str(&format!(" Asked: {source}."));
            }
        }
        Ok(Answer {
            text,
            data: Out {
                repo: repo.id().to_string(),
                pull_requests: shown,
                total: page.total,
                scanned: page.scanned,
                scan_complete: (!query.touches.is_empty()).then_some(page.next.is_none()),
                source,
                next_cursor: next,
                warnings,
            },
        })
    }
}

/// The position of a cursor with its pin, and the forge's own cursor behind them.
fn behind_the_pin(text: &str) -> (&str, &str) {
    let end = text.match_indices('~').nth(1).map(|(at, _)| at);
    let (pinned, page) = text
        .split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, ""));
    (pinned, page.strip_prefix('~').unwrap_or(page))
}
