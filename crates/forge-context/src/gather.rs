//! Asks a forge for everything at once, and puts the bundle together.

use forge_core::{
    Capability, Error, ErrorKind, Hint, Page, PageReq, PrId, Repo, Result, Warning,
    model::{
        CheckStatus, ChecksReport, Comment, Diff, DiffReq, FileChange, IssueFields, IssueId, Links,
        MergeState, Mergeability, PrFields, PrState, PullQuery, PullRequest, Review, StateFilter,
        StatusEvent, Subject, Thread,
    },
    text::strip_ansi,
};
use futures::{TryStreamExt as _, future::join_all, join, try_join};
use serde::Serialize;

use crate::{
    ChangeType, ContextReq, ContextSection, Dependency, LinkedItem, MAX_CANDIDATES, PackedDiff,
    Readiness, RelatedPull, Risk, change_type, key_changes,
    linked::{add_links, linked_items},
    one_liner, pack,
    related::related_pulls,
};

/// More of a diff is not read, in bytes.
const MAX_READ: usize = 32 * 1024 * 1024;
/// How many issues are read in full.
const MAX_ISSUES: usize = 10;
/// How many events of the history are read.
const MAX_EVENTS: usize = 100;
/// Of how many failed checks the logs are read.
const MAX_LOGS: usize = 5;
/// How many lines of a log are kept, and how many bytes are read for them.
const LOG_LINES: usize = 200;
const LOG_BYTES: usize = 12 * 1024;

/// Everything about a pull request.
#[derive(Clone, Debug, Serialize)]
pub struct PullContext {
    /// The pull request, without comments, threads, reviews, commits and files.
    pub pull: PullRequest,
    /// What it is.
    pub summary: ContextSummary,
    /// Whether it is ready to be merged.
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
    /// What it is linked with.
    pub linked_issues: Option<Vec<LinkedItem>>,
    /// What has to do with it.
    pub related_prs: Option<Vec<RelatedPull>>,
    /// Its changes.
    pub diff: Option<PackedDiff>,
    /// Its files.
    pub files: Option<Vec<FileChange>>,
    /// What happened to it, oldest first.
    pub history: Option<Vec<StatusEvent>>,
    /// What could not be read, by section; the rest is right.
    pub errors: Vec<SectionError>,
    /// Something could not be read.
    pub partial: bool,
    /// What a reader should know besides.
    pub warnings: Vec<Warning>,
}

/// What a pull request is, by rules alone.
#[derive(Clone, Debug, Serialize)]
pub struct ContextSummary {
    /// The title without prefix and ticket.
    pub one_liner: String,
    /// The kind of change.
    pub change_type: ChangeType,
    /// How risky it is.
    pub risk: Risk,
    /// The changes that say most.
    pub key_changes: Vec<String>,
    /// How many threads are not resolved; `None` where they could not be read.
    pub outstanding_threads: Option<usize>,
}

/// A section that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionError {
    /// Its name: that of a [`ContextSection`], or of a field of the pull request.
    pub section: &'static str,
    /// The class of the failure: `incomplete` where a part was read.
    pub kind: &'static str,
    /// What failed, and why.
    pub message: String,
    /// What to do next.
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
pub struct LogTail {
    /// The name of the check.
    pub check: String,
    /// Its last lines, without colours.
    pub text: String,
    /// There is more before them.
    pub cut: bool,
}

/// Everything about `pr` that `req` includes, and the verdict, which does not depend on that.
///
/// # Errors
/// As [`Repo::view`]. A section that fails is one of [`PullContext::errors`].
pub async fn context(repo: &Repo, pr: &PrId, req: &ContextReq) -> Result<PullContext> {
    let gather = Gather { repo, pr, req };
    let (core, diff, links, candidates, history) = try_join!(
        gather.core(),
        async { Ok(gather.diff().await) },
        async { Ok(gather.links().await) },
        async { Ok(gather.candidates().await) },
        async { Ok(gather.history().await) },
    )?;
    Ok(gather.assemble(core, diff, links, candidates, history))
}

