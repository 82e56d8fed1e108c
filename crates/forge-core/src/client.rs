//! [`Client`] and [`Repo`], the handles through which callers use a forge. [`Client`] checks
//! capability and access before every call.

use std::{
    collections::BTreeSet, fmt, future::Future, num::NonZeroUsize, sync::Arc, time::Duration,
};

use tracing::Instrument;

use crate::{
    Capability, Error, ErrorKind, Forge, IndexLimit, Limits, Outcome, Page, PageReq, PrId, RepoId,
    Result, Support, Timestamp, Trust, Warning, WebPage,
    call::CallState,
    deadline::{timed_out, within_deadline},
    model::{
        Actor, Attachment, BaseRules, BoardId, Branch, Check, CheckLog, ChecksReport, CloseReq,
        Comment, CommentId, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditIssue, EditPull,
        Examined, FileChange, FileContent, HeadMatches, HeadRef, Issue, IssueField, IssueFields,
        IssueId, IssueQuery, IssueSet, Label, Links, LocalClone, Lock, Merge, MergeReq,
        Mergeability, NewAttachment, NewIssue, NewLabel, NewReview, PathContent, PrFields,
        PullQuery, PullRequest, PullScope, PullStatus, PullsAcross, PushEdits, PushedCommit,
        RepoInfo, Resubmit, RevertPull, Review, SetIssueState, StateFilter, StatusEvent, Subject,
        Thread, ThreadFilter, ThreadId, UpdateBranch,
    },
    op::{Effect, Needs, Op},
    text::one_line,
};

/// The calls that a handle allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Allows only reads. A write fails with `permission_denied` before anything is sent.
    ReadOnly,
    /// Allows reads and writes.
    #[default]
    Write,
    /// Allows only reads. A write fails with `dry_run` and a message that describes the intended
    /// change.
    DryRun,
}

/// Receiver for the events of every call, used for `--verbose` and for progress.
pub trait Observer: Send + Sync {
    /// Called when a call starts.
    fn started(&self, op: Op, target: &str);
    /// Called when a call has ended. `error` is the error code of a failed call.
    fn finished(&self, op: Op, target: &str, took: Duration, error: Option<&'static str>);
    /// Called when a call pauses because `host` limits the rate of requests.
    fn rate_limited(&self, host: &str, wait: Duration);
    /// Called before a write whose records an index is known not to ingest.
    fn index_limited(&self, _limit: &IndexLimit) {}
    /// Called after a request was sent and its answer arrived or was lost.
    fn requested(&self, _request: &SentRequest<'_>) {}
}

/// A request of a call. Header, query and body are left out because they may contain credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentRequest<'a> {
    /// HTTP method, such as `GET`.
    pub method: &'a str,
    /// Host, with the port unless it is the default port of the scheme.
    pub host: &'a str,
    /// Path, with anything that looks like a credential removed.
    pub path: &'a str,
    /// Time from sending the request until the answer arrived or was lost.
    pub took: Duration,
    /// Rate limit that the answer reports.
    pub quota: Option<Quota>,
}

impl<'a> SentRequest<'a> {
    /// Describes a request whose answer reports no rate limit.
    #[must_use]
    pub fn new(method: &'a str, host: &'a str, path: &'a str, took: Duration) -> Self {
        Self {
            method,
            host,
            path,
            took,
            quota: None,
        }
    }
}

/// State of a rate limit, from an answer of the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// Requests allowed in a window.
    pub limit: u64,
    /// Requests left in the current window.
    pub remaining: u64,
    /// Time at which the window ends.
    pub reset: Timestamp,
}

impl Quota {
    /// Describes a limit of `limit` requests, of which `remaining` are left until `reset`.
    #[must_use]
    pub fn new(limit: u64, remaining: u64, reset: Timestamp) -> Self {
        Self {
            limit,
            remaining,
            reset,
        }
    }
}

/// Accounts that the arguments of a call may name.
///
/// On some forges a name is looked up at a host that stands in the name itself. A caller who may
/// name any account then chooses the hosts that get requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamedAccounts {
    /// Any account.
    #[default]
    Any,
    /// Only accounts that the repository itself names, such as its owner, its collaborators and the
    /// authors in its lists. Any other name is refused before a request.
    OfRepository,
}

