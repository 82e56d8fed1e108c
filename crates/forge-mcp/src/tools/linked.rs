//! The issues that a pull request closes, once it is merged.
//!
//! Those of its own repository, and only where it goes into the default branch, as on GitHub, which
//! closes them itself: what is closed by then is not closed again. A forge without closing words
//! has none.
//!
//! Where the configuration keeps workflow states, they are moved: which state leads to which, and
//! whether the branch counts, is for it to say, and an issue is closed where its new state ends it.

use forge_core::{
    Error,
    model::{
        Issue, IssueFields, IssueId, IssueReason, IssueState, LinkedIssue, PrState, PullRequest,
        RepoInfo, SetIssueState,
    },
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;
use tokio::sync::OnceCell;

use super::states::{Move, States, Stopped};
use crate::{
    calls::{Call, Target},
    content::Clean,
};

/// How many issues a question names; the others are counted.
const NAMED: usize = 10;

/// An issue that is to be closed, or moved.
#[derive(Debug)]
struct Step {
    number: u64,
    /// `None` without workflow states: it is closed.
    moved: Option<Move>,
}

impl Step {
    fn in_words(&self) -> String {
        match &self.moved {
            Some(moved) => format!("#{}: {}", self.number, moved.in_words()),
            None => format!("#{}", self.number),
        }
    }
}

/// Which issues are to be closed or moved, and which are not.
#[derive(Default)]
pub(super) struct Plan {
    steps: Vec<Step>,
    /// Each with the reason.
    left: Vec<(String, String)>,
    /// Those that could not be looked at, each with the reason.
    failed: Vec<(String, String)>,
    states: Option<States>,
}

impl Plan {
    /// What merging `pull` closes or moves. Costs nothing where it names no issue.
    ///
    /// # Errors
    /// `config` where the workflow states that are configured cannot be.
    pub async fn of(call: &Call, target: &Target, pull: &PullRequest) -> Result<Self, Error> {
        let linked = pull.linked_issues.as_deref().unwrap_or_default();
        let mut plan = Self::default();
        // States that cannot be keep no pull request that moves nothing from being merged.
        if linked.is_empty() {
            return Ok(plan);
        }
        plan.states = States::of(&call.server, &target.repo).await?;
        let info = OnceCell::new();
        for issue in linked {
            let states = plan.states.as_ref();
            let why = if was_closed(issue, pull, states) {
                Ok(Some("it was closed before".to_owned()))
            } else if needs_info(issue, pull, states) {
                match info.get_or_init(|| target.repo.info()).await {
                    Ok(info) => Ok(why_not(issue, pull, info, states)),
                    Err(e) => Err(format!(
                        "the repository could not be read: {}",
                        call.tell(e)
                    )),
                }
            } else {
                Ok(None)
            };
            match why {
                Ok(None) => plan.take(call, target, issue.number).await,
                Ok(Some(why)) => plan.left.push((name(issue, pull), why)),
                Err(why) => plan.failed.push((name(issue, pull), why)),
            }
        }
        Ok(plan)
    }

    /// Takes an issue into the plan, or into the list of those that are left.
    async fn take(&mut self, call: &Call, target: &Target, number: u64) {
        let mut step = Step {
            number,
            moved: None,
        };
        if let Some(states) = &self.states {
            let id = IssueId::number(target.repo.id().clone(), number);
            match target.repo.issue(&id, &IssueFields::default()).await {
                Ok(issue) => match states.plan(&issue) {
                    Ok(moved) => step.moved = Some(moved),
                    Err(why) => return self.left.push((format!("#{number}"), why)),
                },
                Err(e) => return self.failed.push((format!("#{number}"), call.tell(&e))),
            }
        }
        self.steps.push(step);
    }

    /// Without those that somebody has opened again, and those that the merge may have moved where
    /// they are: for a pull request that was merged before.
    pub async fn without_done(mut self, target: &Target) -> Self {
        for step in std::mem::take(&mut self.steps) {
            let number = step.number;
            let id = IssueId::number(target.repo.id().clone(), number);
            let why = match target.repo.issue(&id, &IssueFields::default()).await {
                Ok(issue) => match self.done_before(&issue, &step) {
                    Some(why) => why,
                    None => {
                        self.steps.push(step);
                        continue;
                    }
                },
                Err(e) => e.message().to_owned(),
            };
            self.left.push((format!("#{number}"), why));
        }
        self
    }

    /// Why a merge that was before has had its effect on an issue, and somebody his say.
    fn done_before(&self, issue: &Issue, step: &Step) -> Option<String> {
        if issue.state_reason == Some(IssueReason::Reopened) {
            return Some("it was opened again".to_owned());
        }
        let moved = step.moved.as_ref()?;
        self.states.as_ref()?.moved_before(issue, moved)
    }

    /// None of them is closed or moved, for this reason.
    pub fn left_alone(mut self, why: &str) -> Self {
        let steps = std::mem::take(&mut self.steps);
        let left = steps.iter().map(|step| format!("#{}", step.number));
        self.left.extend(left.map(|issue| (issue, why.to_owned())));
        self
    }

    /// What is done with them, as an order: `Close`.
    pub fn verb(&self) -> &'static str {
        match self.states {
            Some(_) => "Move",
            None => "Close",
        }
    }

    /// Those that are to be closed: `#3, #4`; or moved: `#3: In Review -> Done (closed)`. Empty where
    /// there are none.
    pub fn in_words(&self) -> String {
        let mut names: Vec<String> = self.steps.iter().map(Step::in_words).collect();
        let more = names.len().saturating_sub(NAMED);
        if more > 0 {
            names.truncate(NAMED);
            names.push(format!("and {more} more"));
        }
        names.join(", ")
    }

    /// All of those that are to be closed or moved, for a seal.
    pub fn bound(&self) -> String {
        let names: Vec<String> = self.steps.iter().map(Step::in_words).collect();
        format!("{names:?}")
    }

    /// Closes or moves them. One for which that fails stops nothing: the pull request is merged.
    pub async fn carry_out(mut self, call: &Call, target: &Target) -> Linked {
        let mut linked = Linked {
            moved: self.states.is_some(),
            ..Linked::default()
        };
        for step in std::mem::take(&mut self.steps) {
            match self.one(target, &step).await {
                Ok(()) => {
                    let issue = call.cleaner.line(&step.in_words());
                    linked.linked_issues_transitioned.push(issue);
                }
                Err(stopped) => {
                    linked.half_done |= stopped.half_done;
                    let why = call.tell(&stopped.why);
                    self.failed.push((format!("#{}", step.number), why));
                }
            }
        }
        let listed = |of: &[(String, String)]| -> Vec<Left> {
            let left = of.iter().map(|(issue, reason)| Left {
                issue: call.cleaner.line(issue),
                reason: call.cleaner.line(reason),
            });
            left.collect()
        };
        linked.linked_issues_failed = listed(&self.failed);
        linked.linked_issues_skipped = listed(&self.left);
        linked
    }

    /// Closes or moves one; else why not.
    async fn one(&self, target: &Target, step: &Step) -> Result<(), Stopped> {
        let id = IssueId::number(target.repo.id().clone(), step.number);
        match (&self.states, &step.moved) {
            (Some(states), Some(moved)) => states.carry_out(&target.repo, &id, moved).await,
            _ => {
                let closed = SetIssueState::to(IssueState::Closed);
                target.repo.set_issue_state(&id, &closed).await?;
                Ok(())
            }
        }
    }
}

