//! State of the double: structs in maps by object number, behind one lock.

mod account;
mod checks;
mod issue;
mod project;
mod pull;
mod repo;
mod review;
mod rules;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
};

pub(crate) use account::POINTS_AN_HOUR;
pub use account::{Account, AccountKind, Permission, Team, Token};
pub use checks::{CheckRun, CheckSuite, CommitStatus};
pub use issue::{Comment, Issue, IssueType, Label, Milestone, Reaction};
pub use project::{FieldOption, Project, ProjectField, ProjectItem};
pub use pull::{
    AsyncMerge, AutoMerge, Event, EventKind, Lazy, MergeInfo, Pull, PullState, Reviewer, Stack,
};
pub use repo::{Protection, Repo};
pub use review::{Review, ReviewComment, ReviewState, Thread};
pub use rules::{Bypass, Enforcement, Rule, Ruleset};
pub(crate) use rules::{Source, Wanted};

use super::git::{CommitInfo, DiffSummary};

/// Number of an object, unique among all objects of a double.
pub type Id = u64;

/// All objects and settings of the double.
#[derive(Debug, Default)]
pub struct State {
    /// Directory that contains the bare repositories.
    pub root: PathBuf,
    /// Users, organisations and bots, by number.
    pub accounts: BTreeMap<Id, Account>,
    /// Teams of organisations, by number.
    pub teams: BTreeMap<Id, Team>,
    /// Access tokens, by their text.
    pub tokens: HashMap<String, Token>,
    /// Repositories, by number.
    pub repos: BTreeMap<Id, Repo>,
    /// Renamed repositories by their former name, which is `owner/name` in lower case.
    pub moved: BTreeMap<String, Id>,
    /// Pull requests, by object number.
    pub pulls: BTreeMap<Id, Pull>,
    /// Issues, by object number.
    pub issues: BTreeMap<Id, Issue>,
    /// Labels, by number.
    pub labels: BTreeMap<Id, Label>,
    /// Milestones, by number.
    pub milestones: BTreeMap<Id, Milestone>,
    /// Issue types, by number.
    pub issue_types: BTreeMap<Id, IssueType>,
    /// Comments on issues and pull requests, by number. Comments in review threads are separate.
    pub comments: BTreeMap<Id, Comment>,
    /// Reviews, by number.
    pub reviews: BTreeMap<Id, Review>,
    /// Review threads, by number.
    pub threads: BTreeMap<Id, Thread>,
    /// Comments in review threads, by number.
    pub review_comments: BTreeMap<Id, ReviewComment>,
    /// Reactions, by the number of the object that has them.
    pub reactions: BTreeMap<Id, Vec<Reaction>>,
    /// Check suites, by number.
    pub suites: BTreeMap<Id, CheckSuite>,
    /// Check runs, by number.
    pub runs: BTreeMap<Id, CheckRun>,
    /// Logs of jobs, by the number of the check run.
    pub logs: BTreeMap<Id, String>,
    /// Commit statuses, by number.
    pub statuses: BTreeMap<Id, CommitStatus>,
    /// Projects, by object number.
    pub projects: BTreeMap<Id, Project>,
    /// Project items, by number.
    pub items: BTreeMap<Id, ProjectItem>,
    /// Uploaded files, in the order of their numbers.
    pub assets: Vec<Asset>,
    /// Pull requests in merge queues, in the order of merging.
    pub queue: Vec<Id>,
    /// Commits with a verified signature, in all repositories.
    pub signed: BTreeSet<String>,
    /// Successful deployments, as pairs of environment and commit.
    pub deployed: BTreeSet<(String, String)>,
    /// Stacks of pull requests, oldest first.
    pub stacks: Vec<Stack>,
    /// True if stacks are disabled in all repositories.
    pub stacks_off: bool,
    /// Asynchronous merges, by the key for polling.
    pub async_merges: BTreeMap<String, AsyncMerge>,
    /// Number of times that an asynchronous merge reports that it is pending.
    pub async_lag: u32,
    /// Number of requests that read a changed merge state as `UNKNOWN`.
    pub lag: u32,
    /// Limits of diffs and bodies.
    pub limits: Limits,
    pub(crate) commit_cache: HashMap<(Id, String), CommitInfo>,
    pub(crate) diff_cache: HashMap<(Id, String, String), DiffSummary>,
    /// True if a merge leaves linked issues open. On GitHub, linked issues close some time after
    /// the merge, or never if the repository has disabled this.
    pub keeps_linked_open: bool,
    /// True if all writes get the same time.
    pub same_second: bool,
    /// True if the schema lacks relations between issues, as on an older Enterprise Server.
    pub lacks_issue_relations: bool,
    /// Pairs of type and field that introspection hides, as if the schema lacked them.
    pub hidden_fields: BTreeSet<(String, String)>,
    next: Id,
    seconds: i64,
}

/// Limits of diffs and bodies, as github.com documents them.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of files in a diff.
    pub diff_files: usize,
    /// Maximum number of lines in a diff.
    pub diff_lines: usize,
    /// Maximum number of bytes of all patches in a page of the route `/files`.
    pub page_bytes: usize,
    /// Maximum number of files that the route `/files` lists.
    pub listed_files: usize,
    /// Maximum number of characters in a body.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            diff_files: 300,
            diff_lines: 20_000,
            page_bytes: 1_000_000,
            listed_files: 3_000,
            body: 65_536,
        }
    }
}

