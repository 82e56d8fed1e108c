use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::{Actor, LocalClone, PullRequest};
use crate::{Error, Precondition, Result, Timestamp};

/// How to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    /// A commit with two parents.
    Merge,
    /// One commit with all changes.
    Squash,
    /// Each commit, recreated on top of the base.
    Rebase,
}

impl MergeMethod {
    /// `merge`, `squash` or `rebase`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// Result of merging head and base in git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeState {
    /// No conflicts.
    Mergeable,
    /// Conflicts.
    Conflicting,
    /// The forge has not computed the state yet: retry.
    Unknown,
}

/// Result of a merge check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mergeability {
    /// State of head against base.
    pub state: MergeState,
    /// Status in the forge's words, upper case as on GitHub: `CLEAN`, `DIRTY`, `DRAFT`, `BLOCKED`,
    /// `BEHIND`, `UNSTABLE`, `HAS_HOOKS`, `UNKNOWN`.
    pub status: String,
    /// Conflicting paths, if the forge names them.
    pub conflicts: Vec<String>,
    /// The checked head commit, hex.
    pub head_oid: String,
    /// The checked base commit, hex.
    pub base_oid: String,
}

impl Mergeability {
    /// Builds a result without conflicting paths and without commit ids.
    pub fn new(state: MergeState, status: impl Into<String>) -> Self {
        Self {
            state,
            status: status.into(),
            conflicts: Vec::new(),
            head_oid: String::new(),
            base_oid: String::new(),
        }
    }
}

/// A merge that the forge makes once the requirements are met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AutoMerge {
    /// Method.
    pub method: MergeMethod,
    /// Account that enabled the automatic merge.
    pub enabled_by: Actor,
    /// Time of enabling, if known.
    pub enabled_at: Option<Timestamp>,
    /// First line of the commit message, if given.
    pub subject: Option<String>,
    /// Rest of the commit message, if given.
    pub body: Option<String>,
    /// E-mail address of the commit's author, if given.
    pub author_email: Option<String>,
}

impl AutoMerge {
    /// Builds a merge by `method` that `enabled_by` enabled, with the forge's own commit message.
    #[must_use]
    pub fn new(method: MergeMethod, enabled_by: Actor) -> Self {
        Self {
            method,
            enabled_by,
            enabled_at: None,
            subject: None,
            body: None,
            author_email: None,
        }
    }
}

/// A requested merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeReq {
    /// Method; `None` for the repository's default.
    pub method: Option<MergeMethod>,
    /// Refuse unless the pull request's [`head_id`](crate::model::PullRequest::head_id) has this
    /// value.
    pub expected_head: Option<String>,
    /// Refuse unless the base is this branch.
    pub expected_base: Option<String>,
    /// Refuse unless the pull request has this [`version`](crate::model::PullRequest::version), on
    /// forges where a record has the title and the message of the merge.
    pub expected_version: Option<String>,
    /// First line of the commit message, for merge and squash.
    pub subject: Option<String>,
    /// Rest of the commit message, for merge and squash.
    pub body: Option<String>,
    /// E-mail address of the merge or squash commit's author.
    pub author_email: Option<String>,
    /// Delete the head branch afterwards.
    pub delete_branch: bool,
    /// Let the forge merge once the requirements are met.
    pub auto: bool,
    /// Merge past unmet requirements.
    pub admin: bool,
    /// Do not merge: only finish an earlier merge of a merged pull request (its record, and the
    /// head branch with `delete_branch`), for callers who confirmed only that.
    pub only_left_over: bool,
    /// Do not update the files of work trees that have the base checked out, on forges that live in
    /// the repository.
    pub leave_checkout: bool,
    /// Do not wait for the forge to compute mergeability, because the caller already waited in
    /// vain.
    pub skip_wait: bool,
    /// A clone on this machine, for forges where a merge is a push.
    pub clone: Option<LocalClone>,
}

impl MergeReq {
    /// Checks a [`Self::subject`] before anything is read.
    ///
    /// # Errors
    /// `invalid_input` (field `subject`) for a blank subject, or one with several lines.
    pub fn check_subject(subject: &str) -> Result<()> {
        if subject.trim().is_empty() || subject.contains(['\n', '\r']) {
            return Err(
                Error::invalid("subject", "the subject is not one line of text")
                    .with_hint("give one line, and the rest as the body"),
            );
        }
        Ok(())
    }

    /// Checks that this request allows merging `pr`, which is not merged.
    ///
    /// # Errors
    /// `precondition_failed` if [`Self::only_left_over`] is set.
    pub fn may_merge(&self, pr: &impl Display) -> Result<()> {
        if !self.only_left_over {
            return Ok(());
        }
        Err(Error::precondition(
            Precondition::Open,
            format!("{pr} is not merged, and this call only finishes an earlier merge"),
        )
        .with_hint("check whether somebody has reopened it"))
    }
}

/// Result of a merge, new or earlier.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Merge {
    /// The pull request after the merge.
    pub pull_request: PullRequest,
    /// The resulting commit of the base branch, hex.
    pub commit: Option<String>,
    /// Method.
    pub method: Option<MergeMethod>,
    /// The merge happened before this call, which then changed nothing.
    pub already_merged: bool,
    /// The merge happens later (automatically, or by a queue).
    pub queued: bool,
    /// Position in the merge queue, from 1, if the pull request entered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
    /// The head branch was deleted.
    pub branch_deleted: bool,
}

impl Merge {
    /// Returns a merge of `pull_request` by this call, without commit and method.
    #[must_use]
    pub fn of(pull_request: PullRequest) -> Self {
        Self {
            pull_request,
            commit: None,
            method: None,
            already_merged: false,
            queued: false,
            queue_position: None,
            branch_deleted: false,
        }
    }
}