/// Settings for every call of a handle.
#[derive(Clone)]
#[non_exhaustive]
pub struct Policy {
    /// Maximum duration of one call.
    pub deadline: Duration,
    /// Permission to write.
    pub access: Access,
    /// Receiver of events.
    pub observer: Option<Arc<dyn Observer>>,
    /// How far a local repository is trusted. This depends on who named its path.
    pub trust: Trust,
    /// Accounts that arguments may name.
    pub accounts: NamedAccounts,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(120),
            access: Access::Write,
            observer: None,
            trust: Trust::default(),
            accounts: NamedAccounts::default(),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("deadline", &self.deadline)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// A forge together with a policy.
#[derive(Clone, Debug)]
pub struct Client {
    forge: Arc<dyn Forge>,
    policy: Arc<Policy>,
}

impl Client {
    /// Creates a client for `forge`.
    #[must_use]
    pub fn new(forge: Arc<dyn Forge>, policy: Policy) -> Self {
        Self {
            forge,
            policy: Arc::new(policy),
        }
    }

    /// Returns the backend.
    #[must_use]
    pub fn forge(&self) -> &dyn Forge {
        &*self.forge
    }

    /// Returns the policy of this client.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns a client for the same forge with another policy.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Self {
            forge: Arc::clone(&self.forge),
            policy: Arc::new(policy),
        }
    }

    /// Returns a handle for the repository `id`.
    #[must_use]
    pub fn repo(&self, id: RepoId) -> Repo {
        Repo {
            client: self.clone(),
            id,
        }
    }

    /// Runs each of `queries` over the repositories of `scope`. All repositories must belong to
    /// this forge.
    ///
    /// # Errors
    /// The errors of [`PullRequests::list_across`](crate::PullRequests::list_across).
    pub async fn list_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross> {
        let needs = queries.iter().flat_map(Needs::needs).collect();
        self.run(Op::PrListAcross, scope, needs, || {
            self.forge.list_across(scope, queries, limit)
        })
        .await
    }

    /// Checks capability and access before an operation, and adds a tracing span, the deadline and
    /// error context to it.
    async fn run<T, F>(
        &self,
        op: Op,
        target: &(dyn fmt::Display + Sync),
        needs: Vec<Capability>,
        call: impl FnOnce() -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        for capability in op.capability().into_iter().chain(needs) {
            if let Support::No { why, instead } = self.forge.capabilities().get(capability) {
                return Err(Error::unsupported(capability, why, instead).with_op(op.name()));
            }
        }
        if op.effect() == Effect::Write {
            self.guard(op, target)?;
        }
        let name = target.to_string();
        let span = tracing::debug_span!("forge.op", op = op.name(), target = %name);
        let begun = std::time::Instant::now();
        if let Some(o) = &self.policy.observer {
            o.started(op, &name);
        }
        let deadline = self.policy.deadline;
        let state = CallState::of_policy(&self.policy);
        let running = state.scope(call().instrument(span));
        let result = match tokio::time::timeout(deadline, running).await {
            Ok(result) => result,
            Err(_) => Err(timed_out(op, deadline, &state)),
        }
        .map_err(|e| match op.effect() {
            Effect::Write => state.of_write(e.with_op(op.name())),
            Effect::Read => e.with_op(op.name()),
        });
        if let Some(o) = &self.policy.observer {
            o.finished(
                op,
                &name,
                begun.elapsed(),
                result.as_ref().err().map(Error::code),
            );
        }
        result
    }

    fn guard(&self, op: Op, target: &dyn fmt::Display) -> Result<()> {
        match self.policy.access {
            Access::Write => Ok(()),
            Access::ReadOnly => Err(Error::new(
                ErrorKind::PermissionDenied {
                    missing: vec!["write".into()],
                    sso_url: None,
                },
                format!(
                    "{} on {target} was refused: this handle is read-only",
                    op.name()
                ),
            )
            .with_hint("open the repository with write access")
            .with_op(op.name())),
            Access::DryRun => Err(Error::new(
                ErrorKind::DryRun,
                format!("would run {} on {target}; nothing was changed", op.name()),
            )
            .with_op(op.name())),
        }
    }
}

