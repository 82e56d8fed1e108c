//! The trait family that a backend implements.
//!
//! One trait per resource, so that a backend has one file per resource. The traits have no default
//! bodies, because a wrapper or a backend that forgot a method would then compile and answer
//! wrongly. An unsupported operation is one line that returns
//! [`Error::unsupported`](crate::Error::unsupported), and an unsupported row in [`Capabilities`];
//! the behaviour suite checks that the two agree.
//!
//! Callers do not use these traits: they hold a [`Client`](crate::Client) or a
//! [`Repo`](crate::Repo), which check capability, access and deadline once for all backends.

use std::{fmt, num::NonZeroUsize};

use async_trait::async_trait;

use crate::{
    Capabilities, ForgeKind, Outcome, Page, PageReq, PrId, RepoId, Result, WebPage,
    model::{
        Actor, Attachment, BaseRules, BoardId, Branch, Check, CheckLog, ChecksReport, CloseReq,
        Comment, CommentId, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditIssue, EditPull,
        Examined, FileChange, FileContent, HeadRef, Issue, IssueField, IssueFields, IssueId,
        IssueQuery, IssueSet, Label, Links, Lock, Merge, MergeReq, Mergeability, NewAttachment,
        NewIssue, NewLabel, NewReview, PathContent, PrFields, PullQuery, PullRequest, PullScope,
        PullStatus, PullsAcross, PushEdits, PushedCommit, RepoInfo, Resubmit, RevertPull, Review,
        SetIssueState, StateFilter, StatusEvent, Subject, Thread, ThreadFilter, ThreadId,
        UpdateBranch,
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
    /// A forge of this kind at `host`.
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
    /// Kind and host of this forge.
    fn info(&self) -> &ForgeInfo;

    /// All capabilities of this backend; a repository or the viewer's rights may allow fewer.
    fn capabilities(&self) -> &'static Capabilities;

    /// Number of concurrent requests that the forge handles without slowing down.
    fn concurrency(&self) -> NonZeroUsize;

    /// URL of a page of the web site, or `None` if the site has no such page.
    fn web_page(&self, repo: &RepoId, page: &WebPage<'_>) -> Option<String>;
}

/// Repositories and the viewer.
#[async_trait]
pub trait Repos: Send + Sync {
    /// The account whose credentials are used.
    ///
    /// # Errors
    /// `unauthenticated` without credentials (for a local repository: without `user.email`).
    async fn viewer(&self, repo: &RepoId) -> Result<Actor>;

    /// The repository, with its canonical id.
    ///
    /// # Errors
    /// `not_found` if the repository does not exist or the viewer may not see it.
    async fn repo(&self, repo: &RepoId) -> Result<RepoInfo>;

    /// The branches with their head commits, by name.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`].
    async fn branches(&self, repo: &RepoId, page: PageReq) -> Result<Page<Branch>>;

    /// The file or directory `path` at `at` (a branch, a tag or a commit; `None` is the default
    /// branch), or `None` if the path does not exist. An empty `path` is the root.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`]; `not_found` for `at`; `invalid_input` (field `path`) for a
    /// file of more than [`MAX_REPO_FILE`](crate::limits::MAX_REPO_FILE) bytes.
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
    /// - Everything is checked before anything is written.
    ///
    /// # Errors
    /// The errors of [`Repos::repo`]; `conflict` if the branch is at another commit;
    /// `invalid_input` for edits that do not fit the branch's files (field `edits`) or a missing
    /// branch (field `branch`).
    async fn push_edits(&self, repo: &RepoId, req: &PushEdits) -> Result<Outcome<PushedCommit>>;

    /// Makes a fork of the repository for the viewer.
    ///
    /// # Behavior
    /// If the viewer already has a fork, the existing fork is returned. The content of a new fork
    /// may appear a little later.
    ///
    /// # Errors
    /// `permission_denied` if the repository may not be forked.
    async fn fork(&self, repo: &RepoId) -> Result<Outcome<RepoId>>;

    /// Compares the answers of the forge's services with this backend's expectations.
    ///
    /// # Behavior
    /// - Nothing is written. Requests are sent only with `live`; without it, entries are skipped.
    /// - Reads that [`Self::repo`] and other methods make anyway are not repeated here.
    /// - No text contains a credential.
    async fn examine(&self, repo: &RepoId, live: bool) -> Vec<Examined>;
}

/// Pull requests.
#[async_trait]
pub trait PullRequests: Send + Sync {
    /// Opens a pull request, with labels, assignees and reviewers.
    ///
    /// # Behavior
    /// - Everything is checked before anything is written: title, branches, labels.
    /// - Fails with `already_exists` and the URL if an open pull request has the same head and
    ///   base.
    /// - With [`CreatePull::edits`] the changes are one commit on top of the base branch, with the
    ///   title as message. If the forge needs a branch for the commit, `head` names the new branch.
    ///   If opening fails, the branch is deleted, or the error says that the branch remains.
    ///
    /// # Errors
    /// `invalid_input` (field `base`, `head`, `title`, `labels`, `edits`, …); `precondition_failed`
    /// if there is nothing to merge; `already_exists`.
    async fn create(&self, repo: &RepoId, req: &CreatePull) -> Result<Outcome<PullRequest>>;

    /// A page of pull requests, newest first.
    ///
    /// # Behavior
    /// - A page is filled up to its limit while there are matches, even if this program filters.
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

    /// Runs each of `queries` over the repositories of `scope`, with at most `limit` results per
    /// query and repository. All queries must ask for the same sections.
    ///
    /// # Behavior
    /// - As few requests as the forge allows, sent concurrently.
    /// - A repository or an owner that cannot be read is in [`PullsAcross::failed`]; the rest is
    ///   valid.
    ///
    /// # Errors
    /// Fails only if nothing can be read, with the errors of [`PullRequests::list`].
    async fn list_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross>;

    /// One pull request with the sections that `fields` names.
    ///
    /// # Behavior
    /// A section that cannot be read in full is a warning in [`PullRequest::warnings`]; the rest is
    /// valid.
    ///
    /// # Errors
    /// `not_found`; `protocol` if the stored pull request is malformed.
    async fn view(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest>;

    /// The pull requests of a head branch: open ones first, then newest first. Empty without a
    /// match.
    ///
    /// # Errors
    /// Fails if a service that may know a matching pull request did not answer.
    async fn find(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>>;

    /// The pull requests that concern the viewer; `head` is the current branch, if any.
    ///
    /// # Errors
    /// The errors of [`Repos::viewer`].
    async fn status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus>;

    /// Changes the fields set in `edit`, in one step.
    ///
    /// # Errors
    /// `invalid_input`; `conflict` if `expected_version` is not the current one.
    async fn edit(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>>;

    /// Submits another round of changes, on forges where a pull request holds rounds instead of
    /// following its branch.
    ///
    /// # Behavior
    /// - Earlier rounds stay as they are.
    /// - Submitting the newest round again changes nothing and gives a warning; a comment in the
    ///   request is still posted, as a step of the outcome.
    ///
    /// # Errors
    /// `permission_denied` if another account opened the pull request; `precondition_failed` if the
    /// pull request is not open or its head adds nothing to the base; `invalid_input` (field
    /// `patch`) for a malformed patch; `conflict` if the pull request changed in the meantime.
    async fn resubmit(&self, pr: &PrId, req: &Resubmit) -> Result<Outcome<PullRequest>>;

    /// Closes the pull request without merging.
    ///
    /// # Behavior
    /// Closing a closed pull request gives a warning. The comment is still posted and the branch
    /// still deleted; the outcome lists these steps and is then not `unchanged`. A comment equal to
    /// the newest one is not repeated. A head branch that is not at [`CloseReq::expected_head`] is
    /// kept, with a warning.
    ///
    /// # Errors
    /// `precondition_failed` if merged; `invalid_input` if `expected_head` is not a full object id.
    async fn close(&self, pr: &PrId, req: &CloseReq) -> Result<Outcome<PullRequest>>;

    /// Reopens the pull request, with an optional comment.
    ///
    /// # Behavior
    /// Reopening an open pull request gives a warning; comments are handled as for closing.
    ///
    /// # Errors
    /// `precondition_failed` if merged; `invalid_input` (field `head` or `base`) if the branch is
    /// missing.
    async fn reopen(&self, pr: &PrId, comment: Option<&str>) -> Result<Outcome<PullRequest>>;

    /// Brings the head branch up to date with the base branch.
    ///
    /// # Behavior
    /// - Only the head branch changes. A conflict changes nothing; the error names the files if the
    ///   forge does.
    /// - A head that already contains the base branch is `unchanged`.
    ///
    /// # Errors
    /// `precondition_failed` (not open, conflicts); `conflict` if head or base is not as expected;
    /// `permission_denied` if the viewer may not push to the head branch.
    async fn update_branch(&self, pr: &PrId, req: &UpdateBranch) -> Result<Outcome<PullRequest>>;

    /// Marks a draft as ready (`draft` false), or a ready pull request as draft (`draft` true).
    ///
    /// # Behavior
    /// A request for the current state changes nothing and gives a warning.
    ///
    /// # Errors
    /// `precondition_failed` if the pull request is not open.
    async fn set_draft(&self, pr: &PrId, draft: bool) -> Result<Outcome<PullRequest>>;

    /// Locks or unlocks the conversation.
    ///
    /// # Behavior
    /// A request for the current state changes nothing and gives a warning. A lock with another
    /// reason replaces the reason; a lock without a reason keeps the current reason.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` if the viewer may not lock.
    async fn set_lock(&self, pr: &PrId, lock: Lock) -> Result<Outcome<PullRequest>>;

    /// Opens a pull request that reverts the merge of `pr`.
    ///
    /// # Behavior
    /// - The reverting commit is on a new branch from the base branch; the outcome has the new pull
    ///   request.
    /// - Branch and pull request are created together or not at all; a conflict changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` (not merged, conflicts with later changes, or nothing of the merge is
    /// left in the base branch); `already_exists` if the new branch's name is taken.
    async fn revert(&self, pr: &PrId, req: &RevertPull) -> Result<Outcome<PullRequest>>;

    /// Whether head and base can be merged now; changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` if the pull request is not open.
    async fn mergeability(&self, pr: &PrId) -> Result<Mergeability>;

    /// Requirements of the base branch of `pull`, reusing the data of [`PrFields::RULES`]; `None`
    /// if the forge has no branch rules.
    ///
    /// # Behavior
    /// Rules hidden from the viewer are named in [`BaseRules::unread`].
    ///
    /// # Errors
    /// A failed request is not an error, but leaves its rules unread.
    async fn base_rules(&self, pull: &PullRequest) -> Result<Option<BaseRules>>;

    /// Merges the pull request.
    ///
    /// # Behavior
    /// - Merges completely or not at all; a conflict changes nothing and names the files.
    /// - A pull request already merged at `expected_head` into `expected_base` answers
    ///   `already_merged`, and nothing is merged.
    /// - With [`MergeReq::only_left_over`] an unmerged pull request is refused.
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

    /// The diff, streamed.
    ///
    /// # Errors
    /// `not_found` if a needed commit no longer exists.
    async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff>;

    /// The changed files, by path.
    ///
    /// # Errors
    /// The errors of [`PullRequests::diff`].
    async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>>;

    /// Content of each path at a commit of the pull request, in the order of the paths.
    ///
    /// # Errors
    /// The errors of [`PullRequests::diff`].
    async fn contents(&self, pr: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>>;

    /// The commits, oldest first.
    ///
    /// # Errors
    /// The errors of [`PullRequests::diff`].
    async fn commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>>;

    /// The status history, oldest first.
    ///
    /// # Errors
    /// `not_found`.
    async fn history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>>;
}

/// Comments, reviews and threads.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// Adds a comment, or a reply to a comment. A reply to a thread's key is posted in that thread.
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

    /// The comments on the pull request (not those on lines), oldest first.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn comments(&self, pr: &PrId, page: PageReq) -> Result<Page<Comment>>;

    /// The submitted reviews, oldest first.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn reviews(&self, pr: &PrId, page: PageReq) -> Result<Page<Review>>;

    /// Submits a review: verdict, body and threads together.
    ///
    /// # Errors
    /// `invalid_input` (a missing body, or a line or file outside the diff); `precondition_failed`
    /// if the viewer opened the pull request and the verdict is not a comment, or if the pull
    /// request is closed or merged; `conflict` for a stale `expected_head`.
    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>>;

    /// Dismisses the review `key` ([`Review::id`]), so that its verdict no longer counts; `message`
    /// gives the reason.
    ///
    /// # Behavior
    /// Dismissing a dismissed review changes nothing and gives a warning.
    ///
    /// # Errors
    /// `invalid_input` (field `message`) for an empty or too long message; `not_found`;
    /// `precondition_failed` for a review without a verdict; `permission_denied`.
    async fn dismiss_review(&self, pr: &PrId, key: &str, message: &str) -> Result<Outcome<Review>>;

    /// The review threads, by time of their first comment.
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
    /// The newest check of each name on the head commit.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport>;

    /// The last `most` bytes of the log of one of [`Checks::checks`]; `None` for a check without a
    /// log, such as a commit status.
    ///
    /// # Errors
    /// `not_found` if the log is gone or does not exist yet.
    async fn check_log(&self, pr: &PrId, check: &Check, most: usize) -> Result<Option<CheckLog>>;

    /// For each of `checks`, in order, the reasons why the check failed: annotations on lines of
    /// files, else the failed step. `None` if the forge knows only [`Check::summary`].
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
    /// A page of issues, newest first.
    ///
    /// # Behavior
    /// - A page is filled up to its limit while there are matches, even if this program filters.
    /// - A malformed issue becomes a warning of the page, never an error of the list.
    ///
    /// # Errors
    /// `invalid_input` for a cursor of another query.
    async fn issues(&self, repo: &RepoId, query: &IssueQuery, page: PageReq)
    -> Result<Page<Issue>>;

    /// One issue with the sections that `fields` names.
    ///
    /// # Errors
    /// `not_found`, also for the number of a pull request; `protocol` if the stored issue is
    /// malformed.
    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue>;

    /// The issues of `ids` with their relations and the sections of `fields`. Related issues in the
    /// same answer are also returned, with their own relations.
    ///
    /// # Behavior
    /// - As few requests as the forge allows, for any number of `ids`.
    /// - An issue that cannot be read is in [`IssueSet::failed`].
    ///
    /// # Errors
    /// Fails only if no issue can be read.
    async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet>;

    /// Opens an issue, with labels and assignees.
    ///
    /// # Behavior
    /// Everything is checked before anything is written: title, labels, assignees.
    ///
    /// # Errors
    /// `invalid_input` (field `title`, `body`, `labels`, `assignees`).
    async fn create_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>>;

    /// Changes the fields set in `edit`.
    ///
    /// # Behavior
    /// - An edit that changes nothing gives a warning.
    /// - Adding a present label or removing an absent label is not an error.
    ///
    /// # Errors
    /// `invalid_input` (field `labels` for a missing label); `permission_denied` if the viewer may
    /// not change the issue.
    async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>>;

    /// Closes or reopens an issue, with an optional comment.
    ///
    /// # Behavior
    /// A request for the current state changes nothing, posts no comment, and gives a warning about
    /// the state and the comment.
    ///
    /// # Errors
    /// `permission_denied`.
    async fn set_issue_state(&self, issue: &IssueId, req: &SetIssueState)
    -> Result<Outcome<Issue>>;

    /// Comments on an issue.
    ///
    /// # Errors
    /// `invalid_input` for an empty or too long body.
    async fn comment_issue(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>>;

    /// Replaces the body of the comment `key` ([`Comment::id`]) on an issue.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for another account's comment; with
    /// [`IssueSwap`](crate::Capability::IssueSwap), `conflict` if `expected_version` is stale.
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

    /// Changes several issues like [`Issues::edit_issue`], in as few requests as the forge allows;
    /// results are in the order of `edits`.
    ///
    /// # Errors
    /// Fails only if no edit was tried; otherwise each edit has its own result.
    async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>>;

    /// Deletes an issue. Its number is never reused.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`.
    async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>>;

    /// Events of an issue, oldest first.
    ///
    /// # Errors
    /// `not_found`.
    async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>>;

    /// The fields of issues, with their possible values.
    ///
    /// # Errors
    /// `not_found` for the board.
    async fn issue_fields(&self, repo: &RepoId, board: Option<&BoardId>)
    -> Result<Vec<IssueField>>;

    /// Creates a field, or adds missing options to it; existing options stay.
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

    /// Links of a pull request or an issue to others, in both directions.
    ///
    /// # Behavior
    /// - References in code are ignored, and so are numbers without a pull request or an issue in
    ///   the same repository.
    /// - References to another repository are not looked up: such a link has no title and no state.
    /// - A direction that cannot be read, or that the forge does not record, gives a warning.
    ///
    /// # Errors
    /// `not_found` for the subject itself.
    async fn links(&self, subject: &Subject) -> Result<Links>;
}

/// Labels of a repository.
#[async_trait]
pub trait Labels: Send + Sync {
    /// The labels of the repository, by name.
    ///
    /// # Errors
    /// `not_found` for the repository.
    async fn labels(&self, repo: &RepoId, page: PageReq) -> Result<Page<Label>>;

    /// Defines a label, or changes one when `overwrite` is set.
    ///
    /// # Errors
    /// `already_exists`; `invalid_input` for a name that is empty or too long, or a bad colour.
    async fn define_label(&self, repo: &RepoId, label: &NewLabel) -> Result<Outcome<Label>>;

    /// Deletes a label from the repository, and so from its pull requests.
    ///
    /// # Errors
    /// `not_found`.
    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>>;
}

/// Files shown in descriptions and comments.
#[async_trait]
pub trait Attachments: Send + Sync {
    /// Uploads files and returns the URLs that texts can refer to, in the order of `files`.
    ///
    /// # Behavior
    /// A failed file does not stop the others: each has its own result. An upload is never
    /// repeated; if its answer is lost, the file stays on the forge unreferenced.
    ///
    /// # Errors
    /// Fails only if no file can be uploaded: `not_found` for the repository, `permission_denied`.
    async fn attach(
        &self,
        repo: &RepoId,
        files: &[NewAttachment],
    ) -> Result<Vec<Result<Attachment>>>;
}
