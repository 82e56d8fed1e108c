use std::{ops::Range, pin::pin, sync::Arc};

use forge::context::{
    Clearer, ContextEvent, ContextObserver, ContextSection, LinkTarget, LinkedItem, LogTail,
    PackedDiff, PackedFile, PullContext, RelatedPull, Requirement, RequirementStatus, SectionError,
    context,
};
use forge_core::{
    Error, Warning, fingerprint,
    model::{Check, CheckStatus, RecordIngestion},
    text::one_line,
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{
    budget::{self, Lengths, ResultPosition, cursor},
    calls::{CallContext, PullTarget, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{self, Clean, Cleaner, quote},
    output::{
        BlockList, Blocks, CheckOut, CommentOut, EventOut, FileOut, IngestionDetail, PullOut,
        SectionItem, WarningOut, files, quoted, serde_name,
    },
};

mod since;
mod source;
mod threads;
mod waiting;

use self::{
    since::{SinceOut, SinceSection},
    source::SourceOut,
    threads::{ContextReviewOut, ContextThreadOut},
    waiting::{WaitFor, WaitedOut, wait_for},
};

pub(super) struct PrContext;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrContextInput {
    repo: Option<String>,
    number: String,
    /// Default comments, reviews, ci, linked_issues, diff
    #[serde(default)]
    include: Vec<PrContextSection>,
    context_lines: Option<u32>,
    /// Instead of the diff, changes since a commit, review id or "review" (your latest review)
    since: Option<String>,
    /// At most 45 s; continue with cursor
    wait_for: Option<WaitFor>,
    /// True to read no section, because the condition of the wait is not met yet
    #[serde(skip)]
    is_brief: bool,
    max_chars: Option<u64>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PrContextSection {
    Comments,
    Reviews,
    Ci,
    CiLogs,
    LinkedIssues,
    RelatedPrs,
    Diff,
    Files,
    History,
    Source,
}

impl From<PrContextSection> for ContextSection {
    fn from(section: PrContextSection) -> Self {
        match section {
            PrContextSection::Comments => Self::Comments,
            PrContextSection::Reviews => Self::Reviews,
            PrContextSection::Ci => Self::Ci,
            PrContextSection::CiLogs => Self::CiLogs,
            PrContextSection::LinkedIssues => Self::LinkedIssues,
            PrContextSection::RelatedPrs => Self::RelatedPrs,
            PrContextSection::Diff => Self::Diff,
            PrContextSection::Files => Self::Files,
            PrContextSection::History => Self::History,
            PrContextSection::Source => Self::Source,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PrContextOut {
    pull_request: PullOut,
    summary: SummaryOut,
    verdict: VerdictOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    ingestion: Option<IngestionOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_status: Option<Vec<CheckOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ci_logs: Option<Vec<LogOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<ContextThreadOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<Vec<CommentOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviews: Option<Vec<ContextReviewOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linked_issues: Option<Vec<LinkedOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    related_prs: Option<Vec<RelatedPullOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<EventOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<DiffOut>,
    /// Result of wait_for
    #[serde(skip_serializing_if = "Option::is_none")]
    waited: Option<WaitedOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<SinceOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Vec<SourceOut>>,
    /// Cursor of the next page; sections have the items that begin on this page
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The data is long: description and bodies are only in the text
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bodies_in_text: bool,
    /// Something could not be read: see errors; the rest is complete
    partial: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<SectionErrorOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SummaryOut {
    one_liner: Clean,
    change_type: String,
    risk_level: String,
    risk_score: u64,
    risk_reasons: Vec<Clean>,
    blockers: Vec<Clean>,
    /// Absent if unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_to_merge: Option<bool>,
    key_changes: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outstanding_threads: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VerdictOut {
    /// Absent if unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_to_merge: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_sha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_sha: Option<String>,
    checked_at: String,
    /// Unmet first, then unknown, then met
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requirements: Vec<RequirementOut>,
}

/// Whether the index shows the record of the pull request
#[derive(Debug, Serialize, JsonSchema)]
struct IngestionOut {
    /// immediate, confirmed, pending, pds_only or ineffective
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<IngestionDetail>,
    uri: Clean,
    cid: Clean,
    evidence: Clean,
}

impl IngestionOut {
    fn of(found: &RecordIngestion, c: &Cleaner) -> Self {
        Self {
            state: found.verdict.word().to_owned(),
            detail: IngestionDetail::of(&found.verdict, c),
            uri: c.line(&found.uri),
            cid: c.line(&found.cid),
            evidence: c.line(&found.evidence),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct RequirementOut {
    rule: String,
    /// unmet, unknown or met
    status: String,
    /// own: only advice of this program; other sources block the merge
    source: String,
    /// Name of the ruleset
    #[serde(skip_serializing_if = "Option::is_none")]
    source_name: Option<Clean>,
    evidence: Clean,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cleared_by: Vec<ClearerOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ClearerOut {
    /// author, reviewer, admin, ci or time
    who: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<Clean>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LogOut {
    check: Clean,
    cut: bool,
    /// Absent with bodies_in_text
    #[serde(skip_serializing_if = "Clean::is_empty")]
    text: Clean,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LinkedOut {
    source: String,
    key: Clean,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Clean>,
    /// open, closed, merged or unknown
    status: String,
    /// Status as the issue tracker names it
    #[serde(skip_serializing_if = "Option::is_none")]
    status_name: Option<Clean>,
    /// Whether the issue could be read
    resolved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Clean>,
    /// closes, related or references
    relationship: String,
    found_in: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Clean>,
    /// Absent with bodies_in_text
    #[serde(skip_serializing_if = "Clean::is_empty")]
    body: Clean,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comments: Vec<CommentOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RelatedPullOut {
    number: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<Clean>,
    state: String,
    relationship: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlap_files: Vec<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Clean>,
}

/// The hunks are in the text.
#[derive(Debug, Serialize, JsonSchema)]
struct DiffOut {
    files_total: usize,
    additions: u64,
    deletions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_lines: Option<u32>,
    /// Hunks are left out: see omitted of each file; pr_diff with paths shows them
    truncated: bool,
    files: Vec<PackedOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PackedOut {
    path: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_path: Option<Clean>,
    status: String,
    /// code, test, docs, ci, generated, lock or vendored
    class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    additions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletions: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<OmissionOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OmissionOut {
    /// budget, file_lines, generated, binary, too_large or unavailable
    reason: String,
    lines: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SectionErrorOut {
    section: String,
    kind: String,
    message: Clean,
}

const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// Maximum length of an issue's text, in characters.
const MAX_ISSUE_CHARS: usize = 2_000;
/// Maximum length of the statistics of the diff and of `since`, in characters.
const MAX_STATISTICS_CHARS: usize = 400;

/// Indices of the two blocks before the sections: the head of the result, and the description.
const TOP_BLOCK: usize = 0;
const BODY_BLOCK: usize = 1;

impl Tool for PrContext {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_context",
        title: "Judge a pull request",
        description: "A pull request in one call: verdict, requirements and who clears them, \
                      risk, threads, checks, issues, the most important diff hunks.",
        effect: ToolEffect::Read,
    };
    type Args = PrContextInput;
    type Out = PrContextOut;

    async fn run(
        call: &CallContext,
        mut args: PrContextInput,
    ) -> Result<ToolOutput<PrContextOut>, ToolError> {
        let max = budget::chars(args.max_chars);
        let repo = args.repo.as_deref();
        let (target, ambiguity) = call.newest_pull(repo, &args.number).await?;
        let (waited, wait_on) = match args.wait_for {
            Some(until) => wait_for(call, &target, until.into(), args.cursor.as_deref()).await?,
            None => None,
        }
        .unzip();
        let wait_on = wait_on.flatten();
        if waited.is_some() {
            args.cursor = None;
            args.is_brief = wait_on.is_some();
        }
        let found = gathered(call, &target, &args, max).await?;
        let c = &call.cleaner;
        let mut warnings: Vec<Warning> = found.errors.iter().map(as_warning).collect();
        warnings.extend(found.warnings.iter().cloned());
        warnings.extend(ambiguity);
        let warnings = WarningOut::all(&warnings, &call.about(), c);
        let mut pull = PullOut::of(&found.pull, c);
        let description = std::mem::take(&mut pull.description);

        let mut blocks = Blocks::default();
        let (summary, mut verdict) = (summary(&found, c), VerdictOut::of(&found));
        let ingestion = found.pull.ingestion.as_ref();
        let ingestion = ingestion.map(|found| IngestionOut::of(found, c));
        let mut top = pull.text(found.pull.checks.as_ref()) + &head(&summary, &verdict);
        if let Some(record) = &ingestion {
            let IngestionOut { state, cid, .. } = record;
            let cid = content::name(cid);
            top.push_str(&format!("record version {cid}: {state}\n"));
        }
        warnings.iter().for_each(|w| top.push_str(&w.text()));
        pull.shorten(max);
        blocks.push(top, budget::length(&(&warnings, &ingestion)));
        let body = match description.is_empty() {
            true => String::new(),
            false => format!(
                "\ndescription:\n{}",
                quoted(&description, false, MAX_DESCRIPTION_CHARS, c)
            ),
        };
        blocks.push(body, 0);
        let of = |r: &Requirement| RequirementOut::of(r, c);
        let requirements = found.readiness.requirements.iter().map(of).collect();
        let requirements = blocks.section("requirements", "", requirements, false, c);
        let sections = PrContextSections::of(&found, args.wants_resolved(), max, c, &mut blocks);

        let oid = found.pull.head_id().unwrap_or_default().to_owned();
        let bound = (target.id.to_string(), args.wanted());
        // The cursor is bound to the content of earlier pages. If that content has changed, the
        // next page could skip or repeat an item.
        let before = |at: ResultPosition| {
            let shown = blocks.texts.get(BODY_BLOCK..at.block).unwrap_or_default();
            fingerprint(&(found.pull.updated_at.to_string(), shown))
        };
        let from = match &args.cursor {
            None => ResultPosition::default(),
            Some(text) => {
                let pinned = cursor::read(Self::SPEC.name, &bound, &oid, text)?;
                cursor::unpin(pinned, cursor::SHOWN, before)?
            }
        };
        let again = match (&waited, from == ResultPosition::default()) {
            (Some(waited), _) => waited.text(wait_on.as_deref()),
            (None, true) => String::new(),
            (None, false) => format!("#{} (continued)\n", pull.number),
        };
        let mut lengths = Lengths {
            always: budget::length(&(&pull, &summary, &verdict, &waited)),
            blocks: &blocks.lengths,
        };
        let mut fitted = budget::fit_both(&again, &blocks.texts, lengths, from, max);
        if sections.has_bare_statistics(&fitted.begun) {
            lengths.always += MAX_STATISTICS_CHARS;
            fitted = budget::fit_both(&again, &blocks.texts, lengths, from, max);
        }
        let next = fitted.next.map(|at| {
            let at = cursor::pin(at, before(at));
            cursor::make(Self::SPEC.name, &bound, &oid, &at)
        });
        // While a wait is unfinished, the result has the cursor that continues the wait instead of
        // the cursor of the next page.
        let next = next.filter(|_| wait_on.is_none());
        let mut text = std::mem::take(&mut fitted.text);
        let total = blocks.texts.len();
        text.push_str(&budget::tail("parts", &fitted, total, next.as_deref()));
        let page = &fitted.begun;
        if page.contains(&BODY_BLOCK) {
            pull.description = description;
        }
        verdict.requirements = requirements.on(page).unwrap_or_default();
        let mut data = sections.on(page, found.partial, (pull, summary, verdict));
        data.next_cursor = wait_on.or(next);
        data.waited = waited;
        if page.contains(&TOP_BLOCK) {
            data.warnings = warnings;
            data.ingestion = ingestion;
            data.errors = found
                .errors
                .iter()
                .map(|e| SectionErrorOut::of(e, c))
                .collect();
        }
        if !budget::may_repeat(budget::length(&data), text.chars().count(), max) {
            data.drop_bodies();
        }
        Ok(ToolOutput { text, data })
    }
}

impl PrContextInput {
    /// Returns true if `include` names the comments. Resolved threads are then shown with their
    /// comments.
    fn wants_resolved(&self) -> bool {
        let mut named = self.include.iter();
        named.any(|section| matches!(section, PrContextSection::Comments))
    }

    /// Returns the arguments that decide what is read. The arguments that select a page of the
    /// result are left out.
    fn wanted(&self) -> String {
        let alike = Self {
            repo: None,
            number: String::new(),
            max_chars: None,
            cursor: None,
            ..self.clone()
        };
        format!("{alike:?}")
    }
}

/// Returns the bundle (all that was read of the pull request), from the cache if possible. A local
/// repository is read again, unless the call asks for a further page: reading it is cheap, and the
/// user may have just changed it.
async fn gathered(
    call: &CallContext,
    target: &PullTarget,
    args: &PrContextInput,
    max: usize,
) -> Result<Arc<PullContext>, Error> {
    let repo = &target.id.repo;
    let key = fingerprint(&(
        call.server.accounts_at(&repo.host).await,
        target.id.to_string(),
        args.wanted(),
        max,
    ));
    let cache = call.server.contexts();
    let ttl = call.server.forges().config().context_cache_ttl();
    let is_page = args.cursor.is_some();
    let known = cache.get(key, ttl, is_page);
    // The cache is skipped for local repositories, because they are cheap to read. It is also
    // skipped after a wait, because the wait has seen a newer state.
    let may_be_kept = !repo.host.is_empty() && args.wait_for.is_none();
    if let Some(found) = known.filter(|_| is_page || may_be_kept) {
        return Ok(found);
    }
    let begun = cache.begin();
    let found = Arc::new(gather(call, target, args, max).await?);
    cache.put(key, &found, forge_core::call::kept_weight(), begun);
    Ok(found)
}

/// Gathers the bundle, and sends the client a progress notification for each request.
async fn gather(
    call: &CallContext,
    target: &PullTarget,
    args: &PrContextInput,
    max: usize,
) -> Result<PullContext, Error> {
    let mut req = call.server.forges().context_req();
    if !args.include.is_empty() {
        req.include = args.include.iter().map(|s| (*s).into()).collect();
    } else if args.since.is_some() {
        req.include.remove(&ContextSection::Diff);
    }
    req.since.clone_from(&args.since);
    if args.is_brief {
        req.include.clear();
        req.since = None;
    }
    req.diff_bytes = max;
    req.other_repos = call.server.other_repos();
    req.context_lines = args.context_lines.or(req.context_lines);
    req.clone = call.server.clone_of(&target.repo).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    req.observer = ContextObserver::new(move |event| {
        // Sending fails only after the call has ended.
        let _ = tell.send(format_event(event));
    });
    let mut gathering = pin!(context(&target.repo, &target.id, &req));
    let mut done = 0;
    let found = loop {
        tokio::select! {
            found = &mut gathering => break found,
            Some(what) = told.recv() => {
                done += 1;
                call.progress(done, None, &what).await;
            }
        }
    };
    while let Ok(what) = told.try_recv() {
        done += 1;
        call.progress(done, None, &what).await;
    }
    let mut found = found?;
    hide_unlisted(call, &mut found);
    Ok(found)
}

/// Removes title and state of linked issues in repositories that this server may not read. GitHub
/// returns both for every issue that a pull request closes.
fn hide_unlisted(call: &CallContext, found: &mut PullContext) {
    let own = found.pull.id.repo.comparison_key();
    for item in found.linked_issues.iter_mut().flatten() {
        if let LinkTarget::Forge(Some(repo), _) = &item.target
            && repo.comparison_key() != own
            && !call.server.may_read(repo)
        {
            item.title = None;
            item.state = None;
        }
    }
}

/// Formats an event as a line of progress.
fn format_event(event: &ContextEvent) -> String {
    let text = match event {
        ContextEvent::Start { include, .. } => format!("reading {}", include.join(", ")),
        ContextEvent::Fetch {
            endpoint,
            duration_ms,
            ..
        } => format!("{endpoint} answered after {duration_ms} ms"),
        ContextEvent::JiraFetch {
            issue_key,
            duration_ms,
        } => format!("{issue_key} was read in {duration_ms} ms"),
        ContextEvent::Complete {
            sections_fetched, ..
        } => format!("read {}", sections_fetched.join(", ")),
        ContextEvent::Error { message, .. } => message.clone(),
    };
    one_line(&text).into_owned()
}

/// Converts a check. A cancelled check gets the status `failure`, because requirement R-002-7 has
/// no status for cancelled checks. Its conclusion still says that it was cancelled.
fn check_out(check: &Check, c: &Cleaner) -> CheckOut {
    let mut out = CheckOut::of(check, c);
    if check.status == CheckStatus::Cancelled {
        out.status = serde_name(&CheckStatus::Failure);
    }
    out
}

fn as_warning(error: &SectionError) -> Warning {
    let mut warning = Warning::new(format!("{}: {}", error.section, error.message));
    warning.hint.clone_from(&error.hint);
    warning
}

fn summary(found: &PullContext, c: &Cleaner) -> SummaryOut {
    let lines = |texts: &[String]| texts.iter().map(|t| c.line(t)).collect();
    let s = &found.summary;
    let reason = |r: &forge::context::RiskReason| c.line(&format!("{}: {}", r.rule, r.evidence));
    SummaryOut {
        one_liner: c.line(&s.one_liner),
        change_type: s.change_type.name().to_owned(),
        risk_level: s.risk.level.name().to_owned(),
        risk_score: s.risk.score,
        risk_reasons: s.risk.reasons.iter().map(reason).collect(),
        blockers: lines(&found.readiness.blockers),
        ready_to_merge: found.readiness.ready_to_merge,
        key_changes: lines(&s.key_changes),
        outstanding_threads: s.outstanding_threads,
    }
}

impl VerdictOut {
    /// Converts the verdict about merging. Its requirements are left out, because they are a
    /// section of their own.
    fn of(found: &PullContext) -> Self {
        let r = &found.readiness;
        Self {
            ready_to_merge: r.ready_to_merge,
            head_sha: r.head_sha.clone(),
            base_sha: r.base_sha.clone(),
            checked_at: r.checked_at.to_string(),
            requirements: Vec::new(),
        }
    }
}

fn head(s: &SummaryOut, v: &VerdictOut) -> String {
    let joined = |texts: &[Clean]| -> String {
        let texts: Vec<String> = texts.iter().map(Clean::to_string).collect();
        texts.join(", ")
    };
    let ready = v.ready_to_merge.map_or("unknown", |ready| match ready {
        true => "true",
        false => "false",
    });
    let mut text = format!("ready to merge: {ready} (checked {})\n", v.checked_at);
    for blocker in &s.blockers {
        text.push_str(&format!("blocker: {blocker}\n"));
    }
    text.push_str(&format!("{} | risk {}", s.change_type, s.risk_level));
    if !s.risk_reasons.is_empty() {
        text.push_str(&format!(": {}", joined(&s.risk_reasons)));
    }
    text.push('\n');
    if !s.key_changes.is_empty() {
        text.push_str(&format!("key changes: {}\n", joined(&s.key_changes)));
    }
    text
}

impl RequirementOut {
    fn of(r: &Requirement, c: &Cleaner) -> Self {
        let clearer = |by: &Clearer| ClearerOut {
            who: by.who.name().to_owned(),
            names: by.names.iter().map(|name| c.line(name)).collect(),
        };
        Self {
            rule: r.rule.name().to_owned(),
            status: r.status.name().to_owned(),
            source: r.source.name().to_owned(),
            source_name: r.source_name.as_ref().map(|name| c.line(name)),
            evidence: c.line(&r.evidence),
            cleared_by: r.cleared_by.iter().map(clearer).collect(),
        }
    }
}

/// Formats a requirement as one line. If it is met, the line shows only its rule.
impl SectionItem for RequirementOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        if self.status == RequirementStatus::Met.name() {
            return format!("met {}\n", self.rule);
        }
        let who: Vec<&str> = self.cleared_by.iter().map(|by| by.who.as_str()).collect();
        let who = match who.is_empty() {
            true => String::new(),
            false => format!(" -> {}", who.join(" or ")),
        };
        let source = match self.source.as_str() {
            "own" => "own rule, not required by the forge",
            source => source,
        };
        let mut line = format!("{} {} [{source}]{who}", self.status, self.rule);
        if let Some(name) = &self.source_name {
            line.push_str(&format!(" | ruleset {name}"));
        }
        for by in self.cleared_by.iter().filter(|by| !by.names.is_empty()) {
            line.push_str(&format!(" | {}: {}", by.who, content::people(&by.names)));
        }
        line.push_str(&format!(" | {}\n", self.evidence));
        line
    }
}

impl LogOut {
    fn of(log: &LogTail, c: &Cleaner) -> Self {
        Self {
            check: c.line(&log.check),
            cut: log.cut,
            text: c.plain(&log.text),
        }
    }
}

impl SectionItem for LogOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        let what = if self.cut { "end of the log" } else { "log" };
        format!("{what} of {}\n{}", self.check, quote(&self.text))
    }

    fn bodies(&mut self) -> Vec<&mut Clean> {
        vec![&mut self.text]
    }
}

fn state(state: Option<forge_core::model::LinkState>) -> String {
    state.map_or("unknown".to_owned(), |state| serde_name(&state))
}

impl LinkedOut {
    fn of(item: &LinkedItem, forge: &str, c: &Cleaner) -> Self {
        let source = match item.target {
            LinkTarget::Ticket(_) => "jira",
            LinkTarget::Forge(..) => forge,
        };
        let line = |text: &Option<String>| text.as_ref().map(|t| c.line(t));
        Self {
            source: source.to_owned(),
            key: c.line(&item.key),
            kind: item.kind.map(|kind| serde_name(&kind)),
            title: line(&item.title),
            status: state(item.state),
            status_name: line(&item.status),
            resolved: item.title.is_some(),
            url: line(&item.url),
            relationship: item.relationship.name().to_owned(),
            found_in: item
                .found_in
                .iter()
                .map(|at| at.name().to_owned())
                .collect(),
            labels: item.labels.iter().map(|l| c.line(l)).collect(),
            body: c.markdown(item.body.as_deref().unwrap_or_default()),
            comments: item
                .comments
                .iter()
                .map(|one| CommentOut::of(one, c))
                .collect(),
        }
    }
}

impl SectionItem for LinkedOut {
    fn text(&self, detailed: bool, cleaner: &Cleaner) -> String {
        let title = self.title.as_ref();
        let title = title.map_or(String::new(), |t| format!(" {t}"));
        let status = self.status_name.as_ref();
        let status = status.map_or(String::new(), |s| format!(" [{}]", content::name(s)));
        let mut text = format!(
            "{} {} (found in {}) {}{status}{title}\n",
            self.relationship,
            self.status,
            self.found_in.join(", "),
            content::issue_id(&self.key)
        );
        if !self.body.is_empty() {
            text.push_str(&quoted(&self.body, detailed, MAX_ISSUE_CHARS, cleaner));
        }
        for comment in &self.comments {
            text.push_str(&comment.text(detailed, cleaner));
        }
        text
    }

    fn bodies(&mut self) -> Vec<&mut Clean> {
        let comments = self.comments.iter_mut().map(|c| &mut c.body);
        comments.chain([&mut self.body]).collect()
    }
}

impl RelatedPullOut {
    fn of(pull: &RelatedPull, c: &Cleaner) -> Self {
        let line = |text: &Option<String>| text.as_ref().map(|t| c.line(t));
        Self {
            number: c.line(&pull.key.to_string()),
            title: line(&pull.title),
            author: line(&pull.author),
            state: state(pull.state),
            relationship: pull.relationship.name().to_owned(),
            overlap_files: pull.overlap_files.iter().map(|f| c.line(f)).collect(),
            url: line(&pull.url),
        }
    }
}

impl SectionItem for RelatedPullOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        let number = content::name(&self.number);
        let mut line = format!("#{number} {} | {}", self.state, self.relationship);
        if let Some(author) = &self.author {
            line.push_str(&format!(" | by @{}", content::name(author)));
        }
        if !self.overlap_files.is_empty() {
            line.push_str(&format!(" | {}", content::names(&self.overlap_files)));
        }
        if let Some(title) = &self.title {
            line.push_str(&format!(" | {title}"));
        }
        line.push('\n');
        line
    }
}

impl PackedOut {
    fn of(file: &PackedFile, c: &Cleaner) -> Self {
        Self {
            path: c.line(&file.path),
            previous_path: file.previous_path.as_ref().map(|p| c.line(p)),
            status: serde_name(&file.status),
            class: file.class.name().to_owned(),
            additions: file.additions,
            deletions: file.deletions,
            omitted: file.omitted.iter().map(OmissionOut::of).collect(),
        }
    }

    /// Returns the line before a file's hunks. It names the parts that are left out.
    fn head(&self) -> String {
        let counts = match (self.additions, self.deletions) {
            (Some(added), Some(deleted)) => format!("+{added} -{deleted}"),
            _ => "binary".to_owned(),
        };
        let was = self.previous_path.as_ref();
        let was = was.map(|path| format!(" (was {})", content::name(path)));
        let notes: String = self.omitted.iter().map(OmissionOut::note).collect();
        format!(
            "file {} {counts} {}{notes} {}{}\n",
            self.status,
            self.class,
            content::name(&self.path),
            was.unwrap_or_default()
        )
    }
}

impl OmissionOut {
    fn of(omission: &forge::context::Omission) -> Self {
        Self {
            reason: omission.reason.name().to_owned(),
            lines: omission.lines,
        }
    }

    fn note(&self) -> String {
        let reason = &self.reason;
        match self.lines {
            0 => format!(" [not shown: {reason}]"),
            lines => format!(" [{lines} lines not shown: {reason}]"),
        }
    }
}

impl SectionErrorOut {
    fn of(error: &SectionError, c: &Cleaner) -> Self {
        Self {
            section: error.section.to_owned(),
            kind: error.kind.to_owned(),
            message: c.line(&error.message).cut(400),
        }
    }
}

/// The sections of a bundle, as lists of blocks.
struct PrContextSections {
    checks: Option<BlockList<CheckOut>>,
    logs: Option<BlockList<LogOut>>,
    threads: Option<BlockList<ContextThreadOut>>,
    comments: Option<BlockList<CommentOut>>,
    reviews: Option<BlockList<ContextReviewOut>>,
    linked: Option<BlockList<LinkedOut>>,
    related: Option<BlockList<RelatedPullOut>>,
    files: Option<BlockList<FileOut>>,
    history: Option<BlockList<EventOut>>,
    diff: Option<DiffSection>,
    since: Option<SinceSection>,
    source: Option<BlockList<SourceOut>>,
}

/// A diff, with the index of each file's first block.
struct DiffSection {
    out: DiffOut,
    begins: Vec<usize>,
}

impl DiffSection {
    /// Returns the part of the data that belongs to a page. The first page always has the
    /// statistics of the diff.
    fn on(mut self, page: &Range<usize>) -> Option<DiffOut> {
        let mut begins = self.begins.into_iter();
        let files = &mut self.out.files;
        files.retain(|_| begins.next().is_some_and(|at| page.contains(&at)));
        (!files.is_empty() || page.contains(&TOP_BLOCK)).then_some(self.out)
    }
}

impl PrContextSections {
    /// Appends the sections to `blocks`. Resolved threads have comments only if `with_resolved` is
    /// true.
    fn of(
        found: &PullContext,
        with_resolved: bool,
        max: usize,
        c: &Cleaner,
        blocks: &mut Blocks,
    ) -> Self {
        fn list<M, T: SectionItem>(
            name: &str,
            items: Option<&[M]>,
            of: impl Fn(&M) -> T,
            (blocks, c): (&mut Blocks, &Cleaner),
        ) -> Option<BlockList<T>> {
            let items = items?.iter().map(of).collect();
            Some(blocks.section(name, "", items, false, c))
        }
        let forge = found.pull.id.repo.kind.to_string();
        let checks = found.ci.as_ref().map(|report| report.checks.as_slice());
        Self {
            checks: list(
                "checks",
                checks,
                |check| check_out(check, c),
                (&mut *blocks, c),
            ),
            logs: found.ci_logs.as_deref().map(|logs| {
                let failed = found.pull.checks.as_ref().map_or(0, |r| r.counts.failure);
                let note = match logs.is_empty() && failed > 0 {
                    true => ", no log of the failed checks was found; see their pages",
                    false => "",
                };
                let items = logs.iter().map(|log| LogOut::of(log, c)).collect();
                blocks.section("logs", note, items, false, c)
            }),
            threads: found
                .threads
                .as_ref()
                .map(|all| threads::section(all, with_resolved, max, c, &mut *blocks)),
            comments: list(
                "comments",
                found.comments.as_deref(),
                |comment| CommentOut::of(comment, c),
                (&mut *blocks, c),
            ),
            reviews: list(
                "reviews",
                found.reviews.as_deref(),
                |review| ContextReviewOut::of(review, &found.pull.latest_reviews, max, c),
                (&mut *blocks, c),
            ),
            linked: list(
                "linked issues",
                found.linked_issues.as_deref(),
                |item| LinkedOut::of(item, &forge, c),
                (&mut *blocks, c),
            ),
            related: list(
                "related pull requests",
                found.related_prs.as_deref(),
                |pull| RelatedPullOut::of(pull, c),
                (&mut *blocks, c),
            ),
            files: list(
                "files",
                found.files.as_deref(),
                |file| FileOut::of(file, c),
                (&mut *blocks, c),
            ),
            history: list(
                "history",
                found.history.as_deref(),
                |event| EventOut::of(event, c),
                (&mut *blocks, c),
            ),
            since: found
                .since
                .as_ref()
                .map(|found| SinceSection::of(found, c, &mut *blocks)),
            diff: found
                .diff
                .as_ref()
                .map(|diff| packed("diff", diff, c, &mut *blocks)),
            source: found
                .source
                .as_ref()
                .map(|found| source::section(found, c, blocks)),
        }
    }

    /// Returns true if the first page has the statistics of a diff, but none of its files.
    fn has_bare_statistics(&self, page: &Range<usize>) -> bool {
        let of_since = self.since.as_ref().map(|since| &since.diff);
        let mut diffs = self.diff.iter().chain(of_since);
        let is_bare = |diff: &DiffSection| !diff.begins.iter().any(|at| page.contains(at));
        page.contains(&TOP_BLOCK) && diffs.any(is_bare)
    }

    /// Returns the part of the data that belongs to a page.
    fn on(
        self,
        page: &Range<usize>,
        partial: bool,
        (pull_request, summary, verdict): (PullOut, SummaryOut, VerdictOut),
    ) -> PrContextOut {
        PrContextOut {
            pull_request,
            summary,
            verdict,
            ingestion: None,
            ci_status: self.checks.and_then(|all| all.on(page)),
            ci_logs: self.logs.and_then(|all| all.on(page)),
            threads: self
                .threads
                .and_then(|all| all.on(page))
                .map(ContextThreadOut::joined),
            comments: self.comments.and_then(|all| all.on(page)),
            reviews: self.reviews.and_then(|all| all.on(page)),
            linked_issues: self.linked.and_then(|all| all.on(page)),
            related_prs: self.related.and_then(|all| all.on(page)),
            files: self.files.and_then(|all| all.on(page)),
            history: self.history.and_then(|all| all.on(page)),
            diff: self.diff.and_then(|diff| diff.on(page)),
            since: self.since.and_then(|since| since.on(page)),
            source: self.source.and_then(|all| all.on(page)),
            waited: None,
            next_cursor: None,
            bodies_in_text: false,
            partial,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Renders the diff with one block for each hunk. The first hunk of a file is in the same block as
/// the line before it, which names the file.
fn packed(name: &str, diff: &PackedDiff, c: &Cleaner, blocks: &mut Blocks) -> DiffSection {
    let mut head = format!(
        "\n{name}: {} +{} -{}{}\n",
        files(diff.files_total as u64),
        diff.additions,
        diff.deletions,
        match diff.truncated {
            true => ", not all of it: pr_diff with paths has the rest",
            false => "",
        }
    );
    let mut omitted = diff.files.iter().flat_map(|file| &file.omitted);
    if let Some(hint) = omitted.find_map(|omission| omission.reason.recovery()) {
        head.push_str(&format!(
            "binary, too_large and unavailable files: repo_file at the head if it is text, or {hint}\n"
        ));
    }
    let (mut rows, mut begins) = (Vec::new(), Vec::new());
    for file in &diff.files {
        let row = PackedOut::of(file, c);
        begins.push(blocks.texts.len());
        head.push_str(&row.head());
        let length = budget::length(&row);
        let mut hunks = file.hunks.iter();
        if let Some(first) = hunks.next() {
            head.push_str(&hunk(&first.text, c));
        }
        blocks.push(std::mem::take(&mut head), length);
        for more in hunks {
            blocks.push(hunk(&more.text, c), 0);
        }
        rows.push(row);
    }
    if diff.files.is_empty() {
        blocks.push(head, 0);
    }
    let out = DiffOut {
        files_total: diff.files_total,
        additions: diff.additions,
        deletions: diff.deletions,
        context_lines: diff.context_lines,
        truncated: diff.truncated,
        files: rows,
    };
    DiffSection { out, begins }
}

fn hunk(text: &str, c: &Cleaner) -> String {
    let mut text = c.diff(text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

impl PrContextOut {
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
        let linked = self.linked_issues.iter_mut().flatten();
        let logs = self
            .ci_logs
            .iter_mut()
            .flatten()
            .flat_map(SectionItem::bodies);
        let bodies = threads.chain(comments).chain(logs);
        let bodies = bodies.chain(linked.flat_map(SectionItem::bodies));
        for body in bodies.chain([&mut self.pull_request.description]) {
            self.bodies_in_text |= !body.is_empty();
            *body = Clean::default();
        }
        for review in self.reviews.iter_mut().flatten() {
            self.bodies_in_text |= review.review.body.take().is_some();
        }
    }
}
