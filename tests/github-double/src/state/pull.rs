//! Pull requests.

use super::Id;

/// State of a pull request or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    /// Open.
    Open,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
}

impl PullState {
    /// Returns GitHub's name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closed => "CLOSED",
            Self::Merged => "MERGED",
        }
    }
}

/// Account or team whose review is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reviewer {
    /// A user or a bot.
    Account(Id),
    /// A team.
    Team(Id),
}

/// Computation of the merge state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lazy {
    /// The state must be computed again.
    Stale {
        /// Number of requests that read the state.
        reads: u32,
        /// The last request that read the state.
        request: u64,
    },
    /// The state is computed.
    Known,
}

/// Details of a completed merge.
#[derive(Debug, Clone)]
pub struct MergeInfo {
    /// The commit that the merge added to the base.
    pub commit: String,
    /// Account that merged.
    pub by: Id,
    /// Time of the merge.
    pub at: String,
}

/// An auto-merge: merges when every requirement is met.
#[derive(Debug, Clone)]
pub struct AutoMerge {
    /// Account that enabled auto-merge.
    pub by: Id,
    /// Time at which auto-merge was enabled.
    pub at: String,
    /// `MERGE`, `SQUASH` or `REBASE`.
    pub method: String,
    /// First line of the commit message.
    pub headline: Option<String>,
    /// Rest of the commit message.
    pub body: Option<String>,
    /// E-mail address of the commit's author.
    pub email: Option<String>,
}

/// An asynchronous merge.
#[derive(Debug, Clone)]
pub struct AsyncMerge {
    /// The requested pull request; those below it are merged first.
    pub pull: Id,
    /// `MERGE`, `SQUASH` or `REBASE`.
    pub method: String,
    /// First line of the commit message.
    pub headline: Option<String>,
    /// Rest of the commit message.
    pub body: Option<String>,
    /// True to bypass the rules that the viewer may bypass.
    pub bypass_rules: bool,
    /// How often the merge was polled while pending.
    pub polls: u32,
    /// Result: `merged`, or the reason of the failure.
    pub done: Option<Result<String, String>>,
}

/// A pull request.
#[derive(Debug, Clone)]
pub struct Pull {
    /// Number of the object.
    pub id: Id,
    /// The repository of the base branch.
    pub repo: Id,
    /// Number in the repository.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// True after an edit of body or title.
    pub edited: bool,
    /// Author of the pull request.
    pub author: Id,
    /// State of the pull request.
    pub state: PullState,
    /// True if the pull request is not ready for review.
    pub draft: bool,
    /// Name of the base branch.
    pub base_branch: String,
    /// Tip of the base; frozen when the pull request is closed or merged.
    pub base_oid: String,
    /// Repository of the head branch; `None` if it was deleted.
    pub head_repo: Option<Id>,
    /// Owner of the head branch.
    pub head_owner: Id,
    /// Name of the head branch.
    pub head_branch: String,
    /// Tip of the head.
    pub head_oid: String,
    /// Account that pushed the current head.
    pub pusher: Id,
    /// True if maintainers may push to the head branch.
    pub maintainer_can_modify: bool,
    /// Labels.
    pub labels: Vec<Id>,
    /// Assignees.
    pub assignees: Vec<Id>,
    /// Milestone.
    pub milestone: Option<Id>,
    /// Accounts and teams whose review is requested.
    pub requested: Vec<Reviewer>,
    /// Reason of a lock; the outer `None` means that the pull request is not locked.
    pub locked: Option<Option<String>>,
    /// Details of the merge, if merged.
    pub merge: Option<MergeInfo>,
    /// The auto-merge, if enabled.
    pub auto_merge: Option<AutoMerge>,
    /// Computation of the merge state.
    pub lazy: Lazy,
    /// Events of the pull request.
    pub events: Vec<Event>,
    /// Time of creation.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    /// Time of closing or merging.
    pub closed_at: Option<String>,
}

/// An event of a pull request or an issue.
#[derive(Debug, Clone)]
pub struct Event {
    /// Number of the event.
    pub id: Id,
    /// Account that acted.
    pub actor: Id,
    /// Time of the event.
    pub at: String,
    /// Kind of the event.
    pub kind: EventKind,
}

/// Kinds of events.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// Closed.
    Closed,
    /// Reopened.
    Reopened,
    /// Merged.
    Merged,
    /// Converted to draft.
    ConvertedToDraft,
    /// Marked as ready for review.
    ReadyForReview,
    /// The head branch was force-pushed from one commit to another.
    ForcePushed(String, String),
    /// The head branch was deleted.
    HeadDeleted,
    /// The title was changed from one to another.
    Renamed(String, String),
    /// The base was changed from one branch to another.
    BaseChanged(String, String),
    /// A label was added.
    Labeled(Id),
    /// A label was removed.
    Unlabeled(Id),
    /// An account was assigned.
    Assigned(Id),
    /// An account was unassigned.
    Unassigned(Id),
    /// An issue got a parent.
    ParentAdded(Id),
    /// An issue lost its parent.
    ParentRemoved(Id),
    /// An issue got a sub-issue.
    SubIssueAdded(Id),
    /// An issue lost a sub-issue.
    SubIssueRemoved(Id),
    /// An issue became blocked by another.
    BlockedByAdded(Id),
    /// An issue is no longer blocked by another.
    BlockedByRemoved(Id),
    /// An issue began to block another.
    BlockingAdded(Id),
    /// An issue stopped blocking another.
    BlockingRemoved(Id),
    /// The subject was added to a project.
    ProjectAdded(Id),
    /// The status on a project changed from the first to the second.
    StatusChanged(Id, String, String),
    /// A review was requested.
    ReviewRequested(Reviewer),
}

/// A stack of pull requests: each targets the head branch of the one below.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The repository of all the pull requests.
    pub repo: Id,
    /// Number among the stacks of the repository.
    pub number: u64,
    /// The pull requests, from the bottom to the top.
    pub pulls: Vec<Id>,
    /// Time of creation.
    pub created_at: String,
}
