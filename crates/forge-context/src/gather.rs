//! Requests all sections from a forge concurrently, and builds the bundle.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Op, Page, PageReq, PrId, PrKey, Quota, Repo,
    Result, Warning, call,
    diff::MAX_PARTS,
    model::{
        Actor, CheckStatus, ChecksReport, Comment, ContentsReq, Diff, DiffReq, FileChange,
        IssueFields, IssueId, Links, MergeState, Mergeability, PrFields, PrState, PullQuery,
        PullRequest, Review, SinceHead, StateFilter, StatusEvent, Subject, Thread,
    },
    text::strip_ansi,
};
use futures::{TryStreamExt as _, future::join_all, join, try_join};
use serde::Serialize;

use crate::{
    ChangeType, ContextReq, ContextSection, DEFAULT_DIFF_BYTES, Dependency, LATEST_REVIEW,
    LinkedItem, MAX_CANDIDATES, MAX_ENTRIES, PackedDiff, PackedSource, Readiness, RelatedPull,
    Risk, SinceChanges, TicketSource, VERDICT_FIELDS, change_type,
    events::GatherObserver,
    key_changes,
    linked::{add_links, cut_texts, linked_items, unread_elsewhere, unread_texts, unread_tickets},
    newest::cut_sections,
    one_liner, pack,
    pack::length_of_parts,
    preflight::{base_rules, dependency, rules_of},
    readiness::not_indexed,
    related::{related_pulls, unexamined},
    since::SincePoint,
    source::SourcePlan,
    ticket::ReadTicket,
};

/// Fields that are read for every pull request: those of the verdict and of the summary.
const ALWAYS: PrFields = VERDICT_FIELDS
    .with(PrFields::STATS)
    .with(PrFields::FILES)
    .with(PrFields::LINKED_LABELS);
/// Maximum number of bytes of a diff that are read.
const MAX_READ: usize = 32 * 1024 * 1024;
/// Maximum number of issues that are read in full.
const MAX_ISSUES: usize = 10;
/// Maximum number of history events that are read.
const MAX_EVENTS: usize = 100;
/// Maximum number of failed checks whose logs are read.
const MAX_LOGS: usize = 5;
/// Maximum number of failed checks whose failure reasons are read. A bundle shows at most this many
/// checks, and GitHub answers for a hundred checks in one request.
const MAX_REASONS: usize = MAX_ENTRIES;
/// Maximum number of lines that are kept of a log.
const MAX_LOG_LINES: usize = 200;
/// Maximum number of bytes that are read of a log.
const MAX_LOG_BYTES: usize = 12 * 1024;
/// The id of GitHub Actions among the apps of github.com.
const GITHUB_ACTIONS: u64 = 15_368;

/// The gathered bundle of a pull request.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PullContext {
    /// The pull request, without comments, threads, reviews, commits and files.
    pub pull: PullRequest,
    /// Summary of the change.
    pub summary: ContextSummary,
    /// The verdict: whether the pull request is ready to be merged.
    pub readiness: Readiness,
    /// Comments, oldest first.
    pub comments: Option<Vec<Comment>>,
    /// Review threads.
    pub threads: Option<Vec<Thread>>,
    /// Reviews, oldest first.
    pub reviews: Option<Vec<Review>>,
    /// The checks of the head.
    pub ci: Option<ChecksReport>,
    /// The ends of the logs of failed checks.
    pub ci_logs: Option<Vec<LogTail>>,
    /// Issues, pull requests and tickets linked with the pull request.
    pub linked_issues: Option<Vec<LinkedItem>>,
    /// Related pull requests.
    pub related_prs: Option<Vec<RelatedPull>>,
    /// The diff, cut to its budget.
    pub diff: Option<PackedDiff>,
    /// The changed files.
    pub files: Option<Vec<FileChange>>,
    /// Status events, oldest first.
    pub history: Option<Vec<StatusEvent>>,
    /// Changes since the review or commit that [`ContextReq::since`] names.
    pub since: Option<SinceChanges>,
    /// The changed files at the head.
    pub source: Option<PackedSource>,
    /// Sections that could not be read, or could be read only in part. All sections that are not
    /// listed here are complete.
    pub errors: Vec<SectionError>,
    /// True if a part of the bundle could not be read.
    pub partial: bool,
    /// Warnings for the reader.
    pub warnings: Vec<Warning>,
}

