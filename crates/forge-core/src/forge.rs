//! The trait family that a backend implements.
//!
//! One trait per resource, so that a backend has one file per resource. Every method must be
//! written out: there are no default bodies, because a wrapper or a backend that forgets one would
//! compile and answer wrongly. What the forge cannot do is one line that returns
//! [`Error::unsupported`](crate::Error::unsupported), and a "no" in [`Capabilities`]; the two are
//! held together by the behaviour suite.
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
        NewIssue, NewLabel, NewReview, PrFields, PullQuery, PullRequest, PullScope, PullStatus,
        PullsAcross, PushEdits, PushedCommit, RepoInfo, Resubmit, RevertPull, Review,
        SetIssueState, StateFilter, StatusEvent, Subject, Thread, ThreadFilter, ThreadId,
        UpdateBranch,
    },
};

/// What a backend is.
#[derive(Clone, Debug)]
pub struct ForgeInfo {
    /// Which kind.
    pub kind: ForgeKind,
    /// Its host; empty for a local repository.
    pub host: String,
}

/// A forge: everything that the rest of the workspace asks of one.
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
    /// What it is.
    fn info(&self) -> &ForgeInfo;

    /// What this backend can ever do; a repository or the viewer's rights may allow less.
    fn capabilities(&self) -> &'static Capabilities;

    /// How many requests it is worth having in flight.
    fn concurrency(&self) -> NonZeroUsize;

    /// The address of a page of its web site; `None` where it has no such page.
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
    /// `not_found` when it does not exist or the viewer may not see it.
    async fn repo(&self, repo: &RepoId) -> Result<RepoInfo>;

    /// The branches with their tips, by name.
    ///
    /// # Errors
    /// As [`Repos::repo`].
    async fn branches(&self, repo: &RepoId, page: PageReq) -> Result<Page<Branch>>;

    /// The bytes of the file `path` at `at` (a branch, a tag or a commit; `None` is the default
    /// branch); `None` where there is no such file.
    ///
    /// # Errors
    /// As [`Repos::repo`]; `not_found` for `at`; `invalid_input` (field `path`) for a directory, or a
    /// file of more than [`MAX_REPO_FILE`](crate::limits::MAX_REPO_FILE) bytes.
    async fn repo_file(
        &self,
        repo: &RepoId,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<Vec<u8>>>;

    /// Commits edits of files on top of a branch that is there.
    ///
    /// # Behavior
    /// - The branch has to be at [`PushEdits::expected_head`], and is moved only from there.
    /// - Everything is checked before anything is written.
    ///
    /// # Errors
    /// As [`Repos::repo`]; `conflict` when the branch is elsewhere; `invalid_input` (field `edits`) for
    /// edits that do not fit what the branch has, (field `branch`) for one that there is not.
    async fn push_edits(&self, repo: &RepoId, req: &PushEdits) -> Result<Outcome<PushedCommit>>;

    /// Makes a fork of the repository for the viewer.
    ///
    /// # Behavior
    /// A fork that is there already is the answer. What it holds may follow a little later.
    ///
    /// # Errors
    /// `permission_denied` where it may not be forked.
    async fn fork(&self, repo: &RepoId) -> Result<Outcome<RepoId>>;

    /// Compares what the services of the forge answer with what this backend expects of them.
    ///
    /// # Behavior
    /// - Nothing is written. Without `live` nothing is sent either, and each entry is skipped.
    /// - What [`Self::repo`] and the other methods read anyway is not repeated here.
    /// - No text holds a credential.
    async fn examine(&self, repo: &RepoId, live: bool) -> Vec<Examined>;
}

/// Pull requests.
#[async_trait]
pub trait PullRequests: Send + Sync {
    /// Opens a pull request, with labels, assignees and reviewers.
    ///
    /// # Behavior
    /// - Everything is checked before anything is written: title, branches, labels.
    /// - `already_exists` when an open one has the same head and base; the error has its URL.
    /// - With [`CreatePull::edits`] the base branch gets one commit on top, with the title as its
    ///   message. Where that needs a branch, `head` names it and it must not be there; when opening
    ///   fails, it goes again or the error says that it is left.
    ///
    /// # Errors
    /// `invalid_input` (field `base`, `head`, `title`, `labels`, `edits`, …), `precondition_failed`
    /// with nothing to merge, `already_exists`.
    async fn create(&self, repo: &RepoId, req: &CreatePull) -> Result<Outcome<PullRequest>>;

