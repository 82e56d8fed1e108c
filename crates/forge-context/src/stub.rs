//! A forge in memory that records requests and returns prepared answers.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forge_core::{
    Attachments, Capabilities, Capability, Checks, Client, Cursor, Error, ErrorKind, Forge,
    ForgeInfo, ForgeKind, IndexLimit, Issues, Labels, Limits, Noun, Outcome, Page, PageReq, Policy,
    PrId, PullRequests, Quota, Repo, RepoId, Repos, Result, Reviews, SentRequest, Support, WebPage,
    call::requested,
    model::{
        Actor, Attachment, BaseRule, BaseRules, BoardId, Branch, Check, CheckLog, ChecksReport,
        CloseReq, Comment, CommentId, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditIssue,
        EditPull, Examined, FileChange, FileContent, HeadChange, HeadMatches, HeadRef, Issue,
        IssueField, IssueFields, IssueId, IssueQuery, IssueSet, Label, Links, Lock, Merge,
        MergeReq, Mergeability, NewAttachment, NewIssue, NewLabel, NewReview, PathContent,
        PrFields, PullQuery, PullRequest, PullScope, PullStatus, PullsAcross, PushEdits,
        PushedCommit, RepoInfo, Resubmit, RevertPull, Review, SetIssueState, SinceHead,
        StateFilter, StatusEvent, Subject, Thread, ThreadFilter, ThreadId, UpdateBranch,
    },
};
use futures::stream;

use crate::sample::pull;

pub(crate) type MakeError = fn() -> Error;

/// A forge with one pull request.
#[derive(Debug)]
pub(crate) struct StubForge {
    /// The whole pull request. A view returns only the requested sections.
    pub pull: PullRequest,
    pub others: Vec<PullRequest>,
    /// The mergeability that the second read of the pull request returns.
    pub settled: Option<Mergeability>,
    /// The rules of the base branch that need a separate request.
    pub rulesets: Vec<BaseRule>,
    pub issues: Vec<Issue>,
    pub links: Links,
    pub diff: String,
    /// The rate limit that a view reports.
    pub quota: Option<Quota>,
    /// True to refuse a view with comments.
    pub is_costly: bool,
    /// The operations that fail, each with its error. An operation is named by the first word of
    /// its recorded request.
    pub failing: Vec<(&'static str, MakeError)>,
    pub capabilities: &'static Capabilities,
    pub info: ForgeInfo,
    pub record: Mutex<Vec<String>>,
}

impl Default for StubForge {
    fn default() -> Self {
        Self {
            pull: pull(),
            others: Vec::new(),
            settled: None,
            rulesets: Vec::new(),
            issues: Vec::new(),
            links: Links::default(),
            diff: String::new(),
            quota: None,
            is_costly: false,
            failing: Vec::new(),
            capabilities: capabilities_without(&[]),
            info: ForgeInfo::new(ForgeKind::LOCAL, ""),
            record: Mutex::default(),
        }
    }
}

pub(crate) fn capabilities_without(lacking: &[Capability]) -> &'static Capabilities {
    let all = Capability::ALL.iter().filter(|c| !lacking.contains(c));
    let table: Vec<_> = all.map(|c| (*c, Support::Native)).collect();
    Box::leak(Box::new(Capabilities {
        table: Vec::leak(table),
        limits: Limits {
            title_max: 256,
            body_max: 65_536,
            labels_max: Some(100),
            page_max: 100,
            has_pull_per_account: false,
        },
    }))
}

impl StubForge {
    /// Returns a handle of the repository, and the forge that serves it.
    pub fn repo(self) -> (Repo, Arc<Self>) {
        self.repo_with(Policy::default())
    }

    pub fn repo_with(self, policy: Policy) -> (Repo, Arc<Self>) {
        let forge = Arc::new(self);
        let client = Client::new(forge.clone(), policy);
        (client.repo(forge.pull.id.repo.clone()), forge)
    }

    /// Returns the recorded requests, sorted because many run concurrently.
    pub fn asked_for(&self) -> Vec<String> {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = record.clone();
        record.sort();
        record
    }

    fn asked(&self, what: &str) -> Result<()> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.push(what.to_owned());
        let op = what.split(' ').next();
        let failing = self.failing.iter().find(|(name, _)| Some(*name) == op);
        failing.map_or(Ok(()), |(_, error)| Err(error()))
    }
}

