use forge_core::{
    ErrorKind, PageReq, PrId, Repo,
    model::{PrFields, PullRequest, StatusEvent},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::{self, Position, cursor},
    output::{
        CheckOut, CommentOut, CommitOut, EventOut, FileOut, PullOut, ReviewOut, ThreadOut,
        WarningOut, quoted,
    },
    server::{Answer, Call, Effect, Spec, Stop, Tool},
};

pub(super) struct PrView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    #[serde(default)]
    include: Vec<Section>,
    /// concise (default) shortens comments, skips resolved threads
    format: Option<Format>,
    /// Default 25000
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Hash, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Section {
    Checks,
    Threads,
    Comments,
    Reviews,
    Files,
    Commits,
    History,
}

#[derive(Clone, Copy, Debug, Deserialize, Hash, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Format {
    Concise,
    Detailed,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Out {
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
    /// The sections were cut; the text says where, and this goes on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

/// Threads of this many characters and more of description are quoted in part.
const DESCRIPTION: usize = 6_000;

impl Tool for PrView {
    const SPEC: Spec = Spec {
        name: "pr_view",
        title: "View a pull request",
        description: "One pull request: state, head, merge state, reviews, description, and in the \
                      same call the sections of include, with the ids that write tools take. No \
                      diff: pr_diff. merge unknown: ask again in some seconds.",
        effect: Effect::Read,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
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
                | PrFields::CHECKS,
            |fields, section| match section {
                Section::Checks => fields | PrFields::CHECKS,
                Section::Threads => fields | PrFields::THREADS,
                Section::Comments => fields | PrFields::COMMENTS,
                Section::Reviews => fields | PrFields::REVIEWS,
                Section::Files => fields | PrFields::FILES,
                Section::Commits => fields | PrFields::COMMITS,
                Section::History => fields,
            },
        );
        let pull = target.repo.view(&target.id, fields).await?;
        let mut notes = Vec::new();
        let history = match include.contains(&Section::History) {
            true => history(&target.repo, &target.id, &mut notes).await?,
            false => None,
        };
        let out = sections(call, &pull, &include, history.as_deref());
        if include.contains(&Section::Checks) && out.checks.is_none() {
            notes.push("checks: this forge has none\n".to_owned());
        }
        let head = pull.head_oid.clone().unwrap_or_default();
        let bound = (target.id.to_string(), &include, detailed);
        let from = match &args.cursor {
            None => Position::default(),
            Some(text) => position(cursor::read(Self::SPEC.name, &bound, &head, text)?)?,
        };
        let (blocks, parts) = blocks(call, &pull, &out, detailed);
        let mut top = out.pull_request.text(pull.checks.as_ref());
        if from != Position::default() {
            top = format!("#{} (continued)\n", out.pull_request.number);
        }
        notes.iter().for_each(|note| top.push_str(note));
        let fitted = budget::fit(&top, &blocks, from, budget::chars(args.max_chars));
        let next = fitted
            .next
            .map(|at| cursor::make(Self::SPEC.name, &bound, &head, &at.to_text()));
        let mut text = fitted.text;
        let warnings = WarningOut::all(&pull.warnings, &call.cleaner);
        warnings.iter().for_each(|w| text.push_str(&w.text()));
        if !parts.is_empty() || next.is_some() {
            text.push_str(&budget::tail(
                "parts",
                &crate::budget::Fitted {
                    text: String::new(),
                    ..fitted
                },
                blocks.len(),
                next.as_deref(),
            ));
        }
        let mut out = out;
        out.next_cursor = next;
        out.warnings = warnings;
        Ok(Answer { text, data: out })
    }
}

fn position(text: &str) -> Result<Position, forge_core::Error> {
    Position::from_text(text).ok_or_else(|| {
        forge_core::Error::invalid("cursor", "the cursor is damaged")
            .with_hint("make the call again without cursor")
    })
}

