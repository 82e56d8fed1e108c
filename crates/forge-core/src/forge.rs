//! The traits that a backend implements. A backend is the code for one kind of forge, such as
//! GitHub.
//!
//! Each resource has a trait of its own, so that a backend has one file for each resource. The
//! methods have no default bodies, except [`PullRequests::check_create`]. With default bodies, a
//! wrapper or backend that forgets a method would compile and answer wrongly.
//!
//! A method that a forge does not support returns
//! [`Error::unsupported`](crate::Error::unsupported), and its row in [`Capabilities`] says so too.
//! The behaviour suite checks that the method and the row agree.
//!
//! Callers do not use these traits. They use a [`Client`](crate::Client) or a
//! [`Repo`](crate::Repo), which check capability, access and deadline for all backends.
//!
//! In this file, the viewer is the account of the credentials in use. A record is an atproto
//! record: on tangled, each pull request and issue is a record of its author's account. An at-uri
//! is the address of a record.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize};

use async_trait::async_trait;

use crate::{
    Capabilities, ForgeKind, IndexLimit, Outcome, Page, PageReq, PrId, RepoId, Result, WebPage,
    model::{
        Actor, Attachment, BaseRules, BoardId, Branch, Check, CheckLog, ChecksReport, CloseReq,
        Comment, CommentId, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditIssue, EditPull,
        Examined, FileChange, FileContent, HeadMatches, HeadRef, Issue, IssueField, IssueFields,
        IssueId, IssueQuery, IssueSet, Label, Links, Lock, Merge, MergeReq, Mergeability,
        NewAttachment, NewIssue, NewLabel, NewReview, PathContent, PrFields, PullQuery,
        PullRequest, PullScope, PullStatus, PullsAcross, PushEdits, PushedCommit, RepoInfo,
        Resubmit, RevertPull, Review, SetIssueState, StateFilter, StatusEvent, Subject, Thread,
        ThreadFilter, ThreadId, UpdateBranch,
    },
};

/// Kind and host of a forge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ForgeInfo {
    /// Kind of forge.
    pub kind: ForgeKind,
    /// Host name; empty for a local repository.
    pub host: String,
}

impl ForgeInfo {
    /// Describes a forge of this kind at `host`.
    pub fn new(kind: ForgeKind, host: impl Into<String>) -> Self {
        Self {
            kind,
            host: host.into(),
        }
    }
}

/// A forge: all operations that the rest of the workspace uses.
pub trait Forge:
    Repos
    + PullRequests
    + Reviews
    + Checks
    + Issues
    + Labels
    + Attachments
    + fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// Returns kind and host of this forge.
    fn info(&self) -> &ForgeInfo;

    /// Returns the capabilities of this backend. In one repository there may be fewer, depending on
    /// its settings and on the rights of the viewer.
    fn capabilities(&self) -> &'static Capabilities;

    /// Returns the number of concurrent requests that the forge handles without slowing down.
    fn concurrency(&self) -> NonZeroUsize;

    /// Returns the URL of a page of the web site, or `None` if the site has no such page.
    fn web_page(&self, repo: &RepoId, page: &WebPage<'_>) -> Option<String>;
}

/// Operations on repositories, and the account of the credentials in use (the viewer).
#[async_trait]
pub trait Repos: Send + Sync {
    /// Returns the account of the credentials in use.
    ///
    /// # Errors
    /// `unauthenticated` without credentials (for a local repository: without `user.email`).
    async fn viewer(&self, repo: &RepoId) -> Result<Actor>;

    /// Returns the repository, with its canonical id.
    ///
    /// # Errors
    /// `not_found` if the repository does not exist or the viewer may not see it.
    async fn repo(&self, repo: &RepoId) -> Result<RepoInfo>;

    /// Returns the kinds of records that the index of this forge may not show to others.
    ///
    /// # Behavior
    /// - Empty if the forge itself shows what it stores, and if nothing is known about its index.
    /// - The index is not asked.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`].
    async fn index_limits(&self, repo: &RepoId) -> Result<Vec<IndexLimit>>;