/// `#7`, with its repository where that is another.
fn name(issue: &LinkedIssue, pull: &PullRequest) -> String {
    if issue.repo.comparison_key() == pull.id.repo.comparison_key() {
        format!("#{}", issue.number)
    } else {
        format!("{}#{}", issue.repo, issue.number)
    }
}

/// Whether an issue was closed before the merge, or there are no states to move.
///
/// One that is closed may have been closed by the forge, with the merge: its state is still to move.
fn was_closed(issue: &LinkedIssue, pull: &PullRequest, states: Option<&States>) -> bool {
    let may_be_closed = states.is_some() && pull.state == PrState::Merged;
    !issue.open && !may_be_closed
}

/// Whether the branch counts.
fn branch_counts(states: Option<&States>) -> bool {
    states.is_none_or(States::only_default_branch)
}

/// Whether it takes a look at the repository to say what the merge does with an issue: for its
/// default branch, or because the issue may be of the same repository by another name.
fn needs_info(issue: &LinkedIssue, pull: &PullRequest, states: Option<&States>) -> bool {
    branch_counts(states) || issue.repo.comparison_key() != pull.id.repo.comparison_key()
}

/// Why the merge leaves an issue alone; `None` where it closes or moves it.
fn why_not(
    issue: &LinkedIssue,
    pull: &PullRequest,
    info: &RepoInfo,
    states: Option<&States>,
) -> Option<String> {
    if issue.repo.comparison_key() != info.id.comparison_key() {
        return Some("it is in another repository".to_owned());
    }
    if !branch_counts(states) {
        return None;
    }
    let does = match states {
        Some(_) => "moves",
        None => "closes",
    };
    match &info.default_branch {
        Some(default) if *default == pull.base_branch => None,
        Some(default) => Some(format!("only a merge into {default} {does} issues")),
        None => Some("the repository has no default branch".to_owned()),
    }
}

/// What became of the issues that a merged pull request closes.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Linked {
    /// Issues that it closed or moved
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_transitioned: Vec<Clean>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_failed: Vec<Left>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_skipped: Vec<Left>,
    /// Whether they were moved, and not merely closed.
    #[serde(skip)]
    moved: bool,
    /// Whether one of those that failed has its new label.
    #[serde(skip)]
    half_done: bool,
}

/// An issue that was not closed or moved.
#[derive(Debug, Serialize, JsonSchema)]
struct Left {
    issue: Clean,
    reason: Clean,
}

impl Linked {
    /// Whether no issue was closed, moved or changed.
    pub fn is_unchanged(&self) -> bool {
        self.linked_issues_transitioned.is_empty() && !self.half_done
    }

    /// A line for what was closed or moved, and one for each that was not.
    pub fn text(&self) -> String {
        let (did, could_not, not) = match self.moved {
            true => ("moved", "could not move", "not moved"),
            false => ("closed", "could not close", "not closed"),
        };
        let mut text = String::new();
        if !self.linked_issues_transitioned.is_empty() {
            let names = self.linked_issues_transitioned.iter().map(Clean::as_str);
            let names: Vec<&str> = names.collect();
            text.push_str(&format!("\n{did}: {}", names.join(", ")));
        }
        let failed = self.linked_issues_failed.iter().map(|l| (could_not, l));
        let skipped = self.linked_issues_skipped.iter().map(|l| (not, l));
        for (what, Left { issue, reason }) in failed.chain(skipped) {
            text.push_str(&format!("\n{what}: {issue} ({reason})"));
        }
        text
    }
}
