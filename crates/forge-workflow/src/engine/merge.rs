//! What a merged pull request does with the issues that it closes.
//!
//! With a workflow the issues move as its definition says; without one they are closed. Whether a
//! merge has had its effect is read from the audit trail, and never guessed from the state.

use forge_core::{
    Capability, Error, PrKey, Repo, Result, Support,
    locator::Hosts,
    mentions::{Named, mentions},
    model::{EditIssue, Issue, IssueId, IssueReason, IssueState, PrState, PullRequest, RepoInfo},
};
use futures::{StreamExt as _, stream};
use serde::Serialize;

use super::{AT_ONCE, MAX_ATTEMPTS, Workflow, with_setup};
use crate::{
    CommentLedger, Entry, Event, Ledger, MergeRef, Promise, Sheet, Swap, Terminal,
    ledger::took_effect,
    member::{order, short},
    on_merge::merge_goal,
};

/// The command that the trail names for a merge without a workflow.
const COMMAND: &str = "merge";
/// How many issues a sentence names; the others are counted.
const MAX_NAMED: usize = 10;

/// An issue that a merge moves or closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergeStep {
    /// What names it.
    pub id: IssueId,
    /// `#7`, with its repository where that is another.
    #[serde(skip)]
    pub name: String,
    /// The state before; `None` without one, or without a workflow.
    pub from: Option<String>,
    /// The state after; `None` without a workflow.
    pub to: Option<String>,
    /// Why it is closed; `None` where it stays open.
    pub closes: Option<IssueReason>,
}

impl MergeStep {
    /// `#3`, or `#3: In Review -> Done (closed)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Some(to) = &self.to else {
            return self.name.clone();
        };
        let closed = match self.closes {
            Some(_) => " (closed)",
            None => "",
        };
        match self.from.as_ref() == Some(to) {
            true => format!("{}: {to}{closed}", self.name),
            false => {
                let from = self.from.as_deref().unwrap_or("no state");
                format!("{}: {from} -> {to}{closed}", self.name)
            }
        }
    }
}

/// An issue that is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftIssue {
    /// `#7`, with its repository where that is another.
    pub issue: String,
    /// Why.
    pub reason: String,
}

/// What a merge is to do with the issues that its pull request closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergePlan {
    /// Those that move, or are closed.
    pub steps: Vec<MergeStep>,
    /// Those that stay as they are.
    pub skipped: Vec<LeftIssue>,
    /// Those that could not be read.
    pub failed: Vec<LeftIssue>,
    /// Whether issues move through states, and are not merely closed.
    pub moves: bool,
    /// Whether the pull request was merged before the plan was made.
    pub is_late: bool,
}

impl MergePlan {
    /// `#3, #4`; or `#3: In Review -> Done (closed)`. Empty where no issue moves or is closed.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut names: Vec<String> = self.steps.iter().map(MergeStep::in_words).collect();
        let more = names.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            names.truncate(MAX_NAMED);
            names.push(format!("and {more} more"));
        }
        names.join(", ")
    }

    /// No issue moves or is closed, for this reason.
    #[must_use]
    pub fn left_alone(mut self, why: &str) -> Self {
        let steps = std::mem::take(&mut self.steps);
        self.skipped.extend(steps.into_iter().map(|step| LeftIssue {
            issue: step.name,
            reason: why.to_owned(),
        }));
        self
    }
}

/// What became of the issues that a merged pull request closes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MergeReport {
    /// Those that moved, or were closed.
    pub transitioned: Vec<MergeStep>,
    /// Those that could not be, and why.
    pub failed: Vec<LeftIssue>,
    /// Those that stay as they are, and why.
    pub skipped: Vec<LeftIssue>,
    /// Whether issues move through states, and are not merely closed.
    pub moves: bool,
}

/// What merges do with issues in one repository.
#[derive(Debug)]
pub struct MergeEffects<'w> {
    repo: Repo,
    workflow: Option<&'w Workflow>,
    hosts: Hosts,
}

impl<'w> MergeEffects<'w> {
    /// With the states of `workflow`; without one, issues are closed.
    #[must_use]
    pub fn new(repo: Repo, workflow: Option<&'w Workflow>, hosts: Hosts) -> Self {
        Self {
            repo,
            workflow,
            hosts,
        }
    }

