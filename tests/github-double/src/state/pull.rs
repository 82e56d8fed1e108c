//! Pull requests.

use super::Id;

/// State of a pull request or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    /// The subject is open.
    Open,
    /// The subject was closed without a merge.
    Closed,
    /// The pull request was merged.
    Merged,
}

impl PullState {
    /// Returns GitHub's name for the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closed => "CLOSED",
            Self::Merged => "MERGED",
        }
    }
}

/// An account or team from which a review is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reviewer {
    /// A user or a bot, by account number.
    Account(Id),
    /// A team, by its number.
    Team(Id),
}

/// Cache state of a pull request's merge state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lazy {
    /// The state has changed, so that requests may still read `UNKNOWN`.
    Stale {
        /// Number of requests that have read the state since the change.
        reads: u32,
        /// Number of the last request that read the state.
        request: u64,
    },
    /// The state is computed, so that requests read it.
    Known,
}

/// Details of a completed merge.
#[derive(Debug, Clone)]
pub struct MergeInfo {
    /// The commit that the merge created on the base branch.
    pub commit: String,
    /// Account that merged the pull request.
    pub by: Id,
    /// Time of the merge.
    pub at: String,
}

/// An enabled auto-merge, which merges once every requirement is met.
#[derive(Debug, Clone)]
pub struct AutoMerge {
    /// Account that enabled auto-merge.
    pub by: Id,
    /// Time at which auto-merge was enabled.
    pub at: String,
    /// Merge method: `MERGE`, `SQUASH` or `REBASE`.
    pub method: String,
    /// First line of the commit message.
    pub headline: Option<String>,
    /// Rest of the commit message.
    pub body: Option<String>,
    /// E-mail address of the commit's author.
    pub email: Option<String>,
}

/// An asynchronous merge, which clients poll.
#[derive(Debug, Clone)]
pub struct AsyncMerge {
    /// The pull request to merge. Those below it in the stack are merged first.
    pub pull: Id,
    /// Merge method: `MERGE`, `SQUASH` or `REBASE`.
    pub method: String,
    /// First line of the commit message.
    pub headline: Option<String>,
    /// Rest of the commit message.
    pub body: Option<String>,
    /// True to bypass the rules that the viewer may bypass.
    pub bypass_rules: bool,
    /// Number of polls while the merge was pending.
    pub polls: u32,
    /// Result of the merge: `merged` or the reason for the failure. `None` while it is pending.
    pub done: Option<Result<String, String>>,
}

/// A pull request, with its state in the base repository.
#[derive(Debug, Clone)]
pub struct Pull {
    /// Number of the object, unique in the double.
    pub id: Id,
    /// The repository of the base branch.
    pub repo: Id,
    /// Number of the pull request in its repository.
    pub number: u64,
    /// Title of the pull request.
    pub title: String,
    /// Body of the pull request.
    pub body: String,
    /// True if the body or the title was edited.
    pub edited: bool,
    /// Author of the pull request.
    pub author: Id,
    /// State of the pull request.
    pub state: PullState,
    /// True if the pull request is not ready for review.
    pub draft: bool,
    /// Name of the base branch, without the repository.
    pub base_branch: String,
    /// Tip of the base branch. It no longer changes once the pull request is closed or merged.
    pub base_oid: String,
    /// Repository of the head branch; `None` if the repository was deleted.
    pub head_repo: Option<Id>,
    /// Account that owns the head branch's repository.
    pub head_owner: Id,
    /// Name of the head branch, without the owner.
    pub head_branch: String,
    /// Tip of the head branch.
    pub head_oid: String,
    /// Account that pushed the current head.
    pub pusher: Id,
    /// True if maintainers may push to the head branch.
    pub maintainer_can_modify: bool,
    /// Labels of the pull request.
    pub labels: Vec<Id>,
    /// Assignees of the pull request.
    pub assignees: Vec<Id>,
    /// Milestone of the pull request.
    pub milestone: Option<Id>,
    /// Accounts and teams from which a review is requested.
    pub requested: Vec<Reviewer>,
    /// Reason for locking the pull request. The outer `None` means that it is not locked.
    pub locked: Option<Option<String>>,
    /// Details of the merge; `None` if the pull request is not merged.
    pub merge: Option<MergeInfo>,
    /// The auto-merge; `None` if it is not enabled.
    pub auto_merge: Option<AutoMerge>,
    /// Progress of the merge state's computation.
    pub lazy: Lazy,
    /// Events of the pull request.
    pub events: Vec<Event>,
    /// Time at which the pull request was opened.
    pub created_at: String,
    /// Time of the pull request's last change.
    pub updated_at: String,
    /// Time at which the pull request was closed or merged.
    pub closed_at: Option<String>,
}

/// An event of a pull request or an issue.
#[derive(Debug, Clone)]
pub struct Event {
    /// Number of the event.
    pub id: Id,
    /// Account that caused the event.
    pub actor: Id,
    /// Time of the event.
    pub at: String,
    /// Kind of the event.
    pub kind: EventKind,
}

/// Kind of an event of a pull request or an issue.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// The subject was closed.
    Closed,
    /// The subject was reopened.
    Reopened,
    /// The pull request was merged.
    Merged,
    /// The pull request was converted to a draft.
    ConvertedToDraft,
    /// The pull request was marked as ready for review.
    ReadyForReview,
    /// The head branch was force-pushed from the first commit to the second.
    ForcePushed(String, String),
    /// The head branch was deleted.
    HeadDeleted,
    /// The title was changed from the first text to the second.
    Renamed(String, String),
    /// The base branch was changed from the first name to the second.
    BaseChanged(String, String),
    /// The label was added.
    Labeled(Id),
    /// The label was removed.
    Unlabeled(Id),
    /// The account was assigned.
    Assigned(Id),
    /// The account was unassigned.
    Unassigned(Id),
    /// The issue got this parent.
    ParentAdded(Id),
    /// The issue lost this parent.
    ParentRemoved(Id),
    /// The issue got this sub-issue.
    SubIssueAdded(Id),
    /// The issue lost this sub-issue.
    SubIssueRemoved(Id),
    /// Another issue now blocks this issue.
    BlockedByAdded(Id),
    /// Another issue no longer blocks this issue.
    BlockedByRemoved(Id),
    /// The issue now blocks another issue.
    BlockingAdded(Id),
    /// The issue no longer blocks another issue.
    BlockingRemoved(Id),
    /// The subject was added to this project.
    ProjectAdded(Id),
    /// The subject's status on this project was changed from the first name to the second.
    StatusChanged(Id, String, String),
    /// A review was requested from this account or team.
    ReviewRequested(Reviewer),
}

/// A stack of pull requests. Each targets the head branch of the one below it.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The repository of all pull requests in the stack.
    pub repo: Id,
    /// Number of the stack in its repository.
    pub number: u64,
    /// The pull requests, from bottom to top.
    pub pulls: Vec<Id>,
    /// Time at which the stack was created.
    pub created_at: String,
}
