//! The domain model: types for pull requests, issues, reviews and checks, the same for every forge.
//!
//! Field names are in `snake_case` and are the same in Rust, MCP and docs. The CLI's `--json` maps
//! them to the camelCase names of gh. Times are [`Timestamp`](crate::Timestamp)s. Object ids are
//! full hex. Text fields contain the unchanged text of the forge, so pass them through
//! [`crate::text`] before printing them to a terminal.
//!
//! Terms in the comments of this module:
//!
//! - A record is an atproto document. Tangled stores pull requests and issues as records.
//! - The index is the service that collects these records and displays them. It may lag behind.
//! - A round is one submitted version of a pull request on tangled. On other forges, a pull request
//!   has no rounds, because it follows its head branch.
//! - A stack is a series of pull requests. Each of them depends on the one below it.
//! - The viewer is the account that the credentials belong to.
//! - A section is a group of fields that is read only on request, such as the comments or the
//!   checks. [`PrFields`] and [`IssueFields`] select sections.
//! - A locator is a text that names a repository, a pull request or an issue. See
//!   [`crate::locator`].

mod across;
mod actor;
mod attachment;
mod base_rules;
mod board;
mod change;
mod check;
mod comment;
mod event;
mod examined;
mod file_edit;
mod head_matches;
mod issue;
mod label;
mod links;
mod merge;
mod pull;
mod repo;
mod request;
mod review;

pub use across::{PullScope, PullsAcross};
pub use actor::{Actor, Reviewer};
pub use attachment::{Attachment, NewAttachment};
pub use base_rules::{BaseRule, BaseRuleKind, BaseRules, QueuePlace, RuleSource, UnreadRules};
pub use board::{BoardId, Milestone, ProjectItem, ProjectStatus};
pub use change::{
    ByteStream, ChangedCommit, Commit, ContentsReq, Diff, DiffFormat, DiffReq, FileChange,
    FileContent, FileStatus, HeadChange, LocalClone, Rounds, Signature, SinceHead,
};
pub use check::{Check, CheckCounts, CheckLog, CheckRollup, CheckStatus, ChecksReport};
pub use comment::{Comment, CommentId};
pub use event::{StatusEvent, StatusEventKind};
pub use examined::{Examined, ExaminedVerdict};
pub use file_edit::FileEdit;
pub use head_matches::{BranchClaim, HeadMatches, UnprovenPull};
pub use issue::{
    ClosingPull, EditIssue, Issue, IssueDetails, IssueField, IssueFields, IssueFilter, IssueId,
    IssueQuery, IssueReason, IssueRelations, IssueSet, IssueState, IssueType, NewIssue,
    RelatedIssue, SetIssueState, SubIssuesSummary,
};
pub use label::{Label, NewLabel};
pub use links::{Link, LinkState, Links, Subject, SubjectKind};
pub use merge::{AutoMerge, Merge, MergeFacts, MergeMethod, MergeReq, MergeState, Mergeability};
pub use pull::{LinkedIssue, PrFields, PrState, PullRequest, PullStatus, RecordIngestion};
pub use repo::{Branch, DirectoryEntry, PathContent, Permission, RepoInfo, RepoNode};
pub use request::{
    CloseReq, CreatePull, EditPull, HeadRef, Lock, LockReason, PullQuery, PushEdits, PushedCommit,
    Resubmit, RevertPull, SetChange, StateFilter, UpdateBranch, UpdateMethod,
};
pub use review::{
    NewReview, NewThread, PendingReview, Review, ReviewCounts, ReviewDecision, ReviewState, Side,
    Thread, ThreadFilter, ThreadId, Verdict, fold_review,
};