fn keep_sections(mut pull: PullRequest, fields: PrFields) -> PullRequest {
    fn keep<T>(section: &mut Option<T>, is_wanted: bool) {
        section.take_if(|_| !is_wanted);
    }
    let wants = |section| fields.contains(section);
    keep(&mut pull.additions, wants(PrFields::STATS));
    keep(&mut pull.deletions, wants(PrFields::STATS));
    keep(&mut pull.changed_files, wants(PrFields::STATS));
    keep(&mut pull.mergeability, wants(PrFields::MERGEABILITY));
    keep(&mut pull.comments, wants(PrFields::COMMENTS));
    keep(&mut pull.reviews, wants(PrFields::REVIEWS));
    keep(&mut pull.threads, wants(PrFields::THREADS));
    keep(&mut pull.commits, wants(PrFields::COMMITS));
    keep(&mut pull.files, wants(PrFields::FILES));
    keep(&mut pull.checks, wants(PrFields::CHECKS));
    keep(&mut pull.linked_issues, wants(PrFields::LINKED_ISSUES));
    keep(&mut pull.auto_merge, wants(PrFields::AUTO_MERGE));
    keep(&mut pull.depends_on, wants(PrFields::DEPENDS_ON));
    keep(&mut pull.ingestion, wants(PrFields::INGESTION));
    keep(&mut pull.base_rules, wants(PrFields::RULES));
    pull
}

/// Fails, because gathering a bundle never calls this operation.
fn unused<T>() -> Result<T> {
    Err(Error::new(
        ErrorKind::Internal,
        "the stub has no such operation",
    ))
}

impl Forge for StubForge {
    fn info(&self) -> &ForgeInfo {
        &self.info
    }

    fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }

    fn concurrency(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    fn web_page(&self, _: &RepoId, _: &WebPage<'_>) -> Option<String> {
        None
    }
}

#[async_trait]
impl Repos for StubForge {
    async fn viewer(&self, _: &RepoId) -> Result<Actor> {
        self.asked("viewer")?;
        Ok(Actor::new("grace"))
    }

    async fn repo(&self, _: &RepoId) -> Result<RepoInfo> {
        unused()
    }

    async fn index_limits(&self, _: &RepoId) -> Result<Vec<IndexLimit>> {
        unused()
    }

    async fn branches(&self, _: &RepoId, _: PageReq) -> Result<Page<Branch>> {
        unused()
    }

    async fn branch_is_protected(&self, _: &RepoId, _: &str) -> Result<bool> {
        unused()
    }

    async fn repo_file(&self, _: &RepoId, _: &str, _: Option<&str>) -> Result<Option<PathContent>> {
        unused()
    }

    async fn push_edits(&self, _: &RepoId, _: &PushEdits) -> Result<Outcome<PushedCommit>> {
        unused()
    }

    async fn fork(&self, _: &RepoId) -> Result<Outcome<RepoId>> {
        unused()
    }

    async fn examine(&self, _: &RepoId, _: bool) -> Vec<Examined> {
        Vec::new()
    }
}

#[async_trait]
impl PullRequests for StubForge {
    async fn create(&self, _: &RepoId, _: &CreatePull) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn list(
        &self,
        _: &RepoId,
        query: &PullQuery,
        page: PageReq,
    ) -> Result<Page<PullRequest>> {
        let (state, limit) = (query.state, page.limit);
        let wants = PrFields::FILES | PrFields::DEPENDS_ON | PrFields::LINKED_ISSUES;
        let has_fields = query.fields.contains(wants) && query.prefers_updated;
        self.asked(&format!("list {state:?} {limit} {has_fields}"))?;
        let mut found = Page::complete(self.others.clone());
        if found.items.len() > limit {
            found.items.truncate(limit);
            found.next = Some(Cursor::from_text("more"));
        }
        Ok(found)
    }

