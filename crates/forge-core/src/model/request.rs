use std::{fmt, hash::Hash};

use serde::{Deserialize, Serialize};

use super::{FileEdit, PrFields, PrState, PullRequest, Reviewer};
use crate::{Error, PrId, Result, Warning, text};

/// The head branch of a pull request, with its repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HeadRef {
    /// Owner of the head repository; `None` for the base repository.
    pub owner: Option<String>,
    /// Name of the head repository; `None` if it has the name of the base repository.
    pub repo: Option<String>,
    /// The branch.
    pub branch: String,
}

impl HeadRef {
    /// Refers to a branch of the base repository.
    pub fn branch(branch: impl Into<String>) -> Self {
        Self {
            owner: None,
            repo: None,
            branch: branch.into(),
        }
    }

    /// Refers to a branch of the fork owned by `owner`.
    pub fn in_fork(owner: impl Into<String>, branch: impl Into<String>) -> Self {
        Self {
            owner: Some(owner.into()),
            ..Self::branch(branch)
        }
    }
}

/// Prints `owner:branch`, `owner/name:branch`, or only the branch.
impl fmt::Display for HeadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.owner, &self.repo) {
            (Some(owner), Some(repo)) => write!(f, "{owner}/{repo}:{}", self.branch),
            (Some(owner), None) => write!(f, "{owner}:{}", self.branch),
            (None, _) => f.write_str(&self.branch),
        }
    }
}

/// A request to open a pull request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreatePull {
    /// Title: one line, not empty.
    pub title: String,
    /// Description as Markdown.
    pub description: String,
    /// The branch to merge into; `None` for the default branch.
    pub base: Option<String>,
    /// The branch with the changes. If `edits` are set, this is the name of the branch to create,
    /// on forges that need a branch. An empty name is replaced by one that is made from the title.
    pub head: HeadRef,
    /// Open the pull request as a draft.
    pub draft: bool,
    /// Label names in any case; each label must exist.
    pub labels: Vec<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: Vec<String>,
    /// Reviewers to request.
    pub reviewers: Vec<Reviewer>,
    /// Milestone, by title.
    pub milestone: Option<String>,
    /// Project boards, by title.
    pub projects: Vec<String>,
    /// Allow maintainers of the base repository to push to the head branch of a fork.
    pub maintainer_can_modify: bool,
    /// The changes as a patch from `git format-patch` or `git diff`. If a patch is set, `head` is
    /// the name of the branch to create, or is not used.
    pub patch: Option<Vec<u8>>,
    /// The changes as whole files on top of the base branch, for callers without a clone. Empty if
    /// the changes come from a branch or a patch.
    pub edits: Vec<FileEdit>,
    /// The pull request that this one is stacked on. It has to be merged before this one or
    /// together with it.
    pub depends_on: Option<PrId>,
}

impl CreatePull {
    /// Builds a request for the branch `head` with only a title.
    pub fn new(head: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: String::new(),
            base: None,
            head: HeadRef::branch(head),
            draft: false,
            labels: Vec::new(),
            assignees: Vec::new(),
            reviewers: Vec::new(),
            milestone: None,
            projects: Vec::new(),
            maintainer_can_modify: true,
            patch: None,
            edits: Vec::new(),
            depends_on: None,
        }
    }

    /// Checks the edits, and that the request has no other source of changes.
    ///
    /// # Errors
    /// `invalid_input`, with these fields:
    ///
    /// - `edits`: the errors of [`FileEdit::check`], or edits together with a patch or
    ///   `depends_on`,
    /// - `head`: a branch in another repository.
    pub fn check_edits(&self) -> Result<()> {
        if self.edits.is_empty() {
            return Ok(());
        }
        if self.patch.is_some() {
            return Err(Error::invalid(
                "edits",
                "the changes are given twice, as a patch and as edits of files",
            )
            .with_hint("pass either the patch or the edits"));
        }
        if self.depends_on.is_some() {
            return Err(Error::invalid(
                "edits",
                "edits of files are made on the base branch, and not on top of another pull request",
            )
            .with_hint("give the changes as a branch or as a patch"));
        }
        if self.head.owner.is_some() || self.head.repo.is_some() {
            return Err(Error::invalid(
                "head",
                "the branch for edits of files is made in the repository itself, and not in a fork",
            )
            .with_hint("name the new branch without an owner"));
        }
        FileEdit::check(&self.edits)
    }
}