/// A handle for one repository of a forge, used by the CLI, the MCP server and library users.
#[derive(Clone, Debug)]
pub struct Repo {
    client: Client,
    id: RepoId,
}

impl Repo {
    /// Returns the id of the repository.
    #[must_use]
    pub fn id(&self) -> &RepoId {
        &self.id
    }

    /// Returns the client that runs this handle's operations.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a handle for the same repository with another policy.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Self {
            client: self.client.with_policy(policy),
            id: self.id.clone(),
        }
    }

    /// Returns the id of pull request `number` in this repository.
    #[must_use]
    pub fn pull_id(&self, number: u64) -> PrId {
        PrId::number(self.id.clone(), number)
    }

    /// Returns the id of issue `number` in this repository.
    #[must_use]
    pub fn issue_id(&self, number: u64) -> IssueId {
        IssueId::number(self.id.clone(), number)
    }

    fn forge(&self) -> &dyn Forge {
        &*self.client.forge
    }

    /// Returns how the backend supports `capability` in general. [`Self::capabilities`] also
    /// considers the settings of the repository and the rights of the viewer.
    #[must_use]
    pub fn support(&self, capability: Capability) -> Support {
        self.forge().capabilities().get(capability)
    }

    /// Returns true if the backend supports `capability` natively, emulated or on the client.
    #[must_use]
    pub fn supports(&self, capability: Capability) -> bool {
        self.forge().capabilities().has(capability)
    }

    /// Returns the size limits that the forge enforces.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.forge().capabilities().limits
    }

    /// Returns the number of concurrent requests that the forge handles without slowing down.
    #[must_use]
    pub fn concurrency(&self) -> NonZeroUsize {
        self.forge().concurrency()
    }

    /// Returns the capabilities in this repository. The settings of the repository and the rights
    /// of the viewer can rule out a capability that the backend supports in general.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`](crate::Repos::repo).
    pub async fn capabilities(&self) -> Result<Vec<(Capability, Support)>> {
        Ok(self.capabilities_by(&self.info().await?))
    }

    /// Like [`Self::capabilities`], for a repository whose [`Self::info`] the caller has already
    /// read.
    #[must_use]
    pub fn capabilities_by(&self, info: &RepoInfo) -> Vec<(Capability, Support)> {
        let table = self.forge().capabilities();
        Capability::ALL
            .iter()
            .map(|c| {
                let narrowed = info.overrides.iter().find(|(o, _)| o == c).map(|(_, s)| *s);
                (*c, narrowed.unwrap_or_else(|| table.get(*c)))
            })
            .collect()
    }

    /// Returns the URL of a page on the web site of the forge, or `None` if the site has no such
    /// page.
    #[must_use]
    pub fn web_page(&self, page: &WebPage<'_>) -> Option<String> {
        self.forge().web_page(&self.id, page)
    }
}

/// The operations of the handle, one method each.
///
/// A method runs the checks of the handle and then calls the backend's trait. The errors are those
/// of the trait, and `unsupported`, `permission_denied`, `dry_run` and `timeout` from the handle.
///
/// Names follow one pattern: [`Repo::pulls`] and [`Repo::issues`] read a page, [`Repo::all_pulls`]
/// and [`Repo::all_issues`] are streams, [`Repo::pull`] and [`Repo::issue`] read a single item,
/// [`Repo::create_pull`] and [`Repo::create_issue`] open a new one.
#[allow(
    clippy::missing_errors_doc,
    reason = "the doc comment above names them"
)]
impl Repo {
    /// Returns the signed-in account.
    pub async fn viewer(&self) -> Result<Actor> {
        self.client
            .run(Op::Viewer, &self.id, vec![], || {
                self.forge().viewer(&self.id)
            })
            .await
    }

    /// Forks the repository for the viewer.
    pub async fn fork(&self) -> Result<Outcome<RepoId>> {
        self.client
            .run(Op::RepoFork, &self.id, vec![], || {
                self.forge().fork(&self.id)
            })
            .await
    }

    /// Reads the description of the repository.
    pub async fn info(&self) -> Result<RepoInfo> {
        self.client
            .run(Op::RepoView, &self.id, vec![], || {
                self.forge().repo(&self.id)
            })
            .await
    }