    /// What the merge of `pull` does, or what it left undone where it is merged. A pull request that
    /// closes no issue costs no request.
    ///
    /// # Errors
    /// None of its own: an issue that cannot be read is in [`MergePlan::failed`].
    pub async fn plan(&self, pull: &PullRequest) -> Result<MergePlan> {
        let linked = linked_issues(pull, &self.repo, &self.hosts);
        let mut plan = MergePlan {
            moves: self.workflow.is_some(),
            is_late: pull.state == PrState::Merged,
            ..MergePlan::default()
        };
        if linked.is_empty() {
            return Ok(plan);
        }
        let foreign =
            |issue: &Linked| issue.id.repo.comparison_key() != pull.id.repo.comparison_key();
        let info = match self.only_default_branch() || linked.iter().any(foreign) {
            true => Some(self.repo.info().await),
            false => None,
        };
        let mut wanted = Vec::new();
        for issue in linked {
            let name = name_of(&issue.id, pull);
            match &info {
                Some(Err(e)) => plan.failed.push(LeftIssue {
                    issue: name,
                    reason: format!("the repository could not be read: {}", told(e)),
                }),
                Some(Ok(info)) => match self.why_not(&issue.id, pull, info) {
                    Some(reason) => plan.skipped.push(LeftIssue {
                        issue: name,
                        reason,
                    }),
                    None => wanted.push((issue, name)),
                },
                None => wanted.push((issue, name)),
            }
        }
        let merge = merge_ref(pull);
        let found = stream::iter(wanted)
            .map(|(issue, name)| {
                let merge = merge.as_ref();
                async move { (self.step(&issue, &name, merge).await, name) }
            })
            .buffered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        for (step, name) in found {
            match step {
                Ok(Ok(step)) => plan.steps.push(step),
                Ok(Err(reason)) => plan.skipped.push(LeftIssue {
                    issue: name,
                    reason,
                }),
                Err(e) => plan.failed.push(LeftIssue {
                    issue: name,
                    reason: told(&e),
                }),
            }
        }
        Ok(plan)
    }

    /// Carries `plan` out, now that `pull` is merged. An issue that cannot be moved stops no other
    /// one, and is no failure of the merge.
    pub async fn apply(&self, pull: &PullRequest, plan: MergePlan) -> MergeReport {
        let mut report = MergeReport {
            skipped: plan.skipped,
            failed: plan.failed,
            moves: plan.moves,
            ..MergeReport::default()
        };
        let merge = merge_ref(pull).unwrap_or_else(|| MergeRef {
            pull: pull.id.to_string(),
            commit: String::new(),
        });
        let merge = &merge;
        let is_late = plan.is_late;
        let done = stream::iter(plan.steps)
            .map(|step| async move { (self.carry_out(&step, merge, is_late).await, step) })
            .buffered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        for (result, step) in done {
            let left = |reason: String| LeftIssue {
                issue: step.name.clone(),
                reason,
            };
            match result {
                Ok(None) => report.transitioned.push(step),
                Ok(Some(reason)) => report.skipped.push(left(reason)),
                Err(e) => report.failed.push(left(told(&e))),
            }
        }
        report
    }

    fn ledger(&self) -> CommentLedger {
        let board = self.workflow.and_then(|w| w.store().board().cloned());
        CommentLedger::new(self.repo.clone(), board)
    }

    /// The issue with its trail, in the ledger of the workflow.
    async fn read(&self, id: &IssueId) -> Result<Sheet> {
        match self.workflow {
            Some(workflow) => workflow.ledger.read(id).await,
            None => self.ledger().read(id).await,
        }
    }

    async fn swap(&self, sheet: &Sheet, edit: EditIssue, entry: &Entry) -> Result<Swap> {
        match self.workflow {
            Some(workflow) => {
                let written = workflow.ledger.swap(sheet, edit, entry).await;
                written.map_err(with_setup)
            }
            None => self.ledger().swap(sheet, edit, entry).await,
        }
    }

    /// What the merge does with one issue; the reason, where it does nothing.
    async fn step(
        &self,
        linked: &Linked,
        name: &str,
        merge: Option<&MergeRef>,
    ) -> Result<Result<MergeStep, String>> {
        // Without a workflow an open issue of an open pull request is closed; there is nothing to read.
        if self.workflow.is_none() && merge.is_none() {
            return Ok(match linked.open {
                Some(false) => Err("it was closed before".to_owned()),
                _ => Ok(MergeStep {
                    id: linked.id.clone(),
                    name: name.to_owned(),
                    from: None,
                    to: None,
                    closes: Some(IssueReason::Completed),
                }),
            });
        }
        let sheet = self.read(&linked.id).await?;
        Ok(self.step_of(&sheet, name, merge, merge.is_some()))
    }