    /// Returns a page of branches with their head commits, sorted by name.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`].
    async fn branches(&self, repo: &RepoId, page: PageReq) -> Result<Page<Branch>>;

    /// Returns true if rules of the forge protect a branch. False for a missing branch, and always
    /// on a forge without such rules.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`]. The protection is then unknown.
    async fn branch_is_protected(&self, repo: &RepoId, branch: &str) -> Result<bool>;

    /// Returns the file or directory `path` at the branch, tag or commit `at`, or `None` if the
    /// path does not exist. If `at` is `None`, the default branch is read. An empty `path` is the
    /// root.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`]; `not_found` if the branch, tag or commit `at` does not exist;
    /// `invalid_input` (field `path`) for a file of more than
    /// [`MAX_REPO_FILE`](crate::limits::MAX_REPO_FILE) bytes.
    async fn repo_file(
        &self,
        repo: &RepoId,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<PathContent>>;

    /// Commits edits of files on top of an existing branch.
    ///
    /// # Behavior
    /// - The branch moves only if [`PushEdits::expected_head`] is the branch's tip.
    /// - All checks happen before the first write.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`]; `conflict` if the branch is at another commit;
    /// `invalid_input` for edits that do not fit the branch's files (field `edits`) or a missing
    /// branch (field `branch`).
    async fn push_edits(&self, repo: &RepoId, req: &PushEdits) -> Result<Outcome<PushedCommit>>;

    /// Forks the repository for the viewer.
    ///
    /// A fork that the viewer already has is returned. The content of a new fork may appear only
    /// some time after this call.
    ///
    /// # Errors
    /// `permission_denied` if the repository may not be forked.
    async fn fork(&self, repo: &RepoId) -> Result<Outcome<RepoId>>;

    /// Compares the answers of the forge's services with what this backend expects.
    ///
    /// # Behavior
    /// - Nothing is written.
    /// - Requests are sent only if `live` is true. Otherwise each result is marked as skipped.
    /// - Leaves out the requests that methods such as [`Self::repo`] send anyway.
    /// - No text in the results contains a credential.
    async fn examine(&self, repo: &RepoId, live: bool) -> Vec<Examined>;
}

/// Pull requests.
#[async_trait]
pub trait PullRequests: Send + Sync {
    /// Opens a pull request, with labels, assignees and reviewers.
    ///
    /// # Behavior
    /// - Title, branches and labels are checked before the first write.
    /// - Fails with `already_exists` and the URL if an open pull request has the same head and
    ///   base.
    /// - [`CreatePull::edits`] become one commit on top of the base branch, with the title as
    ///   message. If the forge needs a branch for this commit, [`CreatePull::head`] is the name of
    ///   the branch. If opening the pull request then fails, the branch is deleted, or the error
    ///   says that the branch remains.
    ///
    /// # Errors
    /// `invalid_input` (field `base`, `head`, `title`, `labels`, `edits`, …); `precondition_failed`
    /// if there is nothing to merge; `already_exists`.
    async fn create(&self, repo: &RepoId, req: &CreatePull) -> Result<Outcome<PullRequest>>;

    /// Checks a request for [`Self::create`] before its head branch is pushed. Writes nothing.
    ///
    /// # Behavior
    /// The head branch may be missing. A backend without this check accepts every request here, so
    /// that [`Self::create`] refuses an invalid request only after the push.
    ///
    /// # Errors
    /// The errors of [`Self::create`].
    async fn check_create(&self, _repo: &RepoId, _req: &CreatePull) -> Result<()> {
        Ok(())
    }

    /// Returns a page of pull requests, newest first.
    ///
    /// # Behavior
    /// - A page has fewer items than requested only if there are no more matches. This also holds
    ///   if this program filters the list because the forge cannot.
    /// - With [`PullQuery::touches`], a page also ends after
    ///   [`MAX_TOUCH_SCAN`](crate::MAX_TOUCH_SCAN) pull requests were examined, with a warning.
    /// - A malformed pull request becomes a warning of the page, never an error of the list.
    ///
    /// # Errors
    /// `invalid_input` for a cursor of another query or an unknown search qualifier.
    async fn list(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        page: PageReq,
    ) -> Result<Page<PullRequest>>;

