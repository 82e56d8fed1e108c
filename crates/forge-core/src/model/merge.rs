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
    /// Each commit again on top of the base.
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

/// Whether head and base can be merged by git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeState {
    /// They can.
    Mergeable,
    /// They conflict.
    Conflicting,
    /// The forge has not worked it out yet: ask again.
    Unknown,
}

/// What a merge would meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mergeability {
    /// Head against base.
    pub state: MergeState,
    /// The forge's status word, upper case as GitHub writes it: `CLEAN`, `DIRTY`, `DRAFT`,
    /// `BLOCKED`, `BEHIND`, `UNSTABLE`, `HAS_HOOKS`, `UNKNOWN`.
    pub status: String,
    /// Conflicting paths, where the forge names them.
    pub conflicts: Vec<String>,
    /// The head that was checked, hex.
    pub head_oid: String,
    /// The base that was checked, hex.
    pub base_oid: String,
}

/// A merge that happens by itself once the requirements are met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AutoMerge {
    /// The method.
    pub method: MergeMethod,
    /// Who asked for it.
    pub enabled_by: Actor,
    /// When, where that is known.
    pub enabled_at: Option<Timestamp>,
    /// First line of the commit message, where it was given.
    pub subject: Option<String>,
    /// The rest of the commit message, where it was given.
    pub body: Option<String>,
    /// The author's e-mail address of the commit, where it was given.
    pub author_email: Option<String>,
}

/// A merge to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeReq {
    /// The method; `None` for the repository's default.
    pub method: Option<MergeMethod>,
    /// Refuse unless the head has this id ([`PullRequest::head_id`](crate::model::PullRequest::head_id)).
    pub expected_head: Option<String>,
    /// Refuse unless the base is this branch.
    pub expected_base: Option<String>,
    /// First line of the commit message, for merge and squash.
    pub subject: Option<String>,
    /// The rest of the commit message, for merge and squash.
    pub body: Option<String>,
    /// The author's e-mail address of the merge or squash commit.
    pub author_email: Option<String>,
    /// Delete the head branch afterwards.
    pub delete_branch: bool,
    /// Merge by itself once the requirements are met.
    pub auto: bool,
    /// Merge past unmet requirements.
    pub admin: bool,
    /// Merge nothing: of one that is merged already, do what its merge left over (a record, the
    /// head branch with `delete_branch`). For callers who agreed to that alone.
    pub only_left_over: bool,
    /// Leave the files of work trees that have the base checked out as they are, for a forge that
    /// lives in the repository.
    pub leave_checkout: bool,
    /// Do not wait for the forge to work out whether it can be merged, since the caller has waited
    /// in vain.
    pub skip_wait: bool,
    /// A clone on this machine, for forges where a merge is a push.
    pub clone: Option<LocalClone>,
}

impl MergeReq {
    /// To be asked of a [`Self::subject`] before anything is looked at.
    ///
    /// # Errors
    /// `invalid_input` (field `subject`) for one that is blank, or has several lines.
    pub fn check_subject(subject: &str) -> Result<()> {
        if subject.trim().is_empty() || subject.contains(['\n', '\r']) {
            return Err(
                Error::invalid("subject", "the subject is not one line of text")
                    .with_hint("give one line, and the rest as the body"),
            );
        }
        Ok(())
    }

    /// To be asked before `pr`, which is not merged, is merged.
    ///
    /// # Errors
    /// `precondition_failed` where [`Self::only_left_over`] was asked for.
    pub fn may_merge(&self, pr: &impl Display) -> Result<()> {
        if !self.only_left_over {
            return Ok(());
        }
        Err(Error::precondition(
            Precondition::Open,
            format!("{pr} is not merged, and only what a merge leaves over was to be done"),
        )
        .with_hint("somebody may have opened it again: look at it once more"))
    }
}

/// A merge that was made, or was there.
#[derive(Clone, Debug, Serialize)]
pub struct Merge {
    /// The pull request afterwards.
    pub pull_request: PullRequest,
    /// The commit that the base branch points to because of it, hex.
    pub commit: Option<String>,
    /// The method.
    pub method: Option<MergeMethod>,
    /// It was merged before this call, which changed nothing.
    pub already_merged: bool,
    /// It will be merged later (automatically, or by a queue).
    pub queued: bool,
    /// Its place in the merge queue, where it was put into one; the first is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
    /// The head branch was deleted.
    pub branch_deleted: bool,
}
