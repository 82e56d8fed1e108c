use forge_core::{
    Capability, Error, ErrorKind, PageReq, Warning, call, fingerprint,
    model::{IssueFields, RelatedIssue, StatusEvent},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    issue_write_output::{board, non_blank},
    workflow_parts::may_show,
};
use crate::{
    budget::{self, Lengths, ResultPosition, cursor},
    calls::{CallContext, IssueTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{Clean, name_of},
    output::{
        Blocks, CommentOut, EventOut, Format, IssueOut, RelatedOut, SectionItem, WarningOut, quoted,
    },
};

pub(super) struct IssueView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueViewInput {
    repo: Option<String>,
    /// Number or URL
    issue: String,
    #[serde(default)]
    include: Vec<IssueViewSection>,
    /// concise (default) shortens comments
    format: Option<Format>,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Hash, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum IssueViewSection {
    Comments,
    History,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IssueViewOut {
    repo: String,
    issue: IssueOut,
    /// Pass as expected_version
    version: String,
    /// Absent with bodies_in_text
    #[serde(skip_serializing_if = "Clean::is_empty")]
    body: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<RelatedOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sub_issues: Vec<RelatedOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked_by: Vec<RelatedOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocking: Vec<RelatedOut>,
    /// More relations exist
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    relations_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<Vec<CommentOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<EventOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The data is long: bodies are only in the text
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bodies_in_text: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

/// Maximum length of a body in a concise result, in characters.
const MAX_BODY_CHARS: usize = 6_000;

/// Maximum number of history events that are read.
const MAX_EVENTS: usize = 1_000;
/// Maximum number of pages of a history, including empty pages.
const MAX_PAGES: usize = 50;

/// Indices of the two blocks before the sections: the head of the result, and the body.
const TOP_BLOCK: usize = 0;
const BODY_BLOCK: usize = 1;

impl Tool for IssueView {
    const SPEC: ToolSpec = ToolSpec {
        name: "issue_view",
        title: "View an issue",
        description: "One issue: state, labels, field values, parent, sub-issues, blockers, body, \
                      version, and the sections of include with the ids of comments. Recovery: \
                      issue_list has the numbers.",
        effect: ToolEffect::Read,
    };
    type Args = IssueViewInput;
    type Out = IssueViewOut;

    async fn run(
        call: &CallContext,
        args: IssueViewInput,
    ) -> Result<ToolOutput<IssueViewOut>, ToolError> {
        let target = call
            .issue(non_blank(args.repo).as_deref(), &args.issue)
            .await?;
        let mut include = args.include;
        include.sort_unstable();
        include.dedup();
        let detailed = args.format == Some(Format::Detailed);
        let mut fields = IssueFields::NONE;
        fields.comments = include.contains(&IssueViewSection::Comments);
        fields.relations = target.repo.supports(Capability::IssueRelations);
        fields.board = board(call, &target.repo)?;
        let issue = target.repo.issue(&target.id, &fields).await?;
        let mut warnings = issue.warnings.clone();
        let history = match include.contains(&IssueViewSection::History) {
            true => call::together(history(&target, &mut warnings)).await?,
            false => None,
        };
        let warnings = WarningOut::all(&warnings, &call.about(), &call.cleaner);
        let max = budget::chars(args.max_chars);
        let c = &call.cleaner;
        let mut out = IssueViewOut {
            repo: issue.id.repo.to_string(),
            issue: IssueOut::of(&issue, c),
            version: issue.version.clone(),
            body: c.markdown(&issue.body),
            parent: None,
            sub_issues: Vec::new(),
            blocked_by: Vec::new(),
            blocking: Vec::new(),
            relations_truncated: false,
            comments: None,
            history: None,
            next_cursor: None,
            bodies_in_text: false,
            warnings: Vec::new(),
        };
        let mut top = out.issue.text(&issue.id.repo);
        if !out.version.is_empty() {
            top.push_str(&format!("version {}\n", name_of(&out.version)));
        }
        out.issue.shorten(max);
        let mut relations = Relations::default();
        if let Some(of) = &issue.relations {
            let mut room = budget::names(max);
            let related = |to: &RelatedIssue| {
                RelatedOut::of(to, &issue.id, may_show(call, &to.id, &issue.id), c)
            };
            relations.parent = of.parent.as_ref().map(related);
            let mut cut = of.truncated;
            for (list, kept) in [
                (&of.sub_issues, &mut relations.sub_issues),
                (&of.blocked_by, &mut relations.blocked_by),
                (&of.blocking, &mut relations.blocking),
            ] {
                for to in list {
                    let to = related(to);
                    let length = budget::length(&to);
                    if length > room {
                        cut = true;
                        break;
                    }
                    room -= length;
                    kept.push(to);
                }
            }
            relations.truncated = cut;
        }
        top.push_str(&relations.text());
        warnings.iter().for_each(|w| top.push_str(&w.text()));

        let mut blocks = Blocks::default();
        blocks.push(top, budget::length(&warnings) + relations.length());
        let quotation = quoted(&out.body, detailed, MAX_BODY_CHARS, c);
        blocks.push(
            match out.body.is_empty() {
                true => String::new(),
                false => format!("\nbody:\n{quotation}"),
            },
            0,
        );
        let comments = issue.comments.as_ref().map(|all| {
            let all = all
                .iter()
                .map(|comment| CommentOut::of(comment, c))
                .collect();
            blocks.section("comments", "", all, detailed, c)
        });
        let history = history.map(|all| {
            let all = all.iter().map(|event| EventOut::of(event, c)).collect();
            blocks.section("history", "", all, detailed, c)
        });

        let bound = (target.id.to_string(), &include, detailed);
        // The cursor is bound to the content of earlier pages. If that content has changed, the
        // next page could skip or repeat an item.
        let before = |at: ResultPosition| {
            let shown = blocks.texts.get(BODY_BLOCK..at.block).unwrap_or_default();
            fingerprint(&(&issue.version, issue.updated_at.to_string(), shown))
        };
        let asked = non_blank(args.cursor);
        let from = match &asked {
            None => ResultPosition::default(),
            Some(text) => {
                let pinned = cursor::read(Self::SPEC.name, &bound, "", text)?;
                cursor::unpin(pinned, cursor::SHOWN, before)?
            }
        };
        let head = match from == ResultPosition::default() {
            true => String::new(),
            false => format!("#{} (continued)\n", out.issue.number),
        };
        let body = std::mem::take(&mut out.body);
        let lengths = Lengths {
            always: budget::length(&out),
            blocks: &blocks.lengths,
        };
        let mut fitted = budget::fit_both(&head, &blocks.texts, lengths, from, max);
        let next = fitted
            .next
            .map(|at| cursor::make(Self::SPEC.name, &bound, "", &cursor::pin(at, before(at))));
        let mut text = std::mem::take(&mut fitted.text);
        if !include.is_empty() || next.is_some() {
            let count = blocks.texts.len();
            text.push_str(&budget::tail("parts", &fitted, count, next.as_deref()));
        }
        let page = &fitted.begun;
        if page.contains(&BODY_BLOCK) {
            out.body = body;
        }
        if page.contains(&TOP_BLOCK) {
            out.warnings = warnings;
            relations.put_into(&mut out);
        }
        out.comments = comments.and_then(|all| all.on(page));
        out.history = history.and_then(|all| all.on(page));
        out.next_cursor = next;
        if !budget::may_repeat(budget::length(&out), text.chars().count(), max) {
            out.drop_bodies();
        }
        Ok(ToolOutput { text, data: out })
    }
}

/// The relations of the issue that fit the length limit of the result.
#[derive(Default)]
struct Relations {
    parent: Option<RelatedOut>,
    sub_issues: Vec<RelatedOut>,
    blocked_by: Vec<RelatedOut>,
    blocking: Vec<RelatedOut>,
    truncated: bool,
}

impl Relations {
    fn lists(&self) -> [(&'static str, &[RelatedOut]); 4] {
        [
            ("parent", self.parent.as_slice()),
            ("sub-issue", &self.sub_issues),
            ("blocked by", &self.blocked_by),
            ("blocking", &self.blocking),
        ]
    }

    fn text(&self) -> String {
        let lists = self.lists().into_iter();
        let lines = lists.flat_map(|(name, list)| list.iter().map(move |to| to.text(name)));
        let mut text: String = lines.collect();
        if self.truncated {
            text.push_str("more relations are left out\n");
        }
        text
    }

    fn length(&self) -> usize {
        let lists = self.lists().into_iter();
        lists.map(|(_, list)| budget::length(&list)).sum()
    }

    fn put_into(self, out: &mut IssueViewOut) {
        out.parent = self.parent;
        out.sub_issues = self.sub_issues;
        out.blocked_by = self.blocked_by;
        out.blocking = self.blocking;
        out.relations_truncated = self.truncated;
    }
}

/// Returns the events of an issue, up to [`MAX_EVENTS`]; `None` if the forge has no history.
async fn history(
    target: &IssueTarget,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Vec<StatusEvent>>, Error> {
    let mut events = Vec::new();
    let mut page = PageReq::first(100);
    let mut pages = 0;
    loop {
        pages += 1;
        let found = match target.repo.issue_history(&target.id, page).await {
            Ok(found) => found,
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => {
                warnings.push(Warning::new(e.message().to_owned()));
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
                let message = format!("the history has more than {} events", events.len());
                warnings.push(Warning::new(message));
                return Ok(Some(events));
            }
            None => return Ok(Some(events)),
        }
    }
}

impl IssueViewOut {
    fn drop_bodies(&mut self) {
        let comments = self
            .comments
            .iter_mut()
            .flatten()
            .flat_map(SectionItem::bodies);
        for body in comments.chain([&mut self.body]) {
            self.bodies_in_text |= !body.is_empty();
            *body = Clean::default();
        }
    }
}