/// A request to commit edits of files on top of an existing branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushEdits {
    /// Name of the branch.
    pub branch: String,
    /// Tip that the branch must have, as a full commit id.
    pub expected_head: String,
    /// Commit message. The first line is the headline.
    pub message: String,
    /// The new contents of whole files.
    pub edits: Vec<FileEdit>,
}

/// Result of committing edits to a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PushedCommit {
    /// Name of the branch.
    pub branch: String,
    /// Id of the commit, hex. Empty if the forge does not return it.
    pub oid: String,
}

impl PushedCommit {
    /// Builds the result for commit `oid`, now the tip of `branch`.
    pub fn new(branch: impl Into<String>, oid: impl Into<String>) -> Self {
        Self {
            branch: branch.into(),
            oid: oid.into(),
        }
    }
}

impl PushEdits {
    /// Builds a request for edits on top of `expected_head`, the tip of `branch`.
    pub fn new(
        branch: impl Into<String>,
        expected_head: impl Into<String>,
        message: impl Into<String>,
        edits: Vec<FileEdit>,
    ) -> Self {
        Self {
            branch: branch.into(),
            expected_head: expected_head.into(),
            message: message.into(),
            edits,
        }
    }

    /// Checks the request without reading the repository.
    ///
    /// # Errors
    /// `invalid_input`, with these fields:
    ///
    /// - `edits`: the errors of [`FileEdit::check`], or a request without edits,
    /// - `message`: a blank message.
    pub fn check(&self) -> Result<()> {
        if self.edits.is_empty() {
            return Err(Error::invalid("edits", "there is nothing to commit")
                .with_hint("pass the whole files that the commit changes"));
        }
        if self.message.trim().is_empty() {
            return Err(Error::invalid("message", "the commit has no message")
                .with_hint("describe the change in one line"));
        }
        FileEdit::check(&self.edits)
    }

    /// Splits the message into its first line and the rest.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        let message = self.message.trim();
        let (headline, body) = message.split_once('\n').unwrap_or((message, ""));
        (headline.trim(), body.trim())
    }
}

/// Elements to add to a set and to remove from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange<T> {
    /// Elements to add.
    pub add: Vec<T>,
    /// Elements to remove.
    pub remove: Vec<T>,
}

impl<T> Default for SetChange<T> {
    fn default() -> Self {
        Self {
            add: Vec::new(),
            remove: Vec::new(),
        }
    }
}

impl<T> SetChange<T> {
    /// Returns true if there is no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }
}

/// A request to change a pull request. Fields that are not set stay as they are.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EditPull {
    /// New title.
    pub title: Option<String>,
    /// New description.
    pub description: Option<String>,
    /// New base branch.
    pub base: Option<String>,
    /// Labels, by name.
    pub labels: SetChange<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: SetChange<String>,
    /// Reviewers.
    pub reviewers: SetChange<Reviewer>,
    /// Milestone, by title; `Some(None)` removes the milestone.
    pub milestone: Option<Option<String>>,
    /// Project boards, by title.
    pub projects: SetChange<String>,
    /// Refuse the edit unless [`PullRequest::version`](super::PullRequest::version) has this value.
    pub expected_version: Option<String>,
}

impl EditPull {
    /// Returns true if there is no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.description.is_none()
            && self.base.is_none()
            && self.labels.is_empty()
            && self.assignees.is_empty()
            && self.reviewers.is_empty()
            && self.milestone.is_none()
            && self.projects.is_empty()
    }
}

/// A request to submit another round of a pull request: a new version of its changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resubmit {
    /// The changes, as `git format-patch` or `git diff` writes them. `None` for the current changes
    /// of the head branch.
    pub patch: Option<Vec<u8>>,
    /// The new head branch. Set it if the pull request has no head branch, or if the branch should
    /// change. On forges where a round consists of commits, the branch must have these commits even
    /// if there is a `patch`.
    pub head: Option<String>,
    /// A comment to post on the new round.
    pub comment: Option<String>,
    /// Refuse the round unless [`PullRequest::version`](super::PullRequest::version) has this
    /// value.
    pub expected_version: Option<String>,
}

/// Reason for locking a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LockReason {
    /// Off topic.
    OffTopic,
    /// Resolved.
    Resolved,
    /// Spam.
    Spam,
    /// Too heated.
    TooHeated,
}

impl LockReason {
    /// All reasons, in the order for display.
    pub const ALL: [Self; 4] = [Self::OffTopic, Self::Resolved, Self::Spam, Self::TooHeated];

    /// Returns the name in lower case, as forges and the command line use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OffTopic => "off_topic",
            Self::Resolved => "resolved",
            Self::Spam => "spam",
            Self::TooHeated => "too_heated",
        }
    }
}