/// Summary of a pull request, computed by rules only.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ContextSummary {
    /// The title without prefix and ticket.
    pub one_liner: String,
    /// The kind of change.
    pub change_type: ChangeType,
    /// The risk of the change.
    pub risk: Risk,
    /// The most important changes.
    pub key_changes: Vec<String>,
    /// The number of unresolved threads; `None` if threads could not be read. If a warning says
    /// that some threads could not be read, there may be more unresolved threads.
    pub outstanding_threads: Option<usize>,
}

/// A section that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SectionError {
    /// The name of a [`ContextSection`] or of a field of the pull request.
    pub section: &'static str,
    /// The code of the error, or `incomplete` if the section was read in part.
    pub kind: &'static str,
    /// The failure and its reason.
    pub message: String,
    /// A command or call that reads the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
}

impl SectionError {
    fn of(section: ContextSection, error: &Error) -> Self {
        Self {
            section: section.name(),
            kind: error.code(),
            message: error.message().to_owned(),
            hint: error.hint().cloned(),
        }
    }
}

/// The end of the log of a failed check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogTail {
    /// The name of the check.
    pub check: String,
    /// The last lines of the log, without colours.
    pub text: String,
    /// True if the log has earlier lines.
    pub cut: bool,
}

/// Reads the sections of `pr` that `req` includes. The verdict does not depend on `req.include`.
///
/// # Errors
///
/// Fails as [`Repo::pull`] does. If the pull request can be read but one of its sections cannot,
/// the error is in [`PullContext::errors`].
pub async fn context(repo: &Repo, pr: &PrId, req: &ContextReq) -> Result<PullContext> {
    let mut policy = repo.client().policy().clone();
    let watch = Arc::new(GatherObserver::new(pr, req, policy.observer.take()));
    policy.observer = Some(watch.clone());
    let repo = repo.with_policy(policy);
    let gather = Gather {
        repo: &repo,
        pr,
        req,
        watch: &watch,
        reserve: OnceLock::new(),
    };
    watch.started(pr, req);
    let found = call::together(gather.gather()).await;
    watch.ended(pr, req, &found);
    found
}

struct Gather<'a> {
    repo: &'a Repo,
    pr: &'a PrId,
    req: &'a ContextReq,
    watch: &'a GatherObserver,
    /// Set once the pull request was read: the rate limit if it is too low for optional sections,
    /// otherwise `None`.
    reserve: OnceLock<Option<Quota>>,
}

/// The pull request and the results of the requests that follow it.
struct GatheredPull {
    pull: PullRequest,
    items: Vec<LinkedItem>,
    /// The keys of the issues that could not be read. The errors are in [`Self::errors`].
    unread_issues: Vec<String>,
    dependency: Option<Dependency>,
    logs: Option<Vec<LogTail>>,
    candidates: Requested<Page<PullRequest>>,
    since: Requested<SinceRead>,
    source: Requested<PackedSource>,
    errors: Vec<SectionError>,
    warnings: Vec<Warning>,
}

/// The result of a requested section; `None` if not requested.
type Requested<T> = Option<Result<T>>;
/// A diff, its bytes, and a flag that is true if the diff was cut.
type DiffRead = (Diff, Vec<u8>, bool);
/// The starting point of the changes, how the head moved since then, and the diff.
type SinceRead = (SincePoint, SinceHead, DiffRead);