    /// Returns the kinds of records that the index of the forge may not show. Empty for a forge that
    /// itself shows what it stores.
    pub async fn index_limits(&self) -> Result<Vec<IndexLimit>> {
        self.client
            .run(Op::RepoView, &self.id, vec![], || {
                self.forge().index_limits(&self.id)
            })
            .await
    }

    /// Returns a page of branches with their head commits, sorted by name.
    pub async fn branches(&self, page: PageReq) -> Result<Page<Branch>> {
        self.client
            .run(Op::BranchList, &self.id, vec![], || {
                self.forge().branches(&self.id, page)
            })
            .await
    }

    /// Returns true if rules of the forge protect a branch; false for a missing branch.
    pub async fn branch_is_protected(&self, branch: &str) -> Result<bool> {
        self.client
            .run(Op::BranchProtection, &self.id, vec![], || {
                self.forge().branch_is_protected(&self.id, branch)
            })
            .await
    }

    /// Returns the bytes of the file `path` at the branch, tag or commit `at`; `at` is the default
    /// branch if `None`. Returns `None` if the file does not exist.
    ///
    /// # Errors
    /// The errors of [`Self::repo_path`]; `invalid_input` (field `path`) for a directory.
    pub async fn repo_file(&self, path: &str, at: Option<&str>) -> Result<Option<Vec<u8>>> {
        match self.repo_path(path, at).await? {
            None => Ok(None),
            Some(PathContent::File(bytes)) => Ok(Some(bytes)),
            Some(PathContent::Directory(_)) => {
                let message = format!("'{}' is a directory", one_line(path));
                Err(Error::invalid("path", message).with_hint("name a file in it"))
            }
        }
    }

    /// Returns the file or directory `path` at the branch, tag or commit `at`; `at` is the default
    /// branch if `None`. Returns `None` if the path does not exist.
    pub async fn repo_path(&self, path: &str, at: Option<&str>) -> Result<Option<PathContent>> {
        self.client
            .run(Op::RepoFile, &self.id, vec![], || {
                self.forge().repo_file(&self.id, path, at)
            })
            .await
    }

    /// Commits edits of files on top of an existing branch.
    pub async fn push_edits(&self, req: &PushEdits) -> Result<Outcome<PushedCommit>> {
        self.client
            .run(Op::BranchPush, &self.id, vec![], || {
                self.forge().push_edits(&self.id, req)
            })
            .await
    }

    /// With `live`, sends requests to the forge's services and compares the answers with what the
    /// backend expects. Otherwise sends nothing, and lists each comparison as skipped.
    pub async fn examine(&self, live: bool) -> Result<Vec<Examined>> {
        let (forge, id) = (self.forge(), &self.id);
        self.client
            .run(Op::Examine, id, vec![], move || async move {
                Ok(forge.examine(id, live).await)
            })
            .await
    }