/// Desired lock state of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// Only accounts with write access can comment.
    Locked(Option<LockReason>),
    /// Everyone with access can comment.
    Unlocked,
}

/// A request for a pull request that reverts a merged one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevertPull {
    /// Title; `None` for the default `Revert "…"`.
    pub title: Option<String>,
    /// Description; `None` for a default that names the merged pull request.
    pub body: Option<String>,
    /// Open the pull request as a draft.
    pub draft: bool,
}

/// Method for bringing a head branch up to date with its base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateMethod {
    /// Adds a merge commit to the head branch.
    #[default]
    Merge,
    /// Rebases the head branch onto the base, which rewrites its history.
    Rebase,
}

/// A request to bring a head branch up to date with its base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateBranch {
    /// Method.
    pub method: UpdateMethod,
    /// Refuse the update unless the head is this commit (full id, hex).
    pub expected_head: Option<String>,
    /// Refuse the update unless this is the base branch.
    pub expected_base: Option<String>,
    /// Leave the files unchanged in work trees that have the head branch checked out. Only for
    /// forges that are git repositories on this machine.
    pub leave_checkout: bool,
}

impl UpdateBranch {
    /// Builds an update by `method`, for any head commit.
    #[must_use]
    pub fn by(method: UpdateMethod) -> Self {
        Self {
            method,
            ..Self::default()
        }
    }

    /// Sets the commit that the head must be.
    #[must_use]
    pub fn with_expected_head(mut self, oid: impl Into<String>) -> Self {
        self.expected_head = Some(oid.into());
        self
    }
}

/// A request to close a pull request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CloseReq {
    /// A comment to post when closing.
    pub comment: Option<String>,
    /// Delete the head branch after closing. A pull request that was closed before keeps its
    /// branch, with the warning [`Self::branch_kept_warning`].
    pub delete_branch: bool,
    /// Keep the head branch, with a warning, unless its tip is this commit (full id, hex).
    pub expected_head: Option<String>,
}

impl CloseReq {
    /// Returns the warning for a pull request that was closed before, if the deletion of its branch
    /// is requested. As in gh, such a request changes nothing: the branch can have other work by
    /// now.
    #[must_use]
    pub fn branch_kept_warning(&self, pull: &PullRequest) -> Option<Warning> {
        self.delete_branch.then(|| {
            Warning::new(format!(
                "the branch '{}' was not deleted: the pull request was closed before this call",
                text::one_line(&pull.head_branch)
            ))
            .with_hint("if its commits are not needed, delete the branch with git")
        })
    }
}

/// States of the pull requests in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateFilter {
    /// Open pull requests, including drafts.
    #[default]
    Open,
    /// Closed pull requests, merged or not, like `closed` in gh.
    Closed,
    /// Merged pull requests.
    Merged,
    /// All pull requests.
    All,
}

impl StateFilter {
    /// Returns true if the filter shows pull requests in `state`.
    #[must_use]
    pub fn shows(self, state: PrState) -> bool {
        match self {
            Self::Open => state == PrState::Open,
            Self::Closed => state != PrState::Open,
            Self::Merged => state == PrState::Merged,
            Self::All => true,
        }
    }
}

/// Query for pull requests. The result is sorted newest first, unless
/// [`prefers_updated`](Self::prefers_updated) is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PullQuery {
    /// Filters by state.
    pub state: StateFilter,
    /// Filters by the login of the author; `@me` is the viewer.
    pub author: Option<String>,
    /// Filters by the slug of the app that opened the pull request, without `app/`.
    pub app: Option<String>,
    /// Filters by the login of an assignee; `@me` is the viewer.
    pub assignee: Option<String>,
    /// Filters by labels; a pull request must have all of them.
    pub labels: Vec<String>,
    /// Filters by base branch.
    pub base: Option<String>,
    /// Filters by head branch.
    pub head: Option<String>,
    /// Selects only drafts if true, or no drafts if false.
    pub draft: Option<bool>,
    /// Words and qualifiers in GitHub's search syntax.
    pub search: Option<String>,
    /// Filters by changed files: at least one file must match one of these paths, directories or
    /// globs ([`PathFilter`](crate::PathFilter)).
    pub touches: Vec<String>,
    /// Sorts by the last update, newest first, on forges that can do so (GitHub). Other forges sort
    /// by creation.
    pub prefers_updated: bool,
    /// Sections (optional groups of fields) to read for each pull request.
    pub fields: PrFields,
}