/// Time at which the double's clock starts: 2026-01-01T00:00:00Z, in seconds since the epoch.
const CLOCK_START: i64 = 1_767_225_600;

impl State {
    pub(crate) fn new(root: PathBuf, lag: u32) -> Self {
        Self {
            root,
            lag,
            ..Self::default()
        }
    }

    /// Returns the next unused number.
    pub fn next_id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    /// Advances the clock by one second and returns the new time.
    pub fn tick(&mut self) -> String {
        self.seconds += i64::from(!self.same_second);
        self.now()
    }

    /// Sets the clock to the system time, for tests that compare values such as leases with it.
    pub fn set_clock_to_now(&mut self) {
        self.set_clock_ahead(0);
    }

    /// Sets the clock ahead of the system time by `seconds`, or behind it if the number is
    /// negative.
    pub fn set_clock_ahead(&mut self, seconds: i64) {
        self.seconds = chrono::Utc::now().timestamp() - CLOCK_START + seconds;
    }

    /// Returns the clock's time in RFC 3339 and UTC.
    pub fn now(&self) -> String {
        format_time(CLOCK_START + self.seconds)
    }

    /// Returns the clock's time in seconds since the epoch.
    pub fn now_seconds(&self) -> i64 {
        CLOCK_START + self.seconds
    }

    /// Returns the account with this login, ignoring case.
    pub fn account(&self, login: &str) -> Option<&Account> {
        self.accounts
            .values()
            .find(|account| account.login.eq_ignore_ascii_case(login))
    }

    /// Returns the login of an account, or `ghost` if the account is deleted.
    pub fn login(&self, id: Id) -> &str {
        self.accounts
            .get(&id)
            .map_or("ghost", |account| account.login.as_str())
    }

    /// Returns a repository by owner and name, ignoring case. A former name also works unless
    /// another repository has this name now. GitHub does the same in GraphQL's `repository`, and in
    /// REST after a redirect.
    pub fn repo(&self, owner: &str, name: &str) -> Option<&Repo> {
        let now = self.repos.values().find(|repo| {
            repo.name.eq_ignore_ascii_case(name)
                && self.login(repo.owner).eq_ignore_ascii_case(owner)
        });
        now.or_else(|| {
            let id = self
                .moved
                .get(&format!("{owner}/{name}").to_ascii_lowercase())?;
            self.repos.get(id)
        })
    }

    /// Returns the name of a repository as `owner/name`.
    pub fn full_name(&self, repo: Id) -> String {
        self.repos.get(&repo).map_or_else(String::new, |repo| {
            format!("{}/{}", self.login(repo.owner), repo.name)
        })
    }

    /// Returns the pull request with this number in a repository.
    pub fn pull(&self, repo: Id, number: u64) -> Option<&Pull> {
        self.pulls
            .values()
            .find(|pull| pull.repo == repo && pull.number == number)
    }

    /// Returns the issue with this number in a repository.
    pub fn issue(&self, repo: Id, number: u64) -> Option<&Issue> {
        self.issues
            .values()
            .find(|issue| issue.repo == repo && issue.number == number)
    }

    /// Returns the parent issue of an issue.
    pub fn parent(&self, issue: Id) -> Option<&Issue> {
        self.issues
            .values()
            .find(|it| it.sub_issues.contains(&issue))
    }

    /// Returns the stack to which a pull request belongs.
    pub fn stack_of(&self, pull: Id) -> Option<&Stack> {
        self.stacks.iter().find(|stack| stack.pulls.contains(&pull))
    }

    /// Creates a stack of pull requests, given from bottom to top, and returns its number.
    pub fn add_stack(&mut self, repo: Id, pulls: Vec<Id>) -> u64 {
        let of_repo = self.stacks.iter().filter(|stack| stack.repo == repo);
        let number = of_repo.map(|stack| stack.number).max().unwrap_or(0) + 1;
        let created_at = self.now();
        self.stacks.push(Stack {
            repo,
            number,
            pulls,
            created_at,
        });
        number
    }

    /// Returns the next unused issue or pull request number of a repository.
    pub fn next_number(&mut self, repo: Id) -> u64 {
        self.repos.get_mut(&repo).map_or(0, |repo| {
            repo.last_number += 1;
            repo.last_number
        })
    }

    /// Returns the permission of an account in a repository.
    pub fn permission(&self, account: Id, repo: &Repo) -> Option<Permission> {
        if repo.owner == account {
            return Some(Permission::Admin);
        }
        let by_owner = self
            .accounts
            .get(&repo.owner)
            .and_then(|owner| owner.members.get(&account).copied());
        let own = repo.collaborators.get(&account).copied();
        let public = (!repo.private).then_some(Permission::Read);
        [by_owner, own, public].into_iter().flatten().max()
    }

    /// Returns the protection that applies to a branch.
    pub fn protection(&self, repo: Id, branch: &str) -> Option<&Protection> {
        self.repos
            .get(&repo)
            .and_then(|repo| repo.protections.get(branch))
    }
}

/// Formats seconds since the epoch as GitHub formats times.
pub(crate) fn format_time(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0).map_or_else(
        || "1970-01-01T00:00:00Z".to_owned(),
        |time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}

/// A file that a user has uploaded as an attachment.
#[derive(Debug, Clone)]
pub struct Asset {
    /// The repository for which the file was uploaded.
    pub repo: Id,
    /// Name of the file.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}