    /// What is left to do of a merge with an issue as it is now.
    fn step_of(
        &self,
        sheet: &Sheet,
        name: &str,
        merge: Option<&MergeRef>,
        is_late: bool,
    ) -> Result<MergeStep, String> {
        let issue = &sheet.issue;
        if let Some(done) = merge.and_then(|merge| sheet.trail.moved_by(merge)) {
            return Err(moved_before(done));
        }
        let closed = issue.state == IssueState::Closed;
        let given_up = matches!(
            issue.state_reason,
            Some(IssueReason::NotPlanned | IssueReason::Duplicate)
        );
        if closed && given_up {
            return Err("it was closed, and not because it is done".to_owned());
        }
        let Some(workflow) = self.workflow else {
            return match (closed, issue.state_reason) {
                (true, _) => Err("it was closed before".to_owned()),
                // The forge itself closed it with the merge, and a person has opened it again. Before
                // the merge that says nothing.
                (false, Some(IssueReason::Reopened)) if is_late => {
                    Err("it was opened again".to_owned())
                }
                _ => Ok(MergeStep {
                    id: issue.id.clone(),
                    name: name.to_owned(),
                    from: None,
                    to: None,
                    closes: Some(IssueReason::Completed),
                }),
            };
        };
        let definition = workflow.definition();
        let from = workflow.state_of(issue);
        let state = from.as_deref().and_then(|name| definition.state(name));
        if closed && state.is_some_and(|state| state.terminal.is_some()) {
            return Err(format!(
                "it was closed before, as {}",
                from.unwrap_or_default()
            ));
        }
        let to = merge_goal(definition, from.as_deref())?;
        if state == Some(to) && to.terminal.is_none() {
            return Err(format!("it is {} already", to.name));
        }
        if closed && to.terminal.is_none() {
            return Err("it is closed; a state that is not the end needs it open".to_owned());
        }
        Ok(MergeStep {
            id: issue.id.clone(),
            name: name.to_owned(),
            from,
            to: Some(to.name.clone()),
            closes: to.terminal.map(|end| match end {
                Terminal::Completed => IssueReason::Completed,
                Terminal::Abandoned => IssueReason::NotPlanned,
            }),
        })
    }

    /// Moves or closes one issue; the reason, where there is nothing left to do.
    async fn carry_out(
        &self,
        planned: &MergeStep,
        merge: &MergeRef,
        is_late: bool,
    ) -> Result<Option<String>> {
        for _ in 0..MAX_ATTEMPTS {
            let sheet = self.read(&planned.id).await?;
            let step = match self.step_of(&sheet, &planned.name, Some(merge), is_late) {
                Ok(step) => step,
                // The forge closes issues itself: then it is as it was to be.
                Err(_) if self.workflow.is_none() && sheet.issue.state == IssueState::Closed => {
                    return Ok(None);
                }
                Err(reason) => return Ok(Some(reason)),
            };
            if step.from != planned.from || step.to != planned.to {
                return Ok(Some(format!(
                    "it went from {} to {} meanwhile",
                    planned.from.as_deref().unwrap_or("no state"),
                    step.from.as_deref().unwrap_or("no state")
                )));
            }
            let (edit, from, to) = self.edit_of(&sheet.issue, &step);
            let event = Event::Moved {
                from,
                to,
                command: self
                    .workflow
                    .map_or(COMMAND, |w| &w.definition().on_merge.command)
                    .to_owned(),
                intent: None,
                ends: sheet.trail.claim.as_ref().map(|claim| claim.id.clone()),
                merge: Some(merge.clone()),
            };
            let entry = Entry::new(event, None);
            if let Swap::Written(outcome) = self.swap(&sheet, edit, &entry).await? {
                return match took_effect(&outcome.ingestion) {
                    true => Ok(self.yield_to_earlier(&planned.id, merge, &entry).await),
                    false => Err(Error::precondition(
                        forge_core::Precondition::Rule,
                        "its record is stored, and nothing that shows issues has it",
                    )),
                };
            }
        }
        Err(super::crowded(&planned.id))
    }

    /// The reason, where another process has moved the issue for the same merge first. Then `mine` is
    /// withdrawn, so that the trail tells of one move.
    async fn yield_to_earlier(
        &self,
        id: &IssueId,
        merge: &MergeRef,
        mine: &Entry,
    ) -> Option<String> {
        let own = self.ledger();
        let ledger: &dyn Ledger = match self.workflow {
            Some(workflow) => workflow.ledger.as_ref(),
            None => &own,
        };
        if ledger.promise() == Promise::Exclusive {
            return None;
        }
        // The issue has moved in any case, so nothing that fails from here on fails the move.
        let back = ledger.read(id).await.ok()?;
        let first = back.trail.moved_by(merge)?;
        if first.id == mine.id {
            return None;
        }
        ledger.withdraw(&back, mine).await.ok();
        Some(moved_before(first))
    }