    /// Runs each of `queries` over the repositories of `scope`. Each query returns at most `limit`
    /// results for each repository. All queries must have the same [`PullQuery::fields`].
    ///
    /// # Behavior
    /// - Sends as few requests as the forge allows, concurrently.
    /// - [`PullsAcross::failed`] names each repository or owner that cannot be read; the results of
    ///   all others are valid.
    ///
    /// # Errors
    /// Fails only if nothing can be read, with the errors of [`PullRequests::list`].
    async fn list_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross>;

    /// Returns one pull request, with the optional parts that `fields` selects.
    ///
    /// # Behavior
    /// [`PullRequest::warnings`] lists the parts that cannot be read in full; all other parts are
    /// valid.
    ///
    /// # Errors
    /// `not_found`; `protocol` if the stored pull request is malformed.
    async fn view(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest>;

    /// Returns the at-uris in `records` that the forge lists as pull requests of `repo`. The set is
    /// empty on a forge that does not store pull requests as records.
    ///
    /// # Behavior
    /// A pull request can claim to build on any record. Therefore an at-uri in `records` causes no
    /// request to the account in it.
    ///
    /// # Errors
    /// Fails if the pull requests cannot be listed.
    async fn listed_pulls(&self, repo: &RepoId, records: &[String]) -> Result<BTreeSet<String>>;

    /// Returns the pull requests of a head branch, open ones before others, each group newest
    /// first. The list is empty if no pull request matches.
    ///
    /// # Behavior
    /// A branch of `repo` stands only for pull requests whose author may push to `repo`
    /// ([`BranchClaim::Proven`](crate::model::BranchClaim::Proven)). Those of other authors are
    /// only named ([`HeadMatches::unproven`]).
    ///
    /// # Errors
    /// Fails if a service that may know a matching pull request did not answer.
    async fn find(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<HeadMatches>;

    /// Returns the pull requests that concern the viewer; `head` is the current branch, if any.
    ///
    /// # Errors
    /// The errors of [`Repos::viewer`].
    async fn status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus>;

    /// Changes the fields that are set in `edit`, in one step.
    ///
    /// # Errors
    /// `invalid_input`; `conflict` if `expected_version` is not the current one.
    async fn edit(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>>;

    /// Submits another round: a new version of the changes. Only for forges on which a pull request
    /// consists of rounds and does not follow its branch.
    ///
    /// # Behavior
    /// - Earlier rounds stay as they are.
    /// - If the newest round already has these changes, nothing is submitted and the outcome has a
    ///   warning. A comment in the request is still posted, and the outcome lists it as a step.
    ///
    /// # Errors
    /// `permission_denied` if another account opened the pull request; `precondition_failed` if the
    /// pull request is not open or its head adds nothing to the base; `invalid_input` (field
    /// `patch`) for a malformed patch; `conflict` if the pull request changed in the meantime.
    async fn resubmit(&self, pr: &PrId, req: &Resubmit) -> Result<Outcome<PullRequest>>;

    /// Closes the pull request without merging.
    ///
    /// # Behavior
    /// - Closing a closed pull request returns a warning. The comment is still posted and the
    ///   branch still deleted. The outcome lists these steps and is not `unchanged`.
    /// - A comment that equals the newest comment is not posted again.
    /// - A head branch that is not at [`CloseReq::expected_head`] is kept, with a warning.
    ///
    /// # Errors
    /// `precondition_failed` if merged; `invalid_input` if `expected_head` is not a full object id.
    async fn close(&self, pr: &PrId, req: &CloseReq) -> Result<Outcome<PullRequest>>;

    /// Reopens the pull request, with an optional comment.
    ///
    /// # Behavior
    /// Reopening an open pull request returns a warning. A comment is posted as in
    /// [`PullRequests::close`].
    ///
    /// # Errors
    /// `precondition_failed` if merged; `invalid_input` (field `head` or `base`) if the branch is
    /// missing.
    async fn reopen(&self, pr: &PrId, comment: Option<&str>) -> Result<Outcome<PullRequest>>;

    /// Brings the head branch up to date with the base branch.
    ///
    /// # Behavior
    /// - Only the head branch changes. A conflict changes nothing; the error lists the conflicting
    ///   files if the forge reports them.
    /// - If the head already contains the base branch, the outcome is `unchanged`.
    ///
    /// # Errors
    /// `precondition_failed` (not open, conflicts); `conflict` if head or base is not as expected;
    /// `permission_denied` if the viewer may not push to the head branch.
    async fn update_branch(&self, pr: &PrId, req: &UpdateBranch) -> Result<Outcome<PullRequest>>;

    /// Marks a draft as ready if `draft` is false, or a ready pull request as a draft if `draft` is
    /// true.
    ///
    /// # Behavior
    /// If the pull request is already in that state, nothing changes and the outcome has a warning.
    ///
    /// # Errors
    /// `precondition_failed` if the pull request is not open.
    async fn set_draft(&self, pr: &PrId, draft: bool) -> Result<Outcome<PullRequest>>;

    /// Locks or unlocks the conversation.
    ///
    /// # Behavior
    /// If the conversation is already in that state, nothing changes and the outcome has a warning.
    /// A lock with another reason replaces the reason; a lock without a reason keeps the current
    /// one.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` if the viewer may not lock.
    async fn set_lock(&self, pr: &PrId, lock: Lock) -> Result<Outcome<PullRequest>>;

    /// Opens a pull request that reverts the merge of `pr`.
    ///
    /// # Behavior
    /// - The reverting commit is on a new branch that starts at the base branch. The outcome
    ///   contains the new pull request.
    /// - Branch and pull request are created together or not at all; a conflict changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` (not merged, conflicts with later changes, or nothing of the merge is
    /// left in the base branch); `already_exists` if the new branch's name is taken.
    async fn revert(&self, pr: &PrId, req: &RevertPull) -> Result<Outcome<PullRequest>>;

    /// Reads whether head and base can be merged now. Changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` if the pull request is not open.
    async fn mergeability(&self, pr: &PrId) -> Result<Mergeability>;

    /// Returns the requirements of the base branch of `pull`, or `None` if the forge has no branch
    /// rules. `pull` must have been read with [`PrFields::RULES`], because the rules that
    /// [`PullRequest::base_rules`] then contains are not requested again.
    ///
    /// # Behavior
    /// [`BaseRules::unread`] names the rules that the viewer may not see.
    ///
    /// # Errors
    /// A request for rules that fails is not an error. [`BaseRules::unread`] then names the missing
    /// rules.
    async fn base_rules(&self, pull: &PullRequest) -> Result<Option<BaseRules>>;

    /// Merges the pull request.
    ///
    /// # Behavior
    /// - Merges completely or not at all; a conflict changes nothing and names the files.
    /// - If the pull request is already merged at `expected_head` into `expected_base`, the result
    ///   is `already_merged` and nothing is merged.
    /// - [`MergeReq::only_left_over`] finishes an earlier merge. With it, a pull request that is
    ///   not merged yet is refused.
    ///
    /// # Errors
    /// `precondition_failed` (draft, closed, conflicts, nothing to merge, a rule of the forge);
    /// `conflict` if `expected_head` is not the head, or `expected_base` not the base branch.
    async fn merge(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>>;

    /// Cancels a scheduled [`PullRequests::merge`].
    ///
    /// # Errors
    /// `precondition_failed` if no merge is scheduled.
    async fn cancel_merge(&self, pr: &PrId) -> Result<Outcome<PullRequest>>;

    /// Streams the diff.
    ///
    /// # Errors
    /// `not_found` if a commit of the diff no longer exists.
    async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff>;

    /// Returns a page of changed files, sorted by path.
    ///
    /// # Errors
    /// The errors of [`PullRequests::diff`].
    async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>>;

    /// Returns the content of each path at a commit of the pull request, in the order of the paths.
    ///
    /// # Errors
    /// The errors of [`PullRequests::diff`].
    async fn contents(&self, pr: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>>;

    /// Returns the commits, oldest first.
    ///
    /// # Errors
    /// The errors of [`PullRequests::diff`].
    async fn commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>>;

    /// Returns the status history, oldest first.
    ///
    /// # Errors
    /// `not_found`.
    async fn history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>>;
}

/// Comments, reviews and threads.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// Adds a comment, or a reply to a comment. If `reply_to` is the key of a thread, the reply is
    /// posted in that thread.
    ///
    /// # Errors
    /// `invalid_input` for an empty or too long body; `not_found` for `reply_to`.
    async fn comment(
        &self,
        pr: &PrId,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>>;

    /// Replaces the body of a comment.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` if another account wrote the comment.
    async fn edit_comment(&self, comment: &CommentId, body: &str) -> Result<Outcome<Comment>>;

    /// Deletes a comment.
    ///
    /// # Errors
    /// The errors of [`Reviews::edit_comment`].
    async fn delete_comment(&self, comment: &CommentId) -> Result<Outcome<()>>;

    /// Returns the comments on the pull request (not those on lines), oldest first.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn comments(&self, pr: &PrId, page: PageReq) -> Result<Page<Comment>>;

    /// Returns the submitted reviews, oldest first.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn reviews(&self, pr: &PrId, page: PageReq) -> Result<Page<Review>>;

    /// Submits a review with its verdict, body and threads, or keeps it pending.
    ///
    /// # Behavior
    /// - The comments of an existing pending review are submitted only with
    ///   [`PendingReview::Submit`](crate::model::PendingReview::Submit).
    /// - If a thread is refused, no thread of the request is added to a pending review.
    ///
    /// # Errors
    /// - `invalid_input`: the body is missing, or a line or file is outside the diff.
    /// - `precondition_failed`: the viewer opened the pull request, and the verdict is not a
    ///   comment.
    /// - `precondition_failed`: the pull request is closed or merged.
    /// - `precondition_failed`: the viewer has a pending review although [`NewReview::pending`]
    ///   refuses one, or has no pending review to submit.
    /// - `conflict`: `expected_head` is stale.
    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>>;

    /// Deletes the viewer's pending review, and returns the number of its comments.
    ///
    /// # Behavior
    /// Without a pending review nothing changes, and the outcome has a warning.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn discard_pending_review(&self, pr: &PrId) -> Result<Outcome<u64>>;

    /// Dismisses the review whose [`Review::id`] is `key`, so that its verdict no longer counts.
    /// `message` is the reason.
    ///
    /// # Behavior
    /// Dismissing a dismissed review changes nothing and returns a warning.
    ///
    /// # Errors
    /// `invalid_input` (field `message`) for an empty or too long message; `not_found`;
    /// `precondition_failed` for a review without a verdict; `permission_denied`.
    async fn dismiss_review(&self, pr: &PrId, key: &str, message: &str) -> Result<Outcome<Review>>;

    /// Returns a page of review threads, sorted by the time of their first comment.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn threads(&self, pr: &PrId, filter: ThreadFilter, page: PageReq)
    -> Result<Page<Thread>>;

    /// Resolves or unresolves a thread.
    ///
    /// # Errors
    /// `not_found` for the thread.
    async fn resolve_thread(&self, thread: &ThreadId, resolved: bool) -> Result<Outcome<Thread>>;
}

/// Checks.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Returns the checks of the head commit. Of several checks with the same name, only the newest
    /// is returned.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport>;

    /// Returns the last `most` bytes of the log of a check that [`Checks::checks`] returned, or
    /// `None` for a check without a log, such as a commit status.
    ///
    /// # Errors
    /// `not_found` if the log is gone or does not exist yet.
    async fn check_log(&self, pr: &PrId, check: &Check, most: usize) -> Result<Option<CheckLog>>;

    /// Returns the failure reason of each of `checks`, in the same order. A reason consists of the
    /// annotations on lines of files. If there are no annotations, it names the failed step.
    ///
    /// An entry is `None` if the forge has neither annotations nor a failed step.
    /// [`Check::summary`] is then the reason if the check is a commit status or comes from an app.
    /// For a GitHub Actions job, the summary is not a reason but only a title.
    ///
    /// # Errors
    /// The errors of [`Checks::checks`].
    async fn check_reasons(&self, pr: &PrId, checks: &[&Check]) -> Result<Vec<Option<String>>>;

    /// Reruns the failed and cancelled checks of the head commit, and returns them.
    ///
    /// # Behavior
    /// - If no check failed, nothing is rerun, and a warning says so.
    /// - A check that cannot be rerun is named in a warning.
    ///
    /// # Errors
    /// The errors of [`Checks::checks`]; `precondition_failed` if no failed check can be rerun;
    /// `permission_denied`.
    async fn rerun_failed_checks(&self, pr: &PrId) -> Result<Outcome<Vec<Check>>>;
}

/// Issues of a repository, and references between issues and pull requests.
#[async_trait]
pub trait Issues: Send + Sync {
    /// Returns a page of issues, newest first.
    ///
    /// # Behavior
    /// - A page has fewer items than requested only if there are no more matches. This also holds
    ///   if this program filters the list because the forge cannot.
    /// - A malformed issue becomes a warning of the page, never an error of the list.
    ///
    /// # Errors
    /// `invalid_input` for a cursor of another query.
    async fn issues(&self, repo: &RepoId, query: &IssueQuery, page: PageReq)
    -> Result<Page<Issue>>;

    /// Returns one issue, with the optional parts that `fields` selects.
    ///
    /// # Errors
    /// `not_found`, also if the number belongs to a pull request; `protocol` if the stored issue is
    /// malformed.
    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue>;

    /// Returns the at-uris in `records` that the forge lists as issues of `repo`. The set is empty
    /// on a forge that does not store issues as records.
    ///
    /// # Behavior
    /// A text can contain any at-uri. Therefore an at-uri in `records` causes no request to the
    /// account in it.
    ///
    /// # Errors
    /// Fails if the issues cannot be listed.
    async fn listed_issues(&self, repo: &RepoId, records: &[String]) -> Result<BTreeSet<String>>;

    /// Returns the issues `ids` with their relations, such as parent and sub-issues, and with the
    /// parts that `fields` selects. If the forge's answer also contains related issues, these are
    /// returned too, with their own relations.
    ///
    /// # Behavior
    /// - Sends as few requests as the forge allows, for any number of `ids`.
    /// - [`IssueSet::failed`] names each issue that cannot be read.
    ///
    /// # Errors
    /// Fails only if no issue can be read.
    async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet>;

    /// Opens an issue, with labels and assignees.
    ///
    /// # Behavior
    /// Title, labels and assignees are checked before the first write.
    ///
    /// # Errors
    /// `invalid_input` (field `title`, `body`, `labels`, `assignees`).
    async fn create_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>>;

    /// Changes the fields that are set in `edit`.
    ///
    /// # Behavior
    /// - An edit that changes nothing returns a warning.
    /// - Adding a present label or removing an absent label is not an error.
    ///
    /// # Errors
    /// `invalid_input` (field `labels` for a missing label); `permission_denied` if the viewer may
    /// not change the issue.
    async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>>;

    /// Closes or reopens an issue, with an optional comment.
    ///
    /// # Behavior
    /// If the issue is already in that state, nothing changes and the comment is not posted. A
    /// warning of the outcome says both.
    ///
    /// # Errors
    /// `permission_denied`.
    async fn set_issue_state(&self, issue: &IssueId, req: &SetIssueState)
    -> Result<Outcome<Issue>>;

    /// Comments on an issue.
    ///
    /// # Errors
    /// `invalid_input` for an empty or too long body.
    async fn create_issue_comment(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>>;

    /// Replaces the body of the comment whose [`Comment::id`] is `key` on an issue.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for another account's comment; `conflict` if
    /// `expected_version` is stale, on forges with [`IssueSwap`](crate::Capability::IssueSwap).
    async fn edit_issue_comment(
        &self,
        issue: &IssueId,
        key: &str,
        body: &str,
        expected_version: Option<&str>,
    ) -> Result<Outcome<Comment>>;

    /// Deletes the comment `key` on an issue.
    ///
    /// # Errors
    /// The errors of [`Issues::edit_issue_comment`].
    async fn delete_issue_comment(&self, issue: &IssueId, key: &str) -> Result<Outcome<()>>;

    /// Changes several issues like [`Issues::edit_issue`], in as few requests as the forge allows.
    /// The results are in the order of `edits`.
    ///
    /// # Errors
    /// Fails only if no edit was attempted. Otherwise each edit has its own result.
    async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>>;

    /// Deletes an issue. Its number is never reused.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`.
    async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>>;

    /// Returns the events of an issue, oldest first.
    ///
    /// # Errors
    /// `not_found`.
    async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>>;

    /// Returns the fields that issues can have, with the possible values.
    ///
    /// # Errors
    /// `not_found` for the board.
    async fn issue_fields(&self, repo: &RepoId, board: Option<&BoardId>)
    -> Result<Vec<IssueField>>;

    /// Creates a field of issues, or adds the missing options to an existing field. Existing
    /// options stay.
    ///
    /// # Errors
    /// `not_found` for the board; `permission_denied`; `invalid_input` if a field of that name has
    /// another kind.
    async fn define_issue_field(
        &self,
        repo: &RepoId,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>>;

    /// Returns the links from a pull request or an issue to other pull requests and issues, and the
    /// links from those to it.
    ///
    /// # Behavior
    /// - References in code are ignored. A number is ignored if it belongs to no pull request or
    ///   issue of the repository.
    /// - References to another repository are not looked up: such a link has no title and no state.
    /// - If one of the two directions cannot be read, or the forge does not record it, the result
    ///   has a warning.
    ///
    /// # Errors
    /// `not_found` if the subject itself does not exist.
    async fn links(&self, subject: &Subject) -> Result<Links>;
}

/// Labels of a repository.
#[async_trait]
pub trait Labels: Send + Sync {
    /// Returns a page of the repository's labels, sorted by name.
    ///
    /// # Errors
    /// `not_found` for the repository.
    async fn labels(&self, repo: &RepoId, page: PageReq) -> Result<Page<Label>>;

    /// Defines a label. With `overwrite`, changes the label if it exists.
    ///
    /// # Errors
    /// `already_exists`; `invalid_input` for a name that is empty or too long, or a bad colour.
    async fn define_label(&self, repo: &RepoId, label: &NewLabel) -> Result<Outcome<Label>>;

    /// Deletes a label from the repository and from its pull requests.
    ///
    /// # Errors
    /// `not_found`.
    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>>;
}

/// Files shown in descriptions and comments.
#[async_trait]
pub trait Attachments: Send + Sync {
    /// Uploads files and returns their URLs, in the order of `files`. Descriptions and comments can
    /// refer to these URLs.
    ///
    /// # Behavior
    /// - A failed upload does not stop the others: each file has its own result.
    /// - An upload is never retried. If the forge's answer to an upload is lost, the file stays on
    ///   the forge and nothing refers to it.
    ///
    /// # Errors
    /// Fails only if no file can be uploaded: `not_found` for the repository, `permission_denied`.
    async fn attach(
        &self,
        repo: &RepoId,
        files: &[NewAttachment],
    ) -> Result<Vec<Result<Attachment>>>;
}
