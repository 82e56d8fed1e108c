use std::{fmt, hash::Hash};

use serde::{Deserialize, Serialize};

use super::{FileEdit, PrFields, PrState, Reviewer};
use crate::{Error, PrId, Result};

/// Where the changes are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeadRef {
    /// The owner of the head repository; `None` for the same repository.
    pub owner: Option<String>,
    /// The name of the head repository, where it may be another than that of the base's.
    pub repo: Option<String>,
    /// The branch.
    pub branch: String,
}

impl HeadRef {
    /// A branch of the same repository.
    pub fn branch(branch: impl Into<String>) -> Self {
        Self {
            owner: None,
            repo: None,
            branch: branch.into(),
        }
    }
}

/// `owner:branch`, `owner/name:branch`, or the branch alone.
impl fmt::Display for HeadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.owner, &self.repo) {
            (Some(owner), Some(repo)) => write!(f, "{owner}/{repo}:{}", self.branch),
            (Some(owner), None) => write!(f, "{owner}:{}", self.branch),
            (None, _) => f.write_str(&self.branch),
        }
    }
}

/// A pull request to open.
#[derive(Clone, Debug)]
pub struct CreatePull {
    /// One line, not empty.
    pub title: String,
    /// Markdown.
    pub description: String,
    /// The branch to change; `None` for the default branch.
    pub base: Option<String>,
    /// The branch with the changes; with `edits`, the name of the branch that is made for them
    /// where the forge needs one, empty for a name made from the title.
    pub head: HeadRef,
    /// Open it as a draft.
    pub draft: bool,
    /// Labels, by name without regard to case; each must exist.
    pub labels: Vec<String>,
    /// Assignees, by login; `@me` is the viewer.
    pub assignees: Vec<String>,
    /// Reviewers to ask.
    pub reviewers: Vec<Reviewer>,
    /// Milestone, by title.
    pub milestone: Option<String>,
    /// Project boards, by title.
    pub projects: Vec<String>,
    /// Let the base repository's maintainers push to a fork's head branch.
    pub maintainer_can_modify: bool,
    /// The changes themselves, as `git format-patch` or `git diff` writes them; then `head` is, as
    /// with `edits`, the name of the branch that is made for them, or not used.
    pub patch: Option<Vec<u8>>,
    /// The changes themselves, as whole files on top of the base branch: for a caller without a
    /// clone. Empty when the changes are on a branch or in a patch.
    pub edits: Vec<FileEdit>,
    /// The pull request that this one builds on: it is merged first, or together with this one.
    pub depends_on: Option<PrId>,
}

impl CreatePull {
    /// A pull request from `head` with this title and nothing more.
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

    /// Checks the edits, and that nothing beside them says what the changes are.
    ///
    /// # Errors
    /// `invalid_input` (field `edits`) as [`FileEdit::check`], with a patch too, or on top of another
    /// pull request; (field `head`) when the branch for them is to be in another repository.
    pub fn check_edits(&self) -> Result<()> {
        if self.edits.is_empty() {
            return Ok(());
        }
        if self.patch.is_some() {
            return Err(Error::invalid(
                "edits",
                "the changes are given twice, as a patch and as edits of files",
            )
            .with_hint("give one of them"));
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

/// Edits of files, as one commit on top of a branch that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushEdits {
    /// The branch.
    pub branch: String,
    /// The commit that the branch has to be at: its full id.
    pub expected_head: String,
    /// The message; its first line is the headline.
    pub message: String,
    /// The whole files.
    pub edits: Vec<FileEdit>,
}

/// A commit that was made on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushedCommit {
    /// The branch.
    pub branch: String,
    /// The commit, hex; empty where the forge does not say it.
    pub oid: String,
}

impl PushEdits {
    /// What can be said without looking at the repository.
    ///
    /// # Errors
    /// `invalid_input` (field `edits`) as [`FileEdit::check`], and for none; (field `message`) for one
    /// without text.
    pub fn check(&self) -> Result<()> {
        if self.edits.is_empty() {
            return Err(Error::invalid("edits", "there is nothing to commit")
                .with_hint("pass the whole files that the commit changes"));
        }
        if self.message.trim().is_empty() {
            return Err(Error::invalid("message", "the commit has no message")
                .with_hint("say in a line what it changes"));
        }
        FileEdit::check(&self.edits)
    }