    fn edit_of(&self, issue: &Issue, step: &MergeStep) -> (EditIssue, Option<String>, String) {
        let to = step.to.as_deref().zip(self.workflow);
        match to.and_then(|(to, workflow)| Some((workflow, workflow.definition().state(to)?))) {
            Some((workflow, state)) => (
                workflow.edit_to(issue, state),
                step.from.clone(),
                state.name.clone(),
            ),
            None => {
                let keeps = self
                    .repo
                    .client()
                    .forge()
                    .capabilities()
                    .has(Capability::IssueReason);
                let edit = EditIssue {
                    state: Some(IssueState::Closed),
                    reason: step.closes.filter(|_| keeps),
                    ..EditIssue::default()
                };
                (edit, Some("open".to_owned()), "closed".to_owned())
            }
        }
    }

    fn only_default_branch(&self) -> bool {
        self.workflow
            .is_none_or(|w| w.definition().on_merge.only_default_branch)
    }

    /// Why the merge leaves an issue alone, whatever its state.
    fn why_not(&self, issue: &IssueId, pull: &PullRequest, info: &RepoInfo) -> Option<String> {
        let own = |id: &IssueId| {
            let key = id.repo.comparison_key();
            key == info.id.comparison_key() || key == pull.id.repo.comparison_key()
        };
        if !own(issue) {
            return Some("it is in another repository".to_owned());
        }
        if !self.only_default_branch() {
            return None;
        }
        let does = if self.workflow.is_some() {
            "moves"
        } else {
            "closes"
        };
        match &info.default_branch {
            Some(default) if *default == pull.base_branch => None,
            Some(default) => Some(format!("only a merge into {default} {does} issues")),
            None => Some("the repository has no default branch".to_owned()),
        }
    }
}

/// An issue that a pull request closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// What names it.
    pub id: IssueId,
    /// Whether it is open, where the pull request says so.
    pub open: Option<bool>,
}

/// The issues that `pull` closes: those that the forge links, and where it has no such links, those
/// that lines of the description name: `Closes #3`, `Closes at://…`.
#[must_use]
pub fn linked_issues(pull: &PullRequest, repo: &Repo, hosts: &Hosts) -> Vec<Linked> {
    let links = repo
        .client()
        .forge()
        .capabilities()
        .get(Capability::PrCreateCloses);
    let mut linked: Vec<Linked> = (pull.linked_issues.iter().flatten())
        .map(|issue| Linked {
            id: IssueId::number(issue.repo.clone(), issue.number),
            open: Some(issue.open),
        })
        .collect();
    if matches!(links, Support::ClientSide { .. } | Support::No { .. }) {
        let named = mentions(&pull.description, hosts, &mut Vec::new());
        for mention in named.into_iter().filter(|mention| mention.closes) {
            let own = |key| IssueId {
                repo: pull.id.repo.clone(),
                key,
            };
            let id = match mention.named {
                Named::Number(n) => Some(own(PrKey::Number(n))),
                Named::InRepo(other, n) => Some(IssueId::number(other, n)),
                Named::Issue(id) => Some(id),
                Named::Record(uri) if uri.collection.ends_with(".issue") => Some(own(uri.into())),
                Named::Record(_) | Named::Pull(_) => None,
            };
            linked.extend(id.map(|id| Linked { id, open: None }));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    linked.retain(|issue| seen.insert(order(&issue.id)));
    linked
}

/// Why a merge that has moved an issue does nothing again.
fn moved_before(done: &Entry) -> String {
    match &done.event {
        Event::Moved { from, to, .. } => {
            let from = from.as_deref().unwrap_or("no state");
            format!("the merge moved it before ({from} -> {to})")
        }
        Event::Claimed { .. } => "the merge moved it before".to_owned(),
    }
}

/// The merge of a merged pull request.
fn merge_ref(pull: &PullRequest) -> Option<MergeRef> {
    (pull.state == PrState::Merged).then(|| MergeRef {
        pull: pull.id.to_string(),
        commit: pull.merge_commit.clone().unwrap_or_default(),
    })
}

/// `#7`, with its repository where that is another.
fn name_of(issue: &IssueId, pull: &PullRequest) -> String {
    match issue.repo.comparison_key() == pull.id.repo.comparison_key() {
        true => short(issue),
        false => issue.to_string(),
    }
}

/// What happened, and what to do next.
fn told(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{}; {hint}", error.message()),
        None => error.message().to_owned(),
    }
}