struct Gather<'a> {
    repo: &'a Repo,
    pr: &'a PrId,
    req: &'a ContextReq,
}

/// The pull request, and what is asked for behind it.
struct Core {
    pull: PullRequest,
    items: Vec<LinkedItem>,
    dependency: Option<Dependency>,
    logs: Option<Vec<LogTail>>,
    errors: Vec<SectionError>,
    warnings: Vec<Warning>,
}

/// A section that was wanted, read or not.
type Wanted<T> = Option<Result<T>>;

impl Gather<'_> {
    fn wants(&self, section: ContextSection) -> bool {
        self.req.wants(section)
    }

    fn can(&self, capability: Capability) -> bool {
        let forge = self.repo.client().forge();
        forge.capabilities().has(capability)
    }

    /// Whether issues and pull requests that are linked matter to a section.
    fn wants_links(&self) -> bool {
        self.wants(ContextSection::LinkedIssues) || self.wants(ContextSection::RelatedPrs)
    }

    /// What is read of the pull request: what the verdict needs, and what was asked for.
    fn fields(&self) -> PrFields {
        let verdict = PrFields::STATS
            | PrFields::MERGEABILITY
            | PrFields::THREADS
            | PrFields::CHECKS
            | PrFields::FILES
            | PrFields::AUTO_MERGE
            | PrFields::DEPENDS_ON;
        [
            (self.wants(ContextSection::Comments), PrFields::COMMENTS),
            (self.wants(ContextSection::Reviews), PrFields::REVIEWS),
            (
                self.wants_links(),
                PrFields::LINKED_ISSUES | PrFields::COMMITS,
            ),
        ]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .fold(verdict, |all, (_, more)| all | more)
    }

    async fn core(&self) -> Result<Core> {
        let mut pull = self.repo.view(self.pr, self.fields()).await?;
        let mut warnings = Vec::new();
        let items = match self.wants_links() {
            true => linked_items(&pull, &self.req.hosts, &mut warnings),
            false => Vec::new(),
        };
        let (read, dependency, logs, settled) = join!(
            self.read_issues(&items),
            self.dependency(&pull),
            self.logs(&pull),
            self.mergeability(&pull),
        );
        pull.mergeability = settled.or(pull.mergeability);
        let mut core = Core {
            pull,
            items,
            dependency,
            logs: None,
            errors: Vec::new(),
            warnings,
        };
        core.take_issues(read);
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

    /// The issues that are read in full, by the places of their items.
    async fn read_issues(
        &self,
        items: &[LinkedItem],
    ) -> Vec<(usize, Result<forge_core::model::Issue>)> {
        let wanted = self.wants(ContextSection::LinkedIssues) && self.can(Capability::IssueView);
        let own = self.repo.id();
        let readable = items.iter().enumerate().filter_map(|(at, item)| {
            let key = item.issue_in(own)?.clone();
            Some((at, key))
        });
        let reads =
            readable
                .take(if wanted { MAX_ISSUES } else { 0 })
                .map(|(at, key)| async move {
                    let id = IssueId {
                        repo: own.clone(),
                        key,
                    };
                    let fields = IssueFields { comments: true };
                    (at, self.repo.issue(&id, fields).await)
                });
        join_all(reads).await
    }

    /// The second reading of whether it can be merged: a forge that works it out only when it is
    /// asked does not know it at the first.
    async fn mergeability(&self, pull: &PullRequest) -> Option<Mergeability> {
        let found = pull.mergeability.as_ref()?;
        if found.state != MergeState::Unknown || pull.state != PrState::Open {
            return None;
        }
        self.repo.mergeability(self.pr).await.ok()
    }

    async fn dependency(&self, pull: &PullRequest) -> Option<Dependency> {
        let key = pull.depends_on.clone()?;
        let id = PrId {
            repo: self.repo.id().clone(),
            key: key.clone(),
        };
        let below = self.repo.view(&id, PrFields::ROW).await;
        Some(Dependency {
            key,
            state: below.ok().map(|below| below.state),
        })
    }

    async fn logs(&self, pull: &PullRequest) -> Option<Vec<Result<Option<LogTail>>>> {
        if !self.wants(ContextSection::CiLogs) || !self.can(Capability::CheckLogs) {
            return None;
        }
        let checks = pull.checks.iter().flat_map(|report| &report.checks);
        let failed = checks.filter(|c| c.status == CheckStatus::Failure);
        let reads = failed.take(MAX_LOGS).map(|check| async move {
            let log = self.repo.check_log(self.pr, check, LOG_BYTES).await?;
            Ok(log.map(|log| log_tail(&check.name, &log.text, log.cut)))
        });
        Some(join_all(reads).await)
    }

    async fn diff(&self) -> Wanted<(Diff, Vec<u8>, bool)> {
        if !self.wants(ContextSection::Diff) {
            return None;
        }
        let req = DiffReq {
            context_lines: self.req.context_lines,
            clone: self.req.clone.clone(),
            ..DiffReq::default()
        };
        Some(self.read_diff(&req).await)
    }

    async fn read_diff(&self, req: &DiffReq) -> Result<(Diff, Vec<u8>, bool)> {
        let mut diff = self.repo.diff(self.pr, req).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = diff.body.try_next().await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_READ {
                return Ok((diff, bytes, true));
            }
        }
        Ok((diff, bytes, false))
    }

    async fn links(&self) -> Wanted<Links> {
        if !self.wants_links() || !self.can(Capability::Links) {
            return None;
        }
        let subject = Subject::Pull(self.pr.clone());
        Some(self.repo.links(&subject).await)
    }

    async fn candidates(&self) -> Wanted<Page<PullRequest>> {
        if !self.wants(ContextSection::RelatedPrs) {
            return None;
        }
        let query = PullQuery {
            state: StateFilter::All,
            fields: PrFields::FILES | PrFields::DEPENDS_ON,
            ..PullQuery::default()
        };
        Some(self.repo.list(&query, PageReq::first(MAX_CANDIDATES)).await)
    }

    async fn history(&self) -> Wanted<Page<StatusEvent>> {
        if !self.wants(ContextSection::History) {
            return None;
        }
        let first = PageReq::first(MAX_EVENTS);
        Some(self.repo.history(self.pr, first).await)
    }

    fn assemble(
        &self,
        core: Core,
        diff: Wanted<(Diff, Vec<u8>, bool)>,
        links: Wanted<Links>,
        candidates: Wanted<Page<PullRequest>>,
        history: Wanted<Page<StatusEvent>>,
    ) -> PullContext {
        let Core {
            mut pull,
            mut items,
            dependency,
            logs,
            errors,
            mut warnings,
        } = core;
        let mut errors = Errors(errors);
        for warning in std::mem::take(&mut pull.warnings) {
            match warning.section {
                Some(section) => {
                    errors.0.push(SectionError {
                        section,
                        kind: "incomplete",
                        message: warning.message.clone(),
                        hint: warning.hint.clone(),
                    });
                    // The verdict asks for what is unread.
                    pull.warnings.push(warning);
                }
                None => warnings.push(warning),
            }
        }
        let readiness = Readiness::of(
            &pull,
            self.repo.client().forge().capabilities().into(),
            dependency.as_ref(),
            self.req.checked_at,
        );
        let links = errors.keep(ContextSection::LinkedIssues, links);
        if let Some(links) = &links {
            add_links(&mut items, &pull, links);
            warnings.extend(links.warnings.clone());
        }
        let related = errors
            .keep(ContextSection::RelatedPrs, candidates)
            .map(|page| {
                warnings.extend(page.warnings.clone());
                let now = self.req.checked_at;
                let hosts = &self.req.hosts;
                related_pulls(&pull, &items, links.as_ref(), &page.items, hosts, now)
            });
        let files = pull.files.take();
        let diff = errors.keep(ContextSection::Diff, diff);
        let diff = diff.map(|(diff, bytes, cut)| {
            let listed = files.as_deref().unwrap_or_default();
            self.packed(&pull, diff, &bytes, cut, listed, &mut warnings)
        });
        let history = errors.keep(ContextSection::History, history).map(|page| {
            if page.next.is_some() {
                let cut = format!("the history has more than {MAX_EVENTS} events");
                warnings.push(Warning::new(cut).of_section("history"));
            }
            warnings.extend(page.warnings);
            page.items
        });
        let threads = pull.threads.take();
        let open = |threads: &Vec<Thread>| threads.iter().filter(|t| !t.resolved).count();
        let summary = ContextSummary {
            one_liner: one_liner(&pull.title),
            change_type: {
                pull.files.clone_from(&files);
                change_type(&pull)
            },
            risk: Risk::of(&pull),
            key_changes: key_changes(files.as_deref().unwrap_or_default()),
            outstanding_threads: threads.as_ref().map(open),
        };
        pull.files = None;
        pull.commits = None;
        let wants = |section| self.wants(section);
        let mut seen = Vec::new();
        warnings.retain(|w| {
            !seen.contains(w) && {
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
            partial: !errors.0.is_empty(),
            errors: errors.0,
            warnings,
            pull,
        }
    }

    fn packed(
        &self,
        pull: &PullRequest,
        diff: Diff,
        bytes: &[u8],
        cut: bool,
        listed: &[FileChange],
        warnings: &mut Vec<Warning>,
    ) -> PackedDiff {
        if cut {
            let most = MAX_READ >> 20;
            let message = format!("the diff is longer than {most} MiB; the rest is left out");
            warnings.push(Warning::new(message).of_section("diff"));
        }
        let head_sha = Some(diff.head_oid).filter(|oid| !oid.is_empty());
        if let (Some(of_diff), Some(of_pull)) = (&head_sha, &pull.head_oid)
            && of_diff != of_pull
        {
            let message = format!("the head moved from {of_pull} to {of_diff} meanwhile");
            warnings.push(Warning::new(message).with_hint("ask again when nobody pushes"));
        }
        let is_stored = pull.rounds.is_some();
        // A warning of the forge says why it did not take the number that was asked for.
        let is_taken = diff.warnings.is_empty();
        let asked = self.req.context_lines.filter(|_| is_taken);
        warnings.extend(diff.warnings);
        PackedDiff {
            base_sha: diff.base_oid,
            head_sha,
            context_lines: (!is_stored).then(|| asked.unwrap_or(3)),
            ..pack(bytes, listed, self.req.diff_bytes)
        }
    }
}

impl Core {
    fn take_issues(&mut self, read: Vec<(usize, Result<forge_core::model::Issue>)>) {
        let mut guesses = Vec::new();
        for (at, read) in read {
            let Some(item) = self.items.get_mut(at) else {
                continue;
            };
            match read {
                Ok(issue) => item.fill(issue),
                // A branch may begin with any number, and a number may be a pull request's.
                Err(e) if e.is_not_found() && item.is_guess() => guesses.push(at),
                Err(e) if e.is_not_found() => {}
                Err(e) => {
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
}

/// Collects what failed.
struct Errors(Vec<SectionError>);

impl Errors {
    /// A section that was read; one that this forge cannot have is no failure.
    fn keep<T>(&mut self, section: ContextSection, wanted: Wanted<T>) -> Option<T> {
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
    let from = lines.len().saturating_sub(LOG_LINES);
    LogTail {
        check: check.to_owned(),
        text: lines.get(from..).unwrap_or_default().join("\n"),
        cut: cut || from > 0,
    }
}
