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
    /// GitHub's name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closed => "CLOSED",
            Self::Merged => "MERGED",
        }
    }
}

/// Account or team asked for a review.
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
    /// The state must be computed anew.
    Stale {
        /// Requests that read it.
        reads: u32,
        /// The last request that read it.
        request: u64,
    },
    /// The state is computed.
    Known,
}

/// How a pull request was merged.
#[derive(Debug, Clone)]
pub struct MergeInfo {
    /// The commit that brought it into the base.
    pub commit: String,
    /// Account that merged.
    pub by: Id,
    /// When.
    pub at: String,
}

/// A merge that happens once every requirement is met.
#[derive(Debug, Clone)]
pub struct AutoMerge {
    /// Account that enabled auto-merge.
    pub by: Id,
    /// When.
    pub at: String,
    /// `MERGE`, `SQUASH` or `REBASE`.
    pub method: String,
    /// First line of the commit message.
    pub headline: Option<String>,
    /// Rest of the commit message.
    pub body: Option<String>,
    /// Author's address of the commit.
    pub email: Option<String>,
}

/// A merge that runs after it was asked for.
#[derive(Debug, Clone)]
pub struct AsyncMerge {
    /// The pull request that was named; those below it are merged first.
    pub pull: Id,
    /// `MERGE`, `SQUASH` or `REBASE`.
    pub method: String,
    /// First line of the commit message.
    pub headline: Option<String>,
    /// Rest of the commit message.
    pub body: Option<String>,
    /// Past the rules, where the viewer may.
    pub bypass_rules: bool,
    /// How often it was asked about while it was pending.
    pub polls: u32,
    /// Result: `merged`, or why it failed.
    pub done: Option<Result<String, String>>,
}

/// A pull request.
#[derive(Debug, Clone)]
pub struct Pull {
    /// Number of the object.
    pub id: Id,
    /// The repository it wants to change.
    pub repo: Id,
    /// Number in the repository.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// True once the body or title was edited.
    pub edited: bool,
    /// Author of the pull request.
    pub author: Id,
    /// State of the pull request.
    pub state: PullState,
    /// Not ready for review.
    pub draft: bool,
    /// Branch it wants to change.
    pub base_branch: String,
    /// Tip of the base; frozen when the pull request ends.
    pub base_oid: String,
    /// Repository that holds the head branch, `None` when it was deleted.
    pub head_repo: Option<Id>,
    /// Owner of the head branch.
    pub head_owner: Id,
    /// Name of the head branch.
    pub head_branch: String,
    /// Tip of the head.
    pub head_oid: String,
    /// Account that pushed the tip.
    pub pusher: Id,
    /// Maintainers may push to the head branch.
    pub maintainer_can_modify: bool,
    /// Labels.
    pub labels: Vec<Id>,
    /// Assignees.
    pub assignees: Vec<Id>,
    /// Milestone.
    pub milestone: Option<Id>,
    /// Accounts and teams asked for a review.
    pub requested: Vec<Reviewer>,
    /// A lock, and its reason.
    pub locked: Option<Option<String>>,
    /// How it was merged.
    pub merge: Option<MergeInfo>,
    /// A merge to come.
    pub auto_merge: Option<AutoMerge>,
    /// Computation of the merge state.
    pub lazy: Lazy,
    /// Events of the pull request.
    pub events: Vec<Event>,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it was closed or merged.
    pub closed_at: Option<String>,
}

/// Something that happened to a pull request or an issue.
#[derive(Debug, Clone)]
pub struct Event {
    /// Number of the event.
    pub id: Id,
    /// Account that acted.
    pub actor: Id,
    /// When.
    pub at: String,
    /// Kind of the event.
    pub kind: EventKind,
}

/// Kinds of events.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// Closed.
    Closed,
    /// Opened again.
    Reopened,
    /// Merged.
    Merged,
    /// Taken back to draft.
    ConvertedToDraft,
    /// Made ready.
    ReadyForReview,
    /// The head branch was forced from one commit to another.
    ForcePushed(String, String),
    /// The head branch was deleted.
    HeadDeleted,
    /// The title was changed from one to another.
    Renamed(String, String),
    /// The base was changed from one branch to another.
    BaseChanged(String, String),
    /// A label was added.
    Labeled(Id),
    /// A label was taken away.
    Unlabeled(Id),
    /// An account was assigned.
    Assigned(Id),
    /// An account was unassigned.
    Unassigned(Id),
    /// An issue got a parent.
    ParentAdded(Id),
    /// An issue lost its parent.
    ParentRemoved(Id),
    /// An issue got a part.
    SubIssueAdded(Id),
    /// An issue lost a part.
    SubIssueRemoved(Id),
    /// An issue waits for another.
    BlockedByAdded(Id),
    /// An issue waits for another no more.
    BlockedByRemoved(Id),
    /// An issue blocked by this one was added.
    BlockingAdded(Id),
    /// An issue blocked by this one was removed.
    BlockingRemoved(Id),
    /// The subject was put onto a project.
    ProjectAdded(Id),
    /// The status on a project changed from the first to the second.
    StatusChanged(Id, String, String),
    /// A review was asked for.
    ReviewRequested(Reviewer),
}

/// A stack of pull requests: each targets the head branch of the one below.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The repository of all of them.
    pub repo: Id,
    /// Number among the stacks of the repository.
    pub number: u64,
    /// The pull requests, from the bottom to the top.
    pub pulls: Vec<Id>,
    /// When it was made.
    pub created_at: String,
}