async fn history(
    repo: &Repo,
    id: &PrId,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<StatusEvent>>, forge_core::Error> {
    match repo.history(id, PageReq::first(100)).await {
        Ok(page) => Ok(Some(page.items)),
        Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => {
            notes.push(format!("history: {}\n", e.message()));
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

fn sections(
    call: &Call,
    pull: &PullRequest,
    include: &[Section],
    history: Option<&[StatusEvent]>,
) -> Out {
    let c = &call.cleaner;
    let has = |section| include.contains(&section);
    Out {
        pull_request: PullOut::of(pull, c),
        checks: pull
            .checks
            .as_ref()
            .filter(|_| has(Section::Checks))
            .map(|r| {
                r.checks
                    .iter()
                    .map(|check| CheckOut::of(check, c))
                    .collect()
            }),
        threads: pull
            .threads
            .as_ref()
            .map(|all| all.iter().map(|t| ThreadOut::of(t, c)).collect()),
        comments: pull
            .comments
            .as_ref()
            .map(|all| all.iter().map(|x| CommentOut::of(x, c)).collect()),
        reviews: pull
            .reviews
            .as_ref()
            .map(|all| all.iter().map(|x| ReviewOut::of(x, c)).collect()),
        files: pull
            .files
            .as_ref()
            .map(|all| all.iter().map(|x| FileOut::of(x, c)).collect()),
        commits: pull
            .commits
            .as_ref()
            .map(|all| all.iter().map(|x| CommitOut::of(x, c)).collect()),
        history: history.map(|all| all.iter().map(|x| EventOut::of(x, c)).collect()),
        next_cursor: None,
        warnings: Vec::new(),
    }
}

/// The description and each item of each section; the headings are at the first of each.
fn blocks(
    call: &Call,
    pull: &PullRequest,
    out: &Out,
    detailed: bool,
) -> (Vec<String>, Vec<&'static str>) {
    let c = &call.cleaner;
    let (mut blocks, mut parts) = (Vec::new(), Vec::new());
    if !out.pull_request.description.is_empty() {
        let body = quoted(&out.pull_request.description, detailed, DESCRIPTION, c);
        blocks.push(format!("\ndescription:\n{body}"));
    }
    let mut section = |name: &'static str, note: String, items: Vec<String>| {
        parts.push(name);
        let mut head = format!("\n{name} ({}){note}:\n", items.len());
        if items.is_empty() {
            blocks.push(head);
            return;
        }
        for item in items {
            head.push_str(&item);
            blocks.push(std::mem::take(&mut head));
        }
    };
    if let (Some(checks), Some(report)) = (&out.checks, &pull.checks) {
        let lines = checks.iter().zip(&report.checks);
        section(
            "checks",
            String::new(),
            lines.map(|(o, m)| o.text(m.status, detailed)).collect(),
        );
    }
    if let Some(threads) = &out.threads {
        let resolved = threads.iter().filter(|t| t.resolved).count();
        let shown = threads.iter().filter(|t| detailed || !t.resolved);
        let note = match resolved {
            0 => String::new(),
            n if detailed => format!(", {n} resolved"),
            n => format!(" open, {n} resolved not shown: format=detailed"),
        };
        section(
            "threads",
            note,
            shown.map(|t| t.text(detailed, c)).collect(),
        );
    }
    if let Some(comments) = &out.comments {
        section(
            "comments",
            String::new(),
            comments.iter().map(|x| x.text(detailed, c)).collect(),
        );
    }
    if let Some(reviews) = &out.reviews {
        section(
            "reviews",
            String::new(),
            reviews.iter().map(|x| x.text(detailed, c)).collect(),
        );
    }
    if let Some(files) = &out.files {
        section(
            "files",
            String::new(),
            files.iter().map(FileOut::text).collect(),
        );
    }
    if let Some(commits) = &out.commits {
        section(
            "commits",
            String::new(),
            commits.iter().map(CommitOut::text).collect(),
        );
    }
    if let Some(history) = &out.history {
        section(
            "history",
            String::new(),
            history.iter().map(EventOut::text).collect(),
        );
    }
    (blocks, parts)
}