impl Gather<'_> {
    async fn gather(&self) -> Result<PullContext> {
        let (mut core, diff, links, history, viewer) = try_join!(
            self.core(),
            async { Ok(self.diff().await) },
            async { Ok(self.links().await) },
            async { Ok(self.history().await) },
            async { Ok(self.viewer().await) },
        )?;
        let plan = self.source_plan(&core.pull, &diff);
        let (since, source) = join!(
            self.since(&core.pull, viewer),
            self.source(plan, &core.pull)
        );
        (core.since, core.source) = (since, source);
        if !self.wants(ContextSection::Reviews) {
            core.pull.reviews = None;
        }
        Ok(self.assemble(core, diff, links, history))
    }

    fn wants(&self, section: ContextSection) -> bool {
        self.req.wants(section)
    }

    /// Returns true if the optional `section` is requested and the rate limit suffices for it.
    fn affords(&self, section: ContextSection) -> bool {
        self.wants(section) && self.reserve.get().is_none_or(Option::is_none)
    }

    fn can(&self, capability: Capability) -> bool {
        self.repo.supports(capability)
    }

    /// Returns true if a requested section needs links to issues and pull requests.
    fn wants_links(&self) -> bool {
        self.wants(ContextSection::LinkedIssues) || self.wants(ContextSection::RelatedPrs)
    }

    /// Returns the fields to read: those of the verdict and those of the requested sections.
    fn fields(&self) -> PrFields {
        [
            (self.wants(ContextSection::Comments), PrFields::COMMENTS),
            (
                self.wants(ContextSection::Reviews) || self.req.since.is_some(),
                PrFields::REVIEWS,
            ),
            (self.wants_links(), PrFields::COMMITS),
        ]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .fold(ALWAYS | PrFields::NEWEST, |all, (_, more)| all | more)
    }

    async fn core(&self) -> Result<GatheredPull> {
        let (mut pull, mut errors) = self.view().await?;
        let reserve = *self.reserve.get_or_init(|| self.watch.reserve());
        errors.extend(reserve.iter().flat_map(|quota| self.quota_errors(quota)));
        let mut warnings = Vec::new();
        let items = match self.wants_links() {
            true => linked_items(
                &pull,
                &self.req.hosts,
                &self.req.tickets.keys,
                &mut warnings,
            ),
            false => Vec::new(),
        };
        let (read, tickets, dependency, logs, reasons, settled, candidates, rules) = join!(
            self.read_issues(&items),
            self.read_tickets(&items),
            dependency(self.repo, &pull),
            self.logs(&pull),
            self.reasons(&pull),
            self.mergeability(&pull),
            self.candidates(),
            base_rules(self.repo, &pull),
        );
        pull.base_rules = rules.or(pull.base_rules);
        if let Some(settled) = settled {
            if settled.state != MergeState::Unknown {
                pull.warnings.retain(|w| w.section != Some("mergeability"));
            }
            pull.mergeability = Some(settled);
        }
        let mut core = GatheredPull {
            pull,
            items,
            unread_issues: Vec::new(),
            dependency,
            logs: None,
            candidates,
            since: None,
            source: None,
            errors,
            warnings,
        };
        core.take_reasons(reasons);
        core.take_issues(read);
        core.take_tickets(&self.req.tickets, tickets);
        if let Some(logs) = logs {
            let mut tails = Vec::new();
            for tail in logs {
                match tail {
                    Ok(tail) => tails.extend(tail),
                    Err(e) => core
                        .errors
                        .push(SectionError::of(ContextSection::CiLogs, &e)),
                }
            }
            core.logs = Some(tails);
        }
        Ok(core)
    }

    /// Reads the pull request. Omits the long sections if the forge refuses the query as too
    /// costly.
    async fn view(&self) -> Result<(PullRequest, Vec<SectionError>)> {
        let refused = match self.repo.pull(self.pr, self.fields()).await {
            Err(e) if is_too_costly(&e) => e,
            found => return Ok((found?, Vec::new())),
        };
        let pull = self.repo.pull(self.pr, ALWAYS).await?;
        let long = [
            ContextSection::Comments,
            ContextSection::Reviews,
            ContextSection::LinkedIssues,
        ];
        let of = |section: ContextSection| SectionError {
            hint: Some(Hint::new("request only this section, or read it in pages")),
            ..SectionError::of(section, &refused)
        };
        let wanted = long.into_iter().filter(|section| self.wants(*section));
        Ok((pull, wanted.map(of).collect()))
    }

    /// Returns an error for each optional section that is left out to save the rate limit.
    fn quota_errors(&self, quota: &Quota) -> Vec<SectionError> {
        let kept = self.req.settings.rate_limit_buffer;
        let message = format!(
            "left out to save the rate limit: {} requests remain, and {kept} are reserved",
            quota.remaining
        );
        let optional = ContextSection::OPTIONAL.into_iter();
        let wanted = optional.filter(|section| self.wants(*section));
        let of = |section: ContextSection| SectionError {
            section: section.name(),
            kind: "rate_limited",
            message: message.clone(),
            hint: Some(Hint::from(format!("try again at {}", quota.reset))),
        };
        wanted.map(of).collect()
    }

    /// Reads the linked issues with their texts and comments. Each result has the index of its item
    /// in `items`.
    async fn read_issues(
        &self,
        items: &[LinkedItem],
    ) -> Vec<(usize, Result<forge_core::model::Issue>)> {
        let own = self.repo.id();
        let listed = match self.reads_issues() {
            true => self.listed_records(items).await,
            false => BTreeSet::new(),
        };
        let readable = items.iter().enumerate().filter_map(|(at, item)| {
            let id = match item.issue_in(own) {
                Some(key) => IssueId {
                    repo: own.clone(),
                    key: key.clone(),
                },
                None => item
                    .issue_elsewhere(own)
                    .filter(|id| self.req.other_repos.has(&id.repo))?,
            };
            let is_safe = match &id.key {
                PrKey::Record(uri) => listed.contains(uri),
                PrKey::Number(_) => true,
            };
            is_safe.then_some((at, id))
        });
        let most = if self.reads_issues() { MAX_ISSUES } else { 0 };
        let reads = readable.take(most).map(|(at, id)| async move {
            let fields = IssueFields::NEWEST_COMMENTS;
            (at, self.repo.issue(&id, &fields).await)
        });
        let mut read = join_all(reads).await;
        // If a repository was renamed, the issue has the new name of the repository. The caller may
        // not have allowed that name.
        read.retain(|(at, read)| match read {
            Ok(issue) => {
                let item = items.get(*at);
                let is_own = item.is_some_and(|item| item.issue_in(own).is_some());
                is_own || self.req.other_repos.has(&issue.id.repo)
            }
            Err(_) => true,
        });
        read
    }

    /// Returns the records among `items` that the forge lists as issues of the repository. Returns
    /// none if this list cannot be read. A record that the forge does not list is not read, because
    /// the text of a pull request must not choose which host is contacted.
    async fn listed_records(&self, items: &[LinkedItem]) -> BTreeSet<String> {
        let own = self.repo.id();
        let records = items.iter().filter_map(|item| match item.issue_in(own)? {
            PrKey::Record(uri) => Some(uri.clone()),
            PrKey::Number(_) => None,
        });
        let records: Vec<String> = records.collect();
        match records.is_empty() {
            true => BTreeSet::new(),
            false => (self.repo.listed_issues(&records).await).unwrap_or_default(),
        }
    }

    fn reads_issues(&self) -> bool {
        self.affords(ContextSection::LinkedIssues) && self.can(Capability::IssueView)
    }

    async fn read_tickets(&self, items: &[LinkedItem]) -> Vec<ReadTicket> {
        match self.wants(ContextSection::LinkedIssues) {
            true => self.req.tickets.read(items, &self.req.observer).await,
            false => Vec::new(),
        }
    }

    /// Reads the mergeability again, because a forge that computes it on demand may first answer
    /// "unknown".
    async fn mergeability(&self, pull: &PullRequest) -> Option<Mergeability> {
        let found = pull.mergeability.as_ref()?;
        if found.state != MergeState::Unknown || pull.state != PrState::Open {
            return None;
        }
        self.repo.mergeability(self.pr).await.ok()
    }

    async fn logs(&self, pull: &PullRequest) -> Option<Vec<Result<Option<LogTail>>>> {
        if !self.affords(ContextSection::CiLogs) || !self.can(Capability::CheckLogs) {
            return None;
        }
        let checks = pull.checks.iter().flat_map(|report| &report.checks);
        let failed = checks.filter(|c| c.status == CheckStatus::Failure);
        let reads = failed.take(MAX_LOGS).map(|check| async move {
            let log = self.repo.check_log(self.pr, check, MAX_LOG_BYTES).await?;
            Ok(log.map(|log| log_tail(&check.name, &log.text, log.cut)))
        });
        Some(join_all(reads).await)
    }

    /// Reads why each failed check failed. The reasons are in the order of the checks.
    async fn reasons(&self, pull: &PullRequest) -> Requested<Vec<Option<String>>> {
        let checks = pull.checks.iter().flat_map(|report| &report.checks);
        let failed = checks.filter(|c| c.status == CheckStatus::Failure);
        let failed: Vec<_> = failed.take(MAX_REASONS).collect();
        match self.wants(ContextSection::Ci) && !failed.is_empty() {
            true => Some(self.repo.check_reasons(self.pr, &failed).await),
            false => None,
        }
    }

    async fn diff(&self) -> Requested<DiffRead> {
        if !self.wants(ContextSection::Diff) && !self.wants(ContextSection::Source) {
            return None;
        }
        Some(self.read_diff(&self.diff_req()).await)
    }

    fn diff_req(&self) -> DiffReq {
        let (asked, settings) = (self.req.context_lines, &self.req.settings);
        let mut req = DiffReq::default();
        req.context_lines = Some(asked.unwrap_or(settings.diff_context_lines));
        req.prefers_context = asked.is_none();
        req.clone = self.req.clone.clone();
        req
    }

    /// Reads the viewer (the authenticated account) if `since` refers to the viewer's latest
    /// review.
    async fn viewer(&self) -> Requested<Actor> {
        let is_asked = self.req.since.as_deref() == Some(LATEST_REVIEW);
        match is_asked {
            true => Some(self.repo.viewer().await),
            false => None,
        }
    }

    async fn since(&self, pull: &PullRequest, viewer: Requested<Actor>) -> Requested<SinceRead> {
        let asked = self.req.since.as_deref()?;
        Some(self.read_since(asked, pull, viewer).await)
    }

    async fn read_since(
        &self,
        asked: &str,
        pull: &PullRequest,
        viewer: Requested<Actor>,
    ) -> Result<SinceRead> {
        let named = self.req.since_commit.as_deref();
        let point = SincePoint::resolve(asked, named, pull, viewer)?;
        let req = point.narrow(pull, self.diff_req());
        let (mut diff, bytes, cut) = self.read_diff(&req).await?;
        let head = diff.since.take().ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                "the forge answered with a diff that names no earlier head",
            )
        })?;
        Ok((point, head, (diff, bytes, cut)))
    }

    fn source_plan(&self, pull: &PullRequest, diff: &Requested<DiffRead>) -> Option<SourcePlan> {
        if !self.affords(ContextSection::Source) {
            return None;
        }
        let bytes = match diff {
            Some(Ok((_, bytes, _))) => bytes.as_slice(),
            // Without a diff there are no hunks, but small files of the file list can still be
            // shown whole.
            _ => &[],
        };
        let listed = pull.files.as_deref().unwrap_or_default();
        Some(SourcePlan::new(bytes, listed))
    }

    async fn source(
        &self,
        plan: Option<SourcePlan>,
        pull: &PullRequest,
    ) -> Requested<PackedSource> {
        Some(self.read_source(plan?, pull).await)
    }

    async fn read_source(&self, plan: SourcePlan, pull: &PullRequest) -> Result<PackedSource> {
        let head = pull.head_oid.clone().unwrap_or_default();
        let mut req = ContentsReq::new(head.clone(), plan.paths());
        req.clone = self.req.clone.clone();
        let contents = match req.paths.is_empty() {
            true => Vec::new(),
            false => self.repo.contents(self.pr, &req).await?,
        };
        Ok(plan.pack(head, contents, self.req.diff_bytes))
    }

    async fn read_diff(&self, req: &DiffReq) -> Result<DiffRead> {
        let mut diff = self.repo.diff(self.pr, req).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = diff.body.try_next().await? {
            // The buffer grows to up to twice the length of its content.
            call::keep(chunk.len().saturating_mul(2))?;
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_READ {
                break;
            }
        }
        let is_long = bytes.len() > MAX_READ;
        if is_long {
            // The end of a cut line could be mistaken for the name of another file.
            let end = bytes.iter().rposition(|b| *b == b'\n');
            bytes.truncate(end.map_or(0, |at| at + 1));
        }
        let kept = length_of_parts(&bytes, MAX_PARTS);
        let cut = is_long || kept < bytes.len();
        bytes.truncate(kept);
        Ok((diff, bytes, cut))
    }

    async fn links(&self) -> Requested<Links> {
        if !self.wants_links() || !self.can(Capability::Links) {
            return None;
        }
        let subject = Subject::Pull(self.pr.clone());
        Some(self.repo.links(&subject).await)
    }

    async fn candidates(&self) -> Requested<Page<PullRequest>> {
        if !self.affords(ContextSection::RelatedPrs) {
            return None;
        }
        let mut query = PullQuery::default();
        query.state = StateFilter::All;
        query.prefers_updated = true;
        query.fields = PrFields::FILES | PrFields::DEPENDS_ON | PrFields::LINKED_ISSUES;
        Some(
            self.repo
                .pulls(&query, PageReq::first(MAX_CANDIDATES))
                .await,
        )
    }

    async fn history(&self) -> Requested<Page<StatusEvent>> {
        if !self.wants(ContextSection::History) {
            return None;
        }
        let first = PageReq::first(MAX_EVENTS);
        Some(self.repo.history(self.pr, first).await)
    }

    fn assemble(
        &self,
        core: GatheredPull,
        diff: Requested<DiffRead>,
        links: Requested<Links>,
        history: Requested<Page<StatusEvent>>,
    ) -> PullContext {
        let GatheredPull {
            mut pull,
            mut items,
            unread_issues,
            dependency,
            logs,
            candidates,
            since,
            source,
            errors,
            mut warnings,
        } = core;
        let mut errors = SectionErrors(errors);
        let is_shown = |warning: &Warning| {
            self.wants_links() || warning.section != Some(ContextSection::LinkedIssues.name())
        };
        for warning in std::mem::take(&mut pull.warnings)
            .into_iter()
            .filter(is_shown)
        {
            match warning.section {
                Some(section) => {
                    errors.0.push(SectionError {
                        section: section_with(section),
                        kind: "incomplete",
                        message: warning.message.clone(),
                        hint: warning.hint.clone(),
                    });
                    // The warning stays on the pull request, because the verdict recognises unread
                    // sections by such warnings.
                    pull.warnings.push(warning);
                }
                None => warnings.push(warning),
            }
        }
        warnings.extend(not_indexed(&pull));
        let readiness = Readiness::of(
            &pull,
            rules_of(self.repo, &self.req.settings),
            dependency.as_ref(),
            self.req.checked_at,
        );
        let links = errors.keep(ContextSection::LinkedIssues, links);
        if let Some(links) = &links {
            warnings.extend(add_links(&mut items, &pull, links));
            warnings.extend(links.warnings.clone());
        }
        if self.reads_issues() {
            warnings.extend(unread_elsewhere(&items, self.repo.id()));
            warnings.extend(unread_texts(&items, self.repo.id(), &unread_issues));
        }
        warnings.extend(cut_texts(&mut items, DEFAULT_DIFF_BYTES));
        let related = errors
            .keep(ContextSection::RelatedPrs, candidates)
            .map(|page| {
                warnings.extend(page.warnings.clone());
                warnings.extend(unexamined(&page));
                let candidates = &page.items;
                related_pulls(
                    &pull,
                    &items,
                    links.as_ref(),
                    candidates,
                    self.req,
                    &mut warnings,
                )
            });
        let files = pull.files.take();
        let diff = diff.filter(|_| self.wants(ContextSection::Diff));
        let diff = errors.keep(ContextSection::Diff, diff);
        let diff = diff.map(|diff| {
            let listed = files.as_deref().unwrap_or_default();
            self.packed(&pull, diff, listed, &mut warnings)
        });
        let since = errors.keep_since(since).map(|(point, head, diff)| {
            let diff = self.packed(&pull, diff, &[], &mut warnings);
            SinceChanges::new(point, head, diff)
        });
        let source = errors.keep(ContextSection::Source, source);
        let history = errors.keep(ContextSection::History, history).map(|page| {
            if page.next.is_some() {
                let cut = format!("the history has more than {MAX_EVENTS} events");
                warnings.push(Warning::new(cut).of_section("history"));
            }
            warnings.extend(page.warnings);
            page.items
        });
        let open = |threads: &Vec<Thread>| threads.iter().filter(|t| t.is_open()).count();
        // A thread that was not read may be open. If no open thread was read, the number is
        // therefore unknown.
        let is_cut = pull.warnings.iter().any(|w| w.section == Some("threads"));
        let outstanding_threads = pull.threads.as_ref().map(open);
        let outstanding_threads = outstanding_threads.filter(|open| *open > 0 || !is_cut);
        cut_sections(&mut pull, &mut warnings);
        let threads = pull.threads.take();
        let summary = ContextSummary {
            one_liner: one_liner(&pull.title),
            change_type: {
                pull.files.clone_from(&files);
                change_type(&pull)
            },
            risk: Risk::of(&pull, &self.req.settings.risk),
            key_changes: key_changes(files.as_deref().unwrap_or_default()),
            outstanding_threads,
        };
        pull.files = None;
        pull.commits = None;
        pull.linked_issues.take_if(|_| !self.wants_links());
        let wants = |section| self.wants(section);
        let mut seen = Vec::new();
        warnings.retain(|w| {
            !seen.contains(w) && !errors.has_cause_of(w) && {
                seen.push(w.clone());
                true
            }
        });
        PullContext {
            summary,
            readiness,
            comments: pull.comments.take(),
            threads: threads.filter(|_| wants(ContextSection::Comments)),
            reviews: pull.reviews.take(),
            ci: pull.checks.clone().filter(|_| wants(ContextSection::Ci)),
            ci_logs: logs,
            linked_issues: wants(ContextSection::LinkedIssues).then_some(items),
            related_prs: related,
            diff,
            files: files.filter(|_| wants(ContextSection::Files)),
            history,
            since,
            source,
            partial: !errors.0.is_empty(),
            errors: errors.0,
            warnings,
            pull,
        }
    }

    fn packed(
        &self,
        pull: &PullRequest,
        (diff, bytes, cut): DiffRead,
        listed: &[FileChange],
        warnings: &mut Vec<Warning>,
    ) -> PackedDiff {
        if cut {
            let most = MAX_READ >> 20;
            let message = format!(
                "the diff is longer than {most} MiB, or has more than {MAX_PARTS} files and hunks; \
                 the rest is left out"
            );
            warnings.push(Warning::new(message).of_section("diff"));
        }
        let head_sha = Some(diff.head_oid).filter(|oid| !oid.is_empty());
        if let (Some(of_diff), Some(of_pull)) = (head_sha.as_deref(), pull.head_id())
            && of_diff != of_pull
        {
            let message = format!("the head moved from {of_pull} to {of_diff} during this read");
            warnings
                .push(Warning::new(message).with_hint("call again when no push is in progress"));
        }
        warnings.extend(diff.warnings);
        let packed = pack(&bytes, listed, self.req.diff_bytes);
        let mut omitted = packed.files.iter().flat_map(|file| &file.omitted);
        let is_in_whole_diff = omitted.any(|omission| omission.reason.is_in_whole_diff());
        let recovery = is_in_whole_diff.then(|| {
            let read = Action::op(Op::PrDiff).on(&pull.id.key);
            Hint::new("read the whole diff").with_action(read)
        });
        PackedDiff {
            base_sha: diff.base_oid,
            head_sha,
            context_lines: diff.context_lines,
            recovery,
            ..packed
        }
    }
}