    /// A page of pull requests, newest first.
    ///
    /// # Behavior
    /// - A page is filled up to its limit as long as there are matches, whatever filter runs where.
    /// - One that cannot be read becomes a warning of the page, never an error of the list.
    ///
    /// # Errors
    /// `invalid_input` for a cursor of another query or an unknown search qualifier.
    async fn list(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        page: PageReq,
    ) -> Result<Page<PullRequest>>;

    /// What each of `queries` finds in the repositories of `scope`: at most `limit` for each query and
    /// repository. The queries want the same sections.
    ///
    /// # Behavior
    /// - As few requests as the forge allows, at once where there are several.
    /// - A repository or an owner that cannot be read is in [`PullsAcross::failed`], and the rest is
    ///   right.
    ///
    /// # Errors
    /// When nothing can be read; as [`PullRequests::list`].
    async fn list_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross>;

    /// One pull request with the sections that `fields` names.
    ///
    /// # Behavior
    /// A section that cannot be read in full is reported in
    /// [`PullRequest::warnings`], and the rest is right.
    ///
    /// # Errors
    /// `not_found`; `protocol` when what is stored cannot be understood.
    async fn view(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest>;

    /// The pull requests of a head branch: open ones first, then newest first.
    ///
    /// # Errors
    /// None of its own: no match is an empty list. Where it cannot be told, because who may know of
    /// one did not answer, that failure.
    async fn find(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>>;

    /// What concerns the viewer; `head` is the current branch, if there is one.
    ///
    /// # Errors
    /// As [`Repos::viewer`].
    async fn status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus>;

    /// Changes what `edit` names, in one go.
    ///
    /// # Errors
    /// `invalid_input`; `conflict` when `expected_version` is not the current one.
    async fn edit(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>>;

    /// Submits another round of changes, where a pull request holds rounds and does not follow its
    /// branch.
    ///
    /// # Behavior
    /// - The rounds before stay as they are.
    /// - Submitting what the newest round has changes nothing and says so in a warning; a comment
    ///   that goes with it is said all the same, and is a step of the outcome.
    ///
    /// # Errors
    /// `permission_denied` for another's; `precondition_failed` when it is not open, or the head
    /// branch has nothing that the base has not; `invalid_input` (field `patch`) for what is no
    /// patch; `conflict` when it was changed in the meantime.
    async fn resubmit(&self, pr: &PrId, req: &Resubmit) -> Result<Outcome<PullRequest>>;

    /// Closes without merging.
    ///
    /// # Behavior
    /// Closing a closed one sets nothing and says so in a warning. The comment is made and the branch
    /// deleted all the same; they are steps of the outcome, which is not `unchanged`. A comment that
    /// is the newest one already is not made again. A head
    /// branch that is not at [`CloseReq::expected_head`] is kept, which is a warning.
    ///
    /// # Errors
    /// `precondition_failed` when it is merged; `invalid_input` when `expected_head` is no full object
    /// id.
    async fn close(&self, pr: &PrId, req: &CloseReq) -> Result<Outcome<PullRequest>>;

    /// Reopens, with a comment if one is given.
    ///
    /// # Behavior
    /// Reopening an open one sets nothing and says so in a warning; a comment is as for closing.
    ///
    /// # Errors
    /// `precondition_failed` when it is merged; `invalid_input` (field `head` or `base`) when a
    /// branch is gone.
    async fn reopen(&self, pr: &PrId, comment: Option<&str>) -> Result<Outcome<PullRequest>>;

    /// Brings the head branch up to date with the base branch.
    ///
    /// # Behavior
    /// - Nothing but the head branch changes; a conflict names the files, where the forge does, and
    ///   changes nothing.
    /// - One that has all of the base branch already is `unchanged`.
    ///
    /// # Errors
    /// `precondition_failed` (not open, conflicts); `conflict` when `expected_head` is not the head, or
    /// `expected_base` not the base branch; `permission_denied` when the viewer may not push to the head branch.
    async fn update_branch(&self, pr: &PrId, req: &UpdateBranch) -> Result<Outcome<PullRequest>>;

    /// Makes a draft ready (`draft` false) or a ready one a draft (`draft` true).
    ///
    /// # Behavior
    /// Asking for what it is already changes nothing and says so in a warning.
    ///
    /// # Errors
    /// `precondition_failed` when it is not open.
    async fn set_draft(&self, pr: &PrId, draft: bool) -> Result<Outcome<PullRequest>>;

    /// Locks the conversation, or unlocks it.
    ///
    /// # Behavior
    /// Asking for what it is already changes nothing and says so in a warning. A lock with another
    /// reason replaces the one before; a lock without a reason keeps it.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a viewer who may not.
    async fn set_lock(&self, pr: &PrId, lock: Lock) -> Result<Outcome<PullRequest>>;

    /// Opens a pull request that takes back what the merge of `pr` brought.
    ///
    /// # Behavior
    /// - The reverting commit is on a new branch on top of the base branch; the outcome has the new
    ///   pull request.
    /// - Either branch and pull request are made or neither; a conflict changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` (not merged, conflicts with what came after it, or nothing of it is left
    /// in the base branch); `already_exists` where the branch for it is there.
    async fn revert(&self, pr: &PrId, req: &RevertPull) -> Result<Outcome<PullRequest>>;

    /// Whether head and base can be merged now; changes nothing.
    ///
    /// # Errors
    /// `precondition_failed` when it is not open.
    async fn mergeability(&self, pr: &PrId) -> Result<Mergeability>;

    /// What the base branch of `pull` wants, with what [`PrFields::RULES`] has read of it already;
    /// `None` where a forge has no rules of branches.
    ///
    /// # Behavior
    /// What the viewer may not see is named in [`BaseRules::unread`].
    ///
    /// # Errors
    /// None of its own: a request that fails leaves rules unread.
    async fn base_rules(&self, pull: &PullRequest) -> Result<Option<BaseRules>>;

    /// Merges.
    ///
    /// # Behavior
    /// - Either all of it happens or nothing; a conflict names the files and changes nothing.
    /// - Merging a merged one answers `already_merged` and merges nothing, if it was merged at
    ///   `expected_head` into `expected_base`.
    /// - With [`MergeReq::only_left_over`] one that is not merged is refused.
    ///
    /// # Errors
    /// `precondition_failed` (draft, closed, conflicts, nothing to merge, a rule of the forge);
    /// `conflict` when `expected_head` is not the head, or `expected_base` not the base branch.
    async fn merge(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>>;

    /// Takes back a [`PullRequests::merge`] that was to happen later.
    ///
    /// # Errors
    /// `precondition_failed` when it does not wait to be merged.
    async fn cancel_merge(&self, pr: &PrId) -> Result<Outcome<PullRequest>>;

    /// The diff, streamed.
    ///
    /// # Errors
    /// `not_found` when a commit that it needs is gone.
    async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff>;

    /// The changed files, by path.
    ///
    /// # Errors
    /// As [`PullRequests::diff`].
    async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>>;

    /// What each of the paths has at a commit of the pull request, in their order.
    ///
    /// # Errors
    /// As [`PullRequests::diff`].
    async fn contents(&self, pr: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>>;

    /// The commits, oldest first.
    ///
    /// # Errors
    /// As [`PullRequests::diff`].
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
    /// Comments on the pull request, or answers a comment. The key of a thread answers that thread.
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
    /// `not_found`; `permission_denied` when it is not the viewer's.
    async fn edit_comment(&self, comment: &CommentId, body: &str) -> Result<Outcome<Comment>>;

    /// Deletes a comment.
    ///
    /// # Errors
    /// As [`Reviews::edit_comment`].
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
    /// `invalid_input` (no body where one is needed, a line or a file that is not in the diff);
    /// `precondition_failed` when the viewer opened the pull request and the verdict is not a
    /// comment, or when it is closed or merged; `conflict` for a stale `expected_head`.
    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>>;

    /// Dismisses the review `key` ([`Review::id`]), so that its verdict counts no longer; `message`
    /// says why.
    ///
    /// # Behavior
    /// Dismissing a dismissed one changes nothing and says so in a warning.
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

    /// Resolves a thread, or takes that back.
    ///
    /// # Errors
    /// `not_found` for the thread.
    async fn resolve_thread(&self, thread: &ThreadId, resolved: bool) -> Result<Outcome<Thread>>;
}

/// Checks.
#[async_trait]
pub trait Checks: Send + Sync {
    /// The checks of the head commit: for each name the newest.
    ///
    /// # Errors
    /// `not_found` for the pull request.
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport>;

    /// The end of the log of one of [`Checks::checks`], at most `most` bytes of it; `None` for a
    /// check that keeps no log, such as a commit status.
    ///
    /// # Errors
    /// `not_found` when its log is gone, or not there yet.
    async fn check_log(&self, pr: &PrId, check: &Check, most: usize) -> Result<Option<CheckLog>>;

    /// Why each of `checks` failed, in their order: the messages that it left at lines of files, else
    /// the step that failed. `None` where the forge knows no more than [`Check::summary`].
    ///
    /// # Errors
    /// As [`Checks::checks`].
    async fn check_reasons(&self, pr: &PrId, checks: &[&Check]) -> Result<Vec<Option<String>>>;

    /// Runs the failed and cancelled checks of the head commit again, and returns those.
    ///
    /// # Behavior
    /// - Without a failed check nothing is run, which is a warning.
    /// - A check that cannot be run again is named in a warning.
    ///
    /// # Errors
    /// As [`Checks::checks`]; `precondition_failed` when none of the failed ones can be run again;
    /// `permission_denied`.
    async fn rerun_failed_checks(&self, pr: &PrId) -> Result<Outcome<Vec<Check>>>;
}

/// Issues of a repository, and how they and pull requests refer to each other.
#[async_trait]
pub trait Issues: Send + Sync {
    /// A page of issues, newest first.
    ///
    /// # Behavior
    /// - A page is filled up to its limit as long as there are matches, whatever filter runs where.
    /// - One that cannot be read becomes a warning of the page, never an error of the list.
    ///
    /// # Errors
    /// `invalid_input` for a cursor of another query.
    async fn issues(&self, repo: &RepoId, query: &IssueQuery, page: PageReq)
    -> Result<Page<Issue>>;

    /// One issue with the sections that `fields` names.
    ///
    /// # Errors
    /// `not_found`, also for the number of a pull request; `protocol` when what is stored cannot be
    /// understood.
    async fn issue(&self, issue: &IssueId, fields: &IssueFields) -> Result<Issue>;

    /// The issues of `ids` with their relations, and with the sections of `fields`. The forge may
    /// give related ones along, which then have their relations too.
    ///
    /// # Behavior
    /// - As few requests as the forge allows, whatever the number of `ids`.
    /// - An issue that cannot be read is in [`IssueSet::failed`].
    ///
    /// # Errors
    /// When none can be read.
    async fn related_issues(&self, ids: &[IssueId], fields: &IssueFields) -> Result<IssueSet>;

    /// Opens an issue, with labels and assignees.
    ///
    /// # Behavior
    /// Everything is checked before anything is written: title, labels, assignees.
    ///
    /// # Errors
    /// `invalid_input` (field `title`, `body`, `labels`, `assignees`).
    async fn create_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>>;

    /// Changes what `edit` names.
    ///
    /// # Behavior
    /// - An edit that changes nothing says so in a warning.
    /// - A label that is on it already, or is to go and is not on it, is no failure.
    ///
    /// # Errors
    /// `invalid_input` (field `labels` for one that does not exist); `permission_denied` when it is
    /// not the viewer's to change.
    async fn edit_issue(&self, issue: &IssueId, edit: &EditIssue) -> Result<Outcome<Issue>>;

    /// Closes or reopens, with a comment if one is given.
    ///
    /// # Behavior
    /// Asking for the state that it has changes nothing, leaves no comment, and says both in warnings.
    ///
    /// # Errors
    /// `permission_denied` for somebody who may not.
    async fn set_issue_state(&self, issue: &IssueId, req: &SetIssueState)
    -> Result<Outcome<Issue>>;

    /// Comments.
    ///
    /// # Errors
    /// `invalid_input` for an empty or too long body.
    async fn comment_issue(&self, issue: &IssueId, body: &str) -> Result<Outcome<Comment>>;

    /// Replaces the body of the comment `key` ([`Comment::id`]) on an issue.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` when it is not the viewer's; `conflict` when the issue is no
    /// longer at `expected_version`, where the forge has [`IssueSwap`](crate::Capability::IssueSwap).
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
    /// As [`Issues::edit_issue_comment`].
    async fn delete_issue_comment(&self, issue: &IssueId, key: &str) -> Result<Outcome<()>>;

    /// Changes several issues, each as [`Issues::edit_issue`] does, in as few requests as the forge
    /// allows; the results are in the order of `edits`.
    ///
    /// # Errors
    /// When nothing was tried; else each edit has its own.
    async fn edit_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>>;

    /// Deletes an issue. Its number is not given to another one.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`.
    async fn delete_issue(&self, issue: &IssueId) -> Result<Outcome<()>>;

    /// What happened to an issue, oldest first.
    ///
    /// # Errors
    /// `not_found`.
    async fn issue_history(&self, issue: &IssueId, page: PageReq) -> Result<Page<StatusEvent>>;

    /// The fields that issues can have values in, with those values.
    ///
    /// # Errors
    /// `not_found` for the board.
    async fn issue_fields(&self, repo: &RepoId, board: Option<&BoardId>)
    -> Result<Vec<IssueField>>;

    /// Makes a field, or adds the options that it lacks; options that it has stay.
    ///
    /// # Errors
    /// `not_found` for the board; `permission_denied`; `invalid_input` when a field of that name is of
    /// another kind.
    async fn define_issue_field(
        &self,
        repo: &RepoId,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>>;

    /// How a pull request or an issue is linked with others, in both directions.
    ///
    /// # Behavior
    /// - What a text names counts outside of code, and where there is such a thing: a number of the
    ///   own repository that does not exist is no link.
    /// - Nothing is asked of another repository for the sake of a text that names it: such a link
    ///   has no title and no state.
    /// - A direction that cannot be read, or that the forge keeps no record of, is a warning.
    ///
    /// # Errors
    /// `not_found` for the subject itself.
    async fn links(&self, subject: &Subject) -> Result<Links>;
}

/// Labels of a repository.
#[async_trait]
pub trait Labels: Send + Sync {
    /// The labels that exist, by name.
    ///
    /// # Errors
    /// `not_found` for the repository.
    async fn labels(&self, repo: &RepoId, page: PageReq) -> Result<Page<Label>>;

    /// Defines a label, or changes one when `overwrite` is set.
    ///
    /// # Errors
    /// `already_exists`; `invalid_input` for a name that is empty or too long, or a bad colour.
    async fn define_label(&self, repo: &RepoId, label: &NewLabel) -> Result<Outcome<Label>>;

    /// Takes a label out of the repository; pull requests lose it.
    ///
    /// # Errors
    /// `not_found`.
    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>>;
}

/// Files that descriptions and comments show.
#[async_trait]
pub trait Attachments: Send + Sync {
    /// Uploads files, to be named in a text by the URLs that come back, in the order of `files`.
    ///
    /// # Behavior
    /// One that fails does not stop the others: each has an answer of its own. An upload is never
    /// repeated; one whose answer was lost is an orphan that nothing shows.
    ///
    /// # Errors
    /// When none can be uploaded: `not_found` for the repository, `permission_denied`.
    async fn attach(
        &self,
        repo: &RepoId,
        files: &[NewAttachment],
    ) -> Result<Vec<Result<Attachment>>>;
}