    /// Opens a pull request.
    pub async fn create_pull(&self, req: &CreatePull) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrCreate, &self.id, req.needs(), || {
                self.forge().create(&self.id, req)
            })
            .await
    }

    /// Checks a request to open a pull request before its head branch is pushed. Writes nothing.
    /// Some forges check only a part of the request.
    pub async fn check_create_pull(&self, req: &CreatePull) -> Result<()> {
        self.client
            .run(Op::PrCreate, &self.id, req.needs(), || {
                self.forge().check_create(&self.id, req)
            })
            .await
    }

    /// Returns a page of pull requests, newest first.
    pub async fn pulls(&self, query: &PullQuery, page: PageReq) -> Result<Page<PullRequest>> {
        self.client
            .run(Op::PrList, &self.id, query.needs(), || {
                self.forge().list(&self.id, query, page)
            })
            .await
    }

    /// Returns one pull request, with the optional parts that `fields` selects.
    pub async fn pull(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest> {
        self.client
            .run(Op::PrView, pr, vec![], || self.forge().view(pr, fields))
            .await
    }

    /// Returns the warnings of the diff of `pull` that its view lacks, if its changes are a patch and
    /// there is a clone in which the patch can be applied. Otherwise sends no request.
    pub async fn patch_warnings(
        &self,
        pull: &PullRequest,
        clone: Option<LocalClone>,
    ) -> Result<Vec<Warning>> {
        if pull.head_patch.is_none() || clone.is_none() {
            return Ok(Vec::new());
        }
        let req = DiffReq {
            clone,
            ..DiffReq::default()
        };
        let mut warnings = self.diff(&pull.id, &req).await?.warnings;
        warnings.retain(|warning| !pull.warnings.contains(warning));
        Ok(warnings)
    }

    /// Returns the at-uris (addresses of atproto records) in `records` that the forge lists as pull
    /// requests of the repository. An at-uri in `records` causes no request to the account in it.
    pub async fn listed_pulls(&self, records: &[String]) -> Result<BTreeSet<String>> {
        self.client
            .run(Op::PrList, &self.id, vec![], || {
                self.forge().listed_pulls(&self.id, records)
            })
            .await
    }

    /// Returns the pull requests of a head branch, open ones first. Without [`HeadRef::owner`], a
    /// head in another repository does not count, on every forge.
    pub async fn find(
        &self,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<HeadMatches> {
        let found = self.client.run(Op::PrFind, &self.id, vec![], || {
            self.forge().find(&self.id, head, state, fields)
        });
        let mut found = found.await?;
        if head.owner.is_none() {
            found.drop_other_repositories();
        }
        Ok(found)
    }

    /// Returns the pull requests that concern the viewer.
    pub async fn status(&self, head: Option<&HeadRef>, fields: PrFields) -> Result<PullStatus> {
        self.client
            .run(Op::PrStatus, &self.id, vec![], || {
                self.forge().status(&self.id, head, fields)
            })
            .await
    }

    /// Changes the fields that are set in `edit`.
    pub async fn edit_pull(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrEdit, pr, edit.needs(), || self.forge().edit(pr, edit))
            .await
    }

    /// Submits another round: a new version of the changes.
    pub async fn resubmit(&self, pr: &PrId, req: &Resubmit) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrResubmit, pr, req.needs(), || {
                self.forge().resubmit(pr, req)
            })
            .await
    }

    /// Brings the head branch up to date with the base.
    pub async fn update_branch(
        &self,
        pr: &PrId,
        req: &UpdateBranch,
    ) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrUpdateBranch, pr, vec![], || {
                self.forge().update_branch(pr, req)
            })
            .await
    }

    /// Closes the pull request without merging.
    pub async fn close(&self, pr: &PrId, req: &CloseReq) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrClose, pr, req.needs(), || self.forge().close(pr, req))
            .await
    }

    /// Reopens the pull request.
    pub async fn reopen(&self, pr: &PrId, comment: Option<&str>) -> Result<Outcome<PullRequest>> {
        self.client
            .run(
                Op::PrReopen,
                pr,
                comment.map(|_| Capability::Comments).into_iter().collect(),
                || self.forge().reopen(pr, comment),
            )
            .await
    }

    /// Marks a draft as ready if `draft` is false, or a ready pull request as a draft if `draft` is
    /// true.
    pub async fn set_draft(&self, pr: &PrId, draft: bool) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrSetDraft, pr, vec![], || {
                self.forge().set_draft(pr, draft)
            })
            .await
    }

    /// Locks or unlocks the conversation.
    pub async fn set_lock(&self, pr: &PrId, lock: Lock) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrSetLock, pr, vec![], || {
                self.forge().set_lock(pr, lock)
            })
            .await
    }

    /// Opens a pull request that reverts a merged one.
    pub async fn revert(&self, pr: &PrId, req: &RevertPull) -> Result<Outcome<PullRequest>> {
        self.client
            .run(Op::PrRevert, pr, req.needs(), || {
                self.forge().revert(pr, req)
            })
            .await
    }

    /// Reads whether the pull request can be merged now.
    pub async fn mergeability(&self, pr: &PrId) -> Result<Mergeability> {
        self.client
            .run(Op::PrMergeability, pr, vec![], || {
                self.forge().mergeability(pr)
            })
            .await
    }

    /// Returns the requirements of the base branch of `pull`, which must have been read with
    /// [`PrFields::RULES`].
    pub async fn base_rules(&self, pull: &PullRequest) -> Result<Option<BaseRules>> {
        self.client
            .run(Op::PrBaseRules, &pull.id, vec![], || {
                self.forge().base_rules(pull)
            })
            .await
    }

    /// Merges the pull request.
    pub async fn merge(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        let mut req = req.clone();
        let split = req.split_subject();
        let mut outcome = self
            .client
            .run(Op::PrMerge, pr, req.needs(), || {
                self.forge().merge(pr, &req)
            })
            .await?;
        outcome.warnings.extend(split);
        Ok(outcome)
    }

    /// Cancels a scheduled merge.
    pub async fn cancel_merge(&self, pr: &PrId) -> Result<Outcome<PullRequest>> {
        let call = || self.forge().cancel_merge(pr);
        let cancelled = self.client.run(Op::PrCancelMerge, pr, vec![], call).await;
        cancelled.map_err(|e| match e.kind() {
            // The alternative of the capability is for a merge that is to be scheduled.
            ErrorKind::Unsupported { .. } => e.with_hint(
                "do nothing: no pull request here is merged later, so none is cancelled",
            ),
            _ => e,
        })
    }

    /// Streams the diff. Time spent waiting for the stream counts toward the deadline.
    pub async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        req.check_since()?;
        let (begun, deadline) = (tokio::time::Instant::now(), self.client.policy.deadline);
        let read = self
            .client
            .run(Op::PrDiff, pr, req.needs(), || self.forge().diff(pr, req));
        let mut diff = read.await?;
        let left = deadline.saturating_sub(begun.elapsed());
        diff.body = within_deadline(diff.body, Op::PrDiff, deadline, left);
        Ok(diff)
    }

    /// Returns the changed files.
    pub async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>> {
        self.client
            .run(Op::PrFiles, pr, vec![], || self.forge().files(pr, page))
            .await
    }

    /// Returns the content of each path at a commit.
    pub async fn contents(&self, pr: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>> {
        self.client
            .run(Op::PrContents, pr, vec![], || {
                self.forge().contents(pr, req)
            })
            .await
    }

    /// Returns the commits, oldest first.
    pub async fn commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>> {
        self.client
            .run(Op::PrCommits, pr, vec![], || self.forge().commits(pr, page))
            .await
    }

    /// Returns the status history, oldest first.
    pub async fn history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.client
            .run(Op::PrHistory, pr, vec![], || self.forge().history(pr, page))
            .await
    }

    /// Adds a comment, or a reply to a comment.
    pub async fn comment(
        &self,
        pr: &PrId,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>> {
        self.client
            .run(
                Op::Comment,
                pr,
                reply_to
                    .map(|_| Capability::CommentReply)
                    .into_iter()
                    .collect(),
                || self.forge().comment(pr, body, reply_to),
            )
            .await
    }

    /// Replaces the body of a comment.
    pub async fn edit_comment(&self, comment: &CommentId, body: &str) -> Result<Outcome<Comment>> {
        self.client
            .run(Op::CommentEdit, &comment.pr, vec![], || {
                self.forge().edit_comment(comment, body)
            })
            .await
    }

    /// Deletes a comment.
    pub async fn delete_comment(&self, comment: &CommentId) -> Result<Outcome<()>> {
        self.client
            .run(Op::CommentDelete, &comment.pr, vec![], || {
                self.forge().delete_comment(comment)
            })
            .await
    }

    /// Returns the comments, oldest first.
    pub async fn comments(&self, pr: &PrId, page: PageReq) -> Result<Page<Comment>> {
        self.client
            .run(Op::CommentList, pr, vec![], || {
                self.forge().comments(pr, page)
            })
            .await
    }

    /// Returns the reviews, oldest first.
    pub async fn reviews(&self, pr: &PrId, page: PageReq) -> Result<Page<Review>> {
        self.client
            .run(Op::ReviewList, pr, vec![], || {
                self.forge().reviews(pr, page)
            })
            .await
    }

    /// Submits a review.
    pub async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>> {
        self.client
            .run(Op::ReviewSubmit, pr, review.needs(), || {
                self.forge().submit_review(pr, review)
            })
            .await
    }

    /// Deletes the viewer's pending review, and returns the number of its comments.
    pub async fn discard_pending_review(&self, pr: &PrId) -> Result<Outcome<u64>> {
        self.client
            .run(Op::ReviewDiscard, pr, vec![], || {
                self.forge().discard_pending_review(pr)
            })
            .await
    }

    /// Dismisses a review.
    pub async fn dismiss_review(
        &self,
        pr: &PrId,
        key: &str,
        message: &str,
    ) -> Result<Outcome<Review>> {
        self.client
            .run(Op::ReviewDismiss, pr, vec![], || {
                self.forge().dismiss_review(pr, key, message)
            })
            .await
    }

    /// Returns the review threads.
    pub async fn threads(
        &self,
        pr: &PrId,
        filter: ThreadFilter,
        page: PageReq,
    ) -> Result<Page<Thread>> {
        self.client
            .run(Op::ThreadList, pr, vec![], || {
                self.forge().threads(pr, filter, page)
            })
            .await
    }

    /// Resolves or unresolves a thread.
    pub async fn resolve_thread(
        &self,
        thread: &ThreadId,
        resolved: bool,
    ) -> Result<Outcome<Thread>> {
        self.client
            .run(Op::ThreadResolve, &thread.pr, vec![], || {
                self.forge().resolve_thread(thread, resolved)
            })
            .await
    }

    /// Uploads files, with one result for each file.
    pub async fn attach(&self, files: &[NewAttachment]) -> Result<Vec<Result<Attachment>>> {
        self.client
            .run(Op::Attach, &self.id, vec![], || {
                self.forge().attach(&self.id, files)
            })
            .await
    }

    /// Returns the checks of the head commit.
    pub async fn checks(&self, pr: &PrId) -> Result<ChecksReport> {
        self.client
            .run(Op::Checks, pr, vec![], || self.forge().checks(pr))
            .await
    }

    /// Returns the last `most` bytes of a check's log.
    pub async fn check_log(
        &self,
        pr: &PrId,
        check: &Check,
        most: usize,
    ) -> Result<Option<CheckLog>> {
        self.client
            .run(Op::CheckLog, pr, vec![], || {
                self.forge().check_log(pr, check, most)
            })
            .await
    }

    /// Returns the failure reason of each of `checks`, in the same order. An entry is `None` if the
    /// forge has no reason for that check.
    ///
    /// If the entry is `None`, [`Check::summary`] is the reason if the check is a commit status or
    /// comes from an app. For a GitHub Actions job, the summary is not a reason but only a title.
    pub async fn check_reasons(&self, pr: &PrId, checks: &[&Check]) -> Result<Vec<Option<String>>> {
        self.client
            .run(Op::CheckReasons, pr, vec![], || {
                self.forge().check_reasons(pr, checks)
            })
            .await
    }

    /// Runs the failed checks again.
    pub async fn rerun_failed_checks(&self, pr: &PrId) -> Result<Outcome<Vec<Check>>> {
        self.client
            .run(Op::ChecksRerun, pr, vec![], || {
                self.forge().rerun_failed_checks(pr)
            })
            .await
    }

    /// Returns a page of issues, newest first.
    pub async fn issues(&self, query: &IssueQuery, page: PageReq) -> Result<Page<Issue>> {
        self.client
            .run(Op::IssueList, &self.id, query.needs(), || {
                self.forge().issues(&self.id, query, page)
            })
            .await
    }

    /// Returns one issue, with the optional parts that `fields` selects.
    pub async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue> {
        self.client
            .run(Op::IssueView, issue, vec![], || {
                self.forge().issue(issue, fields)
            })
            .await
    }

    /// Returns the at-uris (addresses of atproto records) in `records` that the forge lists as
    /// issues of the repository. An at-uri in `records` causes no request to the account in it.
    pub async fn listed_issues(&self, records: &[String]) -> Result<BTreeSet<String>> {
        self.client
            .run(Op::IssueList, &self.id, vec![], || {
                self.forge().listed_issues(&self.id, records)
            })
            .await
    }

    /// Returns the issues `ids` with their relations. If the forge's answer also contains related
    /// issues, these are returned too.
    pub async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet> {
        self.client
            .run(Op::IssueRelated, &self.id, vec![], || {
                self.forge().related_issues(ids, fields)
            })
            .await
    }

    /// Opens an issue.
    pub async fn create_issue(&self, new: &NewIssue) -> Result<Outcome<Issue>> {
        self.client
            .run(Op::IssueCreate, &self.id, new.needs(), || {
                self.forge().create_issue(&self.id, new)
            })
            .await
    }

    /// Changes title, body and labels of an issue.
    pub async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>> {
        self.client
            .run(Op::IssueEdit, issue, edit.needs(), || {
                self.forge().edit_issue(issue, edit)
            })
            .await
    }

    /// Changes several issues, with one result for each edit, in the order of `edits`.
    pub async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>> {
        let needs = edits.iter().flat_map(|(_, edit)| edit.needs()).collect();
        self.client
            .run(Op::IssueEdit, &self.id, needs, || {
                self.forge().edit_issues(edits)
            })
            .await
    }

    /// Closes or reopens an issue.
    ///
    /// # Errors
    /// `invalid_input` if `duplicate_of` is the issue itself, or if `duplicate_of` is set but the
    /// state is not closed or the reason is not duplicate; the errors of
    /// [`Issues::set_issue_state`](crate::Issues::set_issue_state).
    pub async fn set_issue_state(
        &self,
        issue: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        self.client
            .run(Op::IssueSetState, issue, req.needs(), || async {
                let req = req.with_duplicate_reason(issue)?;
                self.forge().set_issue_state(issue, &req).await
            })
            .await
    }

    /// Comments on an issue.
    pub async fn create_issue_comment(
        &self,
        issue: &IssueId,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        self.client
            .run(Op::IssueComment, issue, vec![], || {
                self.forge().create_issue_comment(issue, body)
            })
            .await
    }

    /// Replaces the body of the comment `key` on an issue.
    pub async fn edit_issue_comment(
        &self,
        issue: &IssueId,
        key: &str,
        body: &str,
        expected_version: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        self.client
            .run(Op::IssueCommentEdit, issue, vec![], || {
                self.forge()
                    .edit_issue_comment(issue, key, body, expected_version)
            })
            .await
    }

    /// Deletes the comment `key` on an issue.
    pub async fn delete_issue_comment(&self, issue: &IssueId, key: &str) -> Result<Outcome<()>> {
        self.client
            .run(Op::IssueCommentDelete, issue, vec![], || {
                self.forge().delete_issue_comment(issue, key)
            })
            .await
    }

    /// Deletes an issue.
    pub async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>> {
        self.client
            .run(Op::IssueDelete, issue, vec![], || {
                self.forge().delete_issue(issue)
            })
            .await
    }

    /// Returns the events of an issue, oldest first.
    pub async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.client
            .run(Op::IssueHistory, issue, vec![], || {
                self.forge().issue_history(issue, page)
            })
            .await
    }

    /// Returns the fields of issues on a board.
    pub async fn issue_fields(&self, board: Option<&BoardId>) -> Result<Vec<IssueField>> {
        self.client
            .run(Op::IssueFieldList, &self.id, vec![], || {
                self.forge().issue_fields(&self.id, board)
            })
            .await
    }

    /// Creates a field of issues, or adds missing options to an existing field.
    pub async fn define_issue_field(
        &self,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        self.client
            .run(Op::IssueFieldDefine, &self.id, vec![], || {
                self.forge().define_issue_field(&self.id, board, field)
            })
            .await
    }

    /// Returns the links between the subject and other pull requests and issues.
    pub async fn links(&self, subject: &Subject) -> Result<Links> {
        self.client
            .run(Op::Links, subject, vec![], || self.forge().links(subject))
            .await
    }

    /// Returns the labels of the repository.
    pub async fn labels(&self, page: PageReq) -> Result<Page<Label>> {
        self.client
            .run(Op::LabelList, &self.id, vec![], || {
                self.forge().labels(&self.id, page)
            })
            .await
    }

    /// Defines a label.
    pub async fn define_label(&self, label: &NewLabel) -> Result<Outcome<Label>> {
        self.client
            .run(Op::LabelDefine, &self.id, label.needs(), || {
                self.forge().define_label(&self.id, label)
            })
            .await
    }

    /// Deletes a label from the repository.
    pub async fn delete_label(&self, name: &str) -> Result<Outcome<()>> {
        self.client
            .run(Op::LabelDelete, &self.id, vec![], || {
                self.forge().delete_label(&self.id, name)
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_send_sync_and_clone() {
        fn check<T: Send + Sync + Clone>() {}
        check::<Client>();
        check::<Repo>();
    }
}
