use std::ops::Range;

use forge_core::{
    Capability, Error, ErrorKind, PageReq, Warning, call, fingerprint,
    model::{PrFields, PullRequest, StatusEvent, Thread},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, Lengths, ResultPosition, cursor},
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{Clean, Cleaner},
    output::{
        BlockList, Blocks, CheckOut, CommentOut, CommitOut, EventOut, FileOut, Format, PullOut,
        ReviewOut, SectionItem, ThreadOut, WarningOut, quoted,
    },
};

pub(super) struct PrView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrViewInput {
    repo: Option<String>,
    number: String,
    #[serde(default)]
    include: Vec<PrViewSection>,
    /// concise (default) shortens comments, skips those of resolved threads
    format: Option<Format>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Hash, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum PrViewSection {
    Checks,
    Threads,
    Comments,
    Reviews,
    Files,
    Commits,
    History,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PrViewOut {
    pull_request: PullOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<CheckOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<ThreadOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<Vec<CommentOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviews: Option<Vec<ReviewOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<Vec<CommitOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<EventOut>>,
    /// Cursor of the next page; sections have the items that begin on this page
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The data is long: description and bodies are only in the text
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bodies_in_text: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

/// Maximum length of a description in a concise result, in characters.
const MAX_DESCRIPTION_CHARS: usize = 6_000;

/// Maximum number of history events that are read.
const MAX_EVENTS: usize = 1_000;
/// Maximum number of pages of a history, including empty pages.
const MAX_PAGES: usize = 50;

/// Indices of the two blocks before the sections: the head of the result, and the description.
const TOP_BLOCK: usize = 0;
const BODY_BLOCK: usize = 1;

impl Tool for PrView {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_view",
        title: "View a pull request",
        description: "One pull request: state, head, merge state, reviews, description, and the \
                      sections of include, with ids for write tools. For the diff: pr_diff. If merge \
                      is unknown, ask again in some seconds.",
        effect: ToolEffect::Read,
    };
    type Args = PrViewInput;
    type Out = PrViewOut;

    async fn run(
        call: &CallContext,
        args: PrViewInput,
    ) -> Result<ToolOutput<PrViewOut>, ToolError> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let mut include = args.include.clone();
        include.sort_unstable();
        include.dedup();
        let detailed = args.format == Some(Format::Detailed);
        let fields = include.iter().fold(
            PrFields::STATS
                | PrFields::MERGEABILITY
                | PrFields::LINKED_ISSUES
                | PrFields::AUTO_MERGE
                | PrFields::DEPENDS_ON
                | PrFields::CHECKS,
            |fields, section| match section {
                PrViewSection::Checks => fields | PrFields::CHECKS,
                PrViewSection::Threads => fields | PrFields::THREADS,
                PrViewSection::Comments => fields | PrFields::COMMENTS,
                PrViewSection::Reviews => fields | PrFields::REVIEWS,
                PrViewSection::Files => fields | PrFields::FILES,
                PrViewSection::Commits => fields | PrFields::COMMITS,
                PrViewSection::History => fields,
            },
        );
        let pull = target.repo.pull(&target.id, fields).await?;
        let mut warnings = pull.warnings.clone();
        if fields.contains(PrFields::FILES) && pull.head_patch.is_some() {
            let clone = call.server.clone_of(&target.repo).await;
            warnings.extend(target.repo.patch_warnings(&pull, clone).await?);
        }
        let mut notes = String::new();
        let history = match include.contains(&PrViewSection::History) {
            true => call::together(history(&target, &mut notes, &mut warnings)).await?,
            false => None,
        };
        let unread = warnings.iter().any(|w| w.section == Some("checks"));
        if include.contains(&PrViewSection::Checks) && pull.checks.is_none() && !unread {
            notes.push_str(if target.repo.supports(Capability::Checks) {
                "checks: none can be read in this repository\n"
            } else {
                "checks: this forge has none\n"
            });
        }
        let warnings = WarningOut::all(&warnings, &call.about(), &call.cleaner);
        let max = budget::chars(args.max_chars);
        let mut out = PullOut::of(&pull, &call.cleaner);
        let description = std::mem::take(&mut out.description);

        let mut blocks = Blocks::default();
        let mut top = out.text(pull.checks.as_ref()) + &notes;
        warnings.iter().for_each(|w| top.push_str(&w.text()));
        out.shorten(max);
        let conflicts = std::mem::take(&mut out.conflicts);
        blocks.push(top, budget::length(&warnings) + budget::length(&conflicts));
        let body = quoted(&description, detailed, MAX_DESCRIPTION_CHARS, &call.cleaner);
        let body = match description.is_empty() {
            true => String::new(),
            false => format!("\ndescription:\n{body}"),
        };
        blocks.push(body, 0);
        let sections = PrViewSections::of(call, &pull, &include, history, detailed, &mut blocks);

        let head = pull.head_id().unwrap_or_default().to_owned();
        let bound = (target.id.to_string(), &include, detailed);
        // The cursor is bound to the content of earlier pages. If that content has changed, the
        // next page could skip or repeat an item.
        let before = |at: ResultPosition| {
            let shown = blocks.texts.get(BODY_BLOCK..at.block).unwrap_or_default();
            fingerprint(&(&pull.version, pull.updated_at.to_string(), shown))
        };
        let from = match &args.cursor {
            None => ResultPosition::default(),
            Some(text) => {
                let pinned = cursor::read(Self::SPEC.name, &bound, &head, text)?;
                cursor::unpin(pinned, cursor::SHOWN, before)?
            }
        };
        let top = match from == ResultPosition::default() {
            true => String::new(),
            false => {
                let thread = sections.threads.as_ref().and_then(|all| all.at(from.block));
                let thread = thread.map_or(String::new(), ThreadOut::head_of_rest);
                format!("#{} (continued)\n{thread}", out.number)
            }
        };
        let lengths = Lengths {
            always: budget::length(&out),
            blocks: &blocks.lengths,
        };
        let mut fitted = budget::fit_both(&top, &blocks.texts, lengths, from, max);
        let next = fitted.next.map(|at| {
            let at = cursor::pin(at, before(at));
            cursor::make(Self::SPEC.name, &bound, &head, &at)
        });
        let mut text = std::mem::take(&mut fitted.text);
        if !include.is_empty() || next.is_some() {
            text.push_str(&budget::tail(
                "parts",
                &fitted,
                blocks.texts.len(),
                next.as_deref(),
            ));
        }
        let page = &fitted.begun;
        if page.contains(&BODY_BLOCK) {
            out.description = description;
        }
        let mut data = sections.on(page, out, next);
        if page.contains(&TOP_BLOCK) {
            data.warnings = warnings;
            data.pull_request.conflicts = conflicts;
        }
        if !budget::may_repeat(budget::length(&data), text.chars().count(), max) {
            data.drop_bodies();
        }
        Ok(ToolOutput { text, data })
    }
}

/// Returns the events of a pull request, up to [`MAX_EVENTS`]; `None` if the forge has no history.
async fn history(
    target: &PullTarget,
    notes: &mut String,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Vec<StatusEvent>>, Error> {
    let mut events = Vec::new();
    let mut page = PageReq::first(100);
    let mut pages = 0;
    loop {
        pages += 1;
        let found = match target.repo.history(&target.id, page).await {
            Ok(found) => found,
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => {
                let why = Cleaner::new().line(e.message());
                notes.push_str(&format!("history: {why}\n"));
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        events.extend(found.items);
        warnings.extend(found.warnings);
        match found.next {
            Some(next) if events.len() < MAX_EVENTS && pages < MAX_PAGES => {
                page = PageReq::after(next, 100);
            }
            Some(_) => {
                events.truncate(MAX_EVENTS);
                notes.push_str(&format!(
                    "history: the first {} events; the forge's page has the rest\n",
                    events.len()
                ));
                return Ok(Some(events));
            }
            None => return Ok(Some(events)),
        }
    }
}

/// The requested sections that the forge supports, as lists of blocks.
struct PrViewSections {
    checks: Option<BlockList<CheckOut>>,
    threads: Option<BlockList<ThreadOut>>,
    comments: Option<BlockList<CommentOut>>,
    reviews: Option<BlockList<ReviewOut>>,
    files: Option<BlockList<FileOut>>,
    commits: Option<BlockList<CommitOut>>,
    history: Option<BlockList<EventOut>>,
}

impl PrViewSections {
    /// Appends the sections to `blocks`.
    fn of(
        call: &CallContext,
        pull: &PullRequest,
        include: &[PrViewSection],
        history: Option<Vec<StatusEvent>>,
        detailed: bool,
        blocks: &mut Blocks,
    ) -> Self {
        fn list<M, T: SectionItem>(
            name: &str,
            items: Option<&[M]>,
            of: fn(&M, &Cleaner) -> T,
            (blocks, detailed, cleaner): (&mut Blocks, bool, &Cleaner),
        ) -> Option<BlockList<T>> {
            let items = items?.iter().map(|item| of(item, cleaner)).collect();
            Some(blocks.section(name, "", items, detailed, cleaner))
        }
        let c = &call.cleaner;
        let checks = pull.checks.as_ref().map(|report| report.checks.as_slice());
        let checks = checks.filter(|_| include.contains(&PrViewSection::Checks));
        Self {
            checks: list("checks", checks, CheckOut::of, (&mut *blocks, detailed, c)),
            threads: pull.threads.as_ref().map(|all| {
                let resolved = all.iter().filter(|t| t.resolved).count();
                let note = match resolved {
                    0 => String::new(),
                    n if detailed => format!(", {n} resolved"),
                    n => format!(", {n} resolved without its comments: format=detailed"),
                };
                let parts = |t: &Thread| match t.resolved && !detailed {
                    true => vec![ThreadOut::bare(t, c)],
                    false => ThreadOut::parts(t, c),
                };
                let shown = all.iter().flat_map(parts).collect();
                blocks.section("threads", &note, shown, detailed, c)
            }),
            comments: list(
                "comments",
                pull.comments.as_deref(),
                CommentOut::of,
                (&mut *blocks, detailed, c),
            ),
            reviews: list(
                "reviews",
                pull.reviews.as_deref(),
                ReviewOut::of,
                (&mut *blocks, detailed, c),
            ),
            files: list(
                "files",
                pull.files.as_deref(),
                FileOut::of,
                (&mut *blocks, detailed, c),
            ),
            commits: list(
                "commits",
                pull.commits.as_deref(),
                CommitOut::of,
                (&mut *blocks, detailed, c),
            ),
            history: list(
                "history",
                history.as_deref(),
                EventOut::of,
                (&mut *blocks, detailed, c),
            ),
        }
    }

    /// Returns the part of the data that belongs to a page.
    fn on(self, page: &Range<usize>, pull: PullOut, next: Option<String>) -> PrViewOut {
        PrViewOut {
            pull_request: pull,
            checks: self.checks.and_then(|all| all.on(page)),
            threads: self
                .threads
                .and_then(|all| all.on(page))
                .map(ThreadOut::joined),
            comments: self.comments.and_then(|all| all.on(page)),
            reviews: self.reviews.and_then(|all| all.on(page)),
            files: self.files.and_then(|all| all.on(page)),
            commits: self.commits.and_then(|all| all.on(page)),
            history: self.history.and_then(|all| all.on(page)),
            next_cursor: next,
            bodies_in_text: false,
            warnings: Vec::new(),
        }
    }
}

impl PrViewOut {
    fn drop_bodies(&mut self) {
        let threads = self
            .threads
            .iter_mut()
            .flatten()
            .flat_map(SectionItem::bodies);
        let comments = self
            .comments
            .iter_mut()
            .flatten()
            .flat_map(SectionItem::bodies);
        let bodies = threads.chain(comments);
        for body in bodies.chain([&mut self.pull_request.description]) {
            self.bodies_in_text |= !body.is_empty();
            *body = Clean::default();
        }
        for review in self.reviews.iter_mut().flatten() {
            self.bodies_in_text |= review.body.take().is_some();
        }
    }
}