impl GatheredPull {
    /// Replaces the summary of each failed check by its failure reason, if the reason was read.
    ///
    /// A check whose reason was not read keeps or loses its summary:
    /// - A check without an id, such as a commit status, keeps it, because this summary is the
    ///   reason.
    /// - A check run of an app other than GitHub Actions keeps it, because such an app writes its
    ///   result there.
    /// - Any other check run loses it, because a title such as `Some checks failed` is not a
    ///   reason.
    ///
    /// A warning counts the checks that are shown without a reason.
    fn take_reasons(&mut self, reasons: Requested<Vec<Option<String>>>) {
        let mut reasons = match reasons {
            None => return,
            Some(Ok(reasons)) => reasons.into_iter(),
            Some(Err(e)) => {
                self.errors.push(SectionError::of(ContextSection::Ci, &e));
                Vec::new().into_iter()
            }
        };
        let mut unread = 0;
        let checks = self.pull.checks.iter_mut().flat_map(|r| &mut r.checks);
        for check in checks.filter(|c| c.status == CheckStatus::Failure) {
            match reasons.next() {
                Some(Some(reason)) => check.summary = Some(reason),
                _ if check.id.is_empty() => {}
                read => {
                    let is_of_app = check.app.is_some_and(|app| app != GITHUB_ACTIONS);
                    let is_kept = is_of_app && check.workflow.is_none();
                    let title = check.summary.take_if(|_| !is_kept);
                    unread += usize::from(read.is_none() || title.is_some());
                }
            }
        }
        if unread > 0 {
            let message = format!("{unread} failed check(s) are shown without their reason");
            let read = Action::op(Op::Checks).on(&self.pull.id.key);
            let hint = Hint::new("read the titles and pages of the checks").with_action(read);
            self.warnings.push(Warning::new(message).with_hint(hint));
        }
    }