    async fn view(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest> {
        self.asked(&format!("view {}", pr.key))?;
        if let Some(quota) = self.quota {
            let mut sent = SentRequest::new("GET", "forge.example", "/pull", Duration::ZERO);
            sent.quota = Some(quota);
            requested(&sent);
        }
        if self.is_costly && fields.contains(PrFields::COMMENTS) {
            return Err(Error::new(ErrorKind::Internal, "the query is too costly"));
        }
        let mut all = self.others.iter().chain([&self.pull]);
        let found = all.find(|pull| pull.id.key == pr.key);
        let found =
            found.ok_or_else(|| Error::not_found(Noun::PullRequest, "no such pull request"));
        Ok(keep_sections(found?.clone(), fields))
    }

    async fn listed_pulls(&self, _: &RepoId, _: &[String]) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    async fn find(
        &self,
        _: &RepoId,
        _: &HeadRef,
        _: StateFilter,
        _: PrFields,
    ) -> Result<HeadMatches> {
        unused()
    }

    async fn list_across(&self, _: &PullScope, _: &[PullQuery], _: usize) -> Result<PullsAcross> {
        unused()
    }

    async fn status(&self, _: &RepoId, _: Option<&HeadRef>, _: PrFields) -> Result<PullStatus> {
        unused()
    }

    async fn edit(&self, _: &PrId, _: &EditPull) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn resubmit(&self, _: &PrId, _: &Resubmit) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn close(&self, _: &PrId, _: &CloseReq) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn reopen(&self, _: &PrId, _: Option<&str>) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn update_branch(&self, _: &PrId, _: &UpdateBranch) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn set_draft(&self, _: &PrId, _: bool) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn set_lock(&self, _: &PrId, _: Lock) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn revert(&self, _: &PrId, _: &RevertPull) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn mergeability(&self, _: &PrId) -> Result<Mergeability> {
        self.asked("mergeability")?;
        let settled = self.settled.clone();
        settled.ok_or_else(|| Error::new(ErrorKind::Internal, "not settled"))
    }

    async fn base_rules(&self, pull: &PullRequest) -> Result<Option<BaseRules>> {
        self.asked("base_rules")?;
        let Some(mut rules) = pull.base_rules.clone() else {
            return Ok(None);
        };
        rules.rules.extend(self.rulesets.clone());
        Ok(Some(rules))
    }

    async fn merge(&self, _: &PrId, _: &MergeReq) -> Result<Outcome<Merge>> {
        unused()
    }

    async fn cancel_merge(&self, _: &PrId) -> Result<Outcome<PullRequest>> {
        unused()
    }

    async fn diff(&self, _: &PrId, req: &DiffReq) -> Result<Diff> {
        let since = req.since.as_deref().unwrap_or("-");
        let round = req.rounds.and_then(|rounds| rounds.since);
        let (lines, prefers) = (req.context_lines.unwrap_or(0), req.prefers_context);
        let clone = req.clone.is_some();
        self.asked(&format!(
            "diff U{lines} prefers={prefers} clone={clone} since={since} round={round:?}"
        ))?;
        let since = req.since.is_some() || round.is_some();
        let bytes = self.diff.clone().into_bytes();
        let head_oid = self.pull.head_oid.clone().unwrap_or_default();
        let mut diff = Diff::new(head_oid, Box::pin(stream::iter([Ok(bytes)])));
        diff.base_oid = Some("b".repeat(40));
        diff.context_lines = req.context_lines;
        diff.since =
            since.then(|| SinceHead::new(req.since.clone(), HeadChange::Continued, Vec::new()));
        Ok(diff)
    }

    async fn files(&self, _: &PrId, _: PageReq) -> Result<Page<FileChange>> {
        unused()
    }

    async fn contents(&self, _: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>> {
        self.asked("contents")?;
        let text = || FileContent::Text("one\ntwo\n".to_owned());
        Ok(req.paths.iter().map(|_| text()).collect())
    }

    async fn commits(&self, _: &PrId, _: PageReq) -> Result<Page<Commit>> {
        unused()
    }

    async fn history(&self, _: &PrId, _: PageReq) -> Result<Page<StatusEvent>> {
        self.asked("history")?;
        Ok(Page::complete(Vec::new()))
    }
}

#[async_trait]
impl Reviews for StubForge {
    async fn comment(&self, _: &PrId, _: &str, _: Option<&CommentId>) -> Result<Outcome<Comment>> {
        unused()
    }

    async fn edit_comment(&self, _: &CommentId, _: &str) -> Result<Outcome<Comment>> {
        unused()
    }

    async fn delete_comment(&self, _: &CommentId) -> Result<Outcome<()>> {
        unused()
    }

    async fn comments(&self, _: &PrId, _: PageReq) -> Result<Page<Comment>> {
        unused()
    }

    async fn reviews(&self, _: &PrId, _: PageReq) -> Result<Page<Review>> {
        unused()
    }

    async fn submit_review(&self, _: &PrId, _: &NewReview) -> Result<Outcome<Review>> {
        unused()
    }

    async fn discard_pending_review(&self, _: &PrId) -> Result<Outcome<u64>> {
        unused()
    }

    async fn dismiss_review(&self, _: &PrId, _: &str, _: &str) -> Result<Outcome<Review>> {
        unused()
    }

    async fn threads(&self, _: &PrId, _: ThreadFilter, _: PageReq) -> Result<Page<Thread>> {
        unused()
    }

    async fn resolve_thread(&self, _: &ThreadId, _: bool) -> Result<Outcome<Thread>> {
        unused()
    }
}

#[async_trait]
impl Checks for StubForge {
    async fn checks(&self, _: &PrId) -> Result<ChecksReport> {
        unused()
    }

    async fn check_log(&self, _: &PrId, check: &Check, _: usize) -> Result<Option<CheckLog>> {
        self.asked(&format!("check_log {}", check.name))?;
        Ok(Some(CheckLog::end_of(b"it failed\n", 100, false)))
    }

    async fn check_reasons(&self, _: &PrId, checks: &[&Check]) -> Result<Vec<Option<String>>> {
        self.asked("check_reasons")?;
        Ok(checks.iter().map(|_| Some("a step".to_owned())).collect())
    }

    async fn rerun_failed_checks(&self, _: &PrId) -> Result<Outcome<Vec<Check>>> {
        unused()
    }
}

#[async_trait]
impl Issues for StubForge {
    async fn issues(&self, _: &RepoId, _: &IssueQuery, _: PageReq) -> Result<Page<Issue>> {
        unused()
    }

    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue> {
        assert!(fields.comments);
        self.asked(&format!("issue {}", issue.key))?;
        let found = self.issues.iter().find(|known| known.id.key == issue.key);
        found
            .cloned()
            .ok_or_else(|| Error::not_found(Noun::Issue, "no such issue"))
    }

    async fn listed_issues(&self, _: &RepoId, _: &[String]) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    async fn related_issues(&self, _: &[IssueId], _: &IssueFields) -> Result<IssueSet> {
        unused()
    }

    async fn create_issue(&self, _: &RepoId, _: &NewIssue) -> Result<Outcome<Issue>> {
        unused()
    }

    async fn edit_issue(&self, _: &IssueId, _: &EditIssue) -> Result<Outcome<Issue>> {
        unused()
    }

    async fn set_issue_state(&self, _: &IssueId, _: &SetIssueState) -> Result<Outcome<Issue>> {
        unused()
    }

    async fn create_issue_comment(&self, _: &IssueId, _: &str) -> Result<Outcome<Comment>> {
        unused()
    }

    async fn edit_issue_comment(
        &self,
        _: &IssueId,
        _: &str,
        _: &str,
        _: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        unused()
    }

    async fn delete_issue_comment(&self, _: &IssueId, _: &str) -> Result<Outcome<()>> {
        unused()
    }

    async fn edit_issues(&self, _: &[(IssueId, EditIssue)]) -> Result<Vec<Result<Outcome<Issue>>>> {
        unused()
    }

    async fn delete_issue(&self, _: &IssueId) -> Result<Outcome<()>> {
        unused()
    }

    async fn issue_history(&self, _: &IssueId, _: PageReq) -> Result<Page<StatusEvent>> {
        unused()
    }

    async fn issue_fields(&self, _: &RepoId, _: Option<&BoardId>) -> Result<Vec<IssueField>> {
        unused()
    }

    async fn define_issue_field(
        &self,
        _: &RepoId,
        _: Option<&BoardId>,
        _: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        unused()
    }

    async fn links(&self, _: &Subject) -> Result<Links> {
        self.asked("links")?;
        Ok(self.links.clone())
    }
}

#[async_trait]
impl Labels for StubForge {
    async fn labels(&self, _: &RepoId, _: PageReq) -> Result<Page<Label>> {
        unused()
    }

    async fn define_label(&self, _: &RepoId, _: &NewLabel) -> Result<Outcome<Label>> {
        unused()
    }

    async fn delete_label(&self, _: &RepoId, _: &str) -> Result<Outcome<()>> {
        unused()
    }
}

#[async_trait]
impl Attachments for StubForge {
    async fn attach(&self, _: &RepoId, _: &[NewAttachment]) -> Result<Vec<Result<Attachment>>> {
        unused()
    }
}