    /// The first line of the message, and what is behind it.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        let message = self.message.trim();
        let (headline, body) = message.split_once('\n').unwrap_or((message, ""));
        (headline.trim(), body.trim())
    }
}

/// What to add to a set, and what to take out of it. Never a replacement of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetChange<T> {
    /// To add.
    pub add: Vec<T>,
    /// To remove.
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
    /// Nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }
}

/// Changes to a pull request; what is not named stays.
#[derive(Clone, Debug, Default)]
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
    /// `Some(None)` takes it off its milestone.
    pub milestone: Option<Option<String>>,
    /// Project boards, by title.
    pub projects: SetChange<String>,
    /// Refuse unless [`PullRequest::version`](super::PullRequest::version) is this.
    pub expected_version: Option<String>,
}

impl EditPull {
    /// Nothing to do.
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

/// Another round of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resubmit {
    /// The changes, as `git format-patch` or `git diff` writes them; `None` for what the head
    /// branch has now.
    pub patch: Option<Vec<u8>>,
    /// Another branch of the head repository than the one that the pull request names, or the first
    /// that is named at all. Where a round is commits on the forge, they are those of this branch
    /// there, also when there is a `patch`.
    pub head: Option<String>,
    /// A comment to leave on the new round.
    pub comment: Option<String>,
    /// Refuse unless [`PullRequest::version`](super::PullRequest::version) is this.
    pub expected_version: Option<String>,
}

/// Why a conversation is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockReason {
    /// It left its subject.
    OffTopic,
    /// It is settled.
    Resolved,
    /// It is spam.
    Spam,
    /// It is too heated.
    TooHeated,
}

impl LockReason {
    /// Every reason, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::OffTopic, Self::Resolved, Self::Spam, Self::TooHeated];

    /// The name, as a forge and the command line write it in lower case.
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

/// Whether a conversation is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// Those who may not write can no longer comment.
    Locked(Option<LockReason>),
    /// Everybody can comment who could before.
    Unlocked,
}

/// A pull request that takes a merged one back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevertPull {
    /// Its title; `None` for `Revert "…"`.
    pub title: Option<String>,
    /// Its description; `None` for one that names the merged pull request.
    pub body: Option<String>,
    /// Open it as a draft.
    pub draft: bool,
}

/// How to bring a head branch up to date with its base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateMethod {
    /// A merge commit on the head branch.
    #[default]
    Merge,
    /// Each commit of the head branch again on top of the base; the branch gets another history.
    Rebase,
}

/// A head branch to bring up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateBranch {
    /// How.
    pub method: UpdateMethod,
    /// Refuse unless the head is this commit (its full id, hex).
    pub expected_head: Option<String>,
    /// Refuse unless the base is this branch.
    pub expected_base: Option<String>,
    /// Leave the files of work trees that have the head checked out as they are, for a forge that
    /// lives in the repository.
    pub leave_checkout: bool,
}

/// How to close.
#[derive(Clone, Debug, Default)]
pub struct CloseReq {
    /// A comment to leave with it.
    pub comment: Option<String>,
    /// Delete the head branch afterwards.
    pub delete_branch: bool,
    /// Keep the head branch, with a warning, unless it is at this commit (its full id, hex).
    pub expected_head: Option<String>,
}

/// Which states a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateFilter {
    /// Open ones, drafts among them.
    #[default]
    Open,
    /// Closed ones, merged or not (gh's meaning of `closed`).
    Closed,
    /// Merged ones.
    Merged,
    /// All.
    All,
}

impl StateFilter {
    /// Whether `state` is one of those that it shows.
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

/// Which pull requests, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PullQuery {
    /// By state.
    pub state: StateFilter,
    /// By author's login; `@me` is the viewer.
    pub author: Option<String>,
    /// By the app that opened it: its slug, without `app/`.
    pub app: Option<String>,
    /// By assignee's login; `@me` is the viewer.
    pub assignee: Option<String>,
    /// By labels: all of them must be on it.
    pub labels: Vec<String>,
    /// By base branch.
    pub base: Option<String>,
    /// By head branch.
    pub head: Option<String>,
    /// Drafts alone, or none of them.
    pub draft: Option<bool>,
    /// Words and qualifiers, in GitHub's search syntax.
    pub search: Option<String>,
    /// By changed files, at least one of them: paths, directories or globs
    /// ([`PathFilter`](crate::PathFilter)).
    pub touches: Vec<String>,
    /// Sections that each row needs.
    pub fields: PrFields,
}