    fn take_issues(&mut self, read: Vec<(usize, Result<forge_core::model::Issue>)>) {
        let (own, mut guesses) = (&self.pull.id.repo, Vec::new());
        for (at, read) in read {
            let Some(item) = self.items.get_mut(at) else {
                continue;
            };
            match read {
                Ok(issue) => item.fill(issue),
                // Only the branch name has this number. The number may mean something else, or be
                // that of a pull request, so the item is dropped.
                Err(e) if e.is_not_found() && item.is_guess() => guesses.push(at),
                // Unread issues of other repositories share one warning.
                Err(e) if e.is_not_found() || item.issue_elsewhere(own).is_some() => {}
                Err(e) => {
                    self.unread_issues.push(item.key.clone());
                    let error = SectionError::of(ContextSection::LinkedIssues, &e);
                    if !self.errors.contains(&error) {
                        self.errors.push(error);
                    }
                }
            }
        }
        for at in guesses.into_iter().rev() {
            self.items.remove(at);
        }
    }

    fn take_tickets(&mut self, source: &TicketSource, read: Vec<ReadTicket>) {
        self.warnings.extend(unread_tickets(&self.items, &read));
        for e in source.fill(&mut self.items, read) {
            let error = SectionError::of(ContextSection::LinkedIssues, &e);
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }
}

/// Returns the section of the bundle that shows `field`, a field of a pull request. A field that the
/// bundle shows as part of the pull request keeps its name.
fn section_with(field: &'static str) -> &'static str {
    match field {
        "checks" => ContextSection::Ci.name(),
        "threads" => ContextSection::Comments.name(),
        "latest_reviews" => ContextSection::Reviews.name(),
        "commits" => ContextSection::LinkedIssues.name(),
        other => other,
    }
}

/// Returns true if the forge refused a query because of its size, or failed on it.
fn is_too_costly(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::Internal | ErrorKind::Upstream { .. })
}

struct SectionErrors(Vec<SectionError>);

impl SectionErrors {
    /// Returns true if the warning repeats the error of a section: a view that could not read its
    /// changes names the same cause as the diff.
    fn has_cause_of(&self, warning: &Warning) -> bool {
        let causes = self.0.iter().map(|error| error.message.as_str());
        let mut unread = causes.filter_map(|cause| warning.message.strip_suffix(cause));
        unread.any(|what| what.is_empty() || what.ends_with("could not be read: "))
    }

    /// Returns the changes since the requested review or commit, or records the failure. The caller
    /// requested these changes explicitly, so an "unsupported" error is recorded as well.
    fn keep_since<T>(&mut self, wanted: Requested<T>) -> Option<T> {
        match wanted? {
            Ok(read) => Some(read),
            Err(e) => {
                self.0.push(SectionError {
                    section: "since",
                    ..SectionError::of(ContextSection::Diff, &e)
                });
                None
            }
        }
    }

    /// Returns the result of a section, or records its failure. A section that the forge does not
    /// support is not a failure.
    fn keep<T>(&mut self, section: ContextSection, wanted: Requested<T>) -> Option<T> {
        match wanted? {
            Ok(read) => Some(read),
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported { .. }) => None,
            Err(e) => {
                self.0.push(SectionError::of(section, &e));
                None
            }
        }
    }
}

fn log_tail(check: &str, log: &str, cut: bool) -> LogTail {
    let text = strip_ansi(log);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(MAX_LOG_LINES);
    LogTail {
        check: check.to_owned(),
        text: lines.get(from..).unwrap_or_default().join("\n"),
        cut: cut || from > 0,
    }
}

#[cfg(test)]
mod tests;
