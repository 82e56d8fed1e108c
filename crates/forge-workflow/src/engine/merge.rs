//! Moves or closes the issues that a merged pull request closes.
//!
//! With a workflow, issues move as its definition says. Without a workflow, they are closed. The
//! audit trail, not the state, shows whether a merge has already taken effect.

use std::{
    collections::BTreeSet,
    fmt,
    time::{Duration, Instant},
};

use forge_core::{
    Capability, Error, ErrorKind, Hint, PageReq, PrKey, Repo, Result, Support, Timestamp,
    locator::Hosts,
    mentions::closing_issues,
    model::{
        BoardId, EditIssue, Issue, IssueId, IssueReason, IssueState, PrState, PullRequest,
        RepoInfo, StatusEventKind,
    },
};
use futures::{StreamExt as _, stream};
use serde::Serialize;

use super::{MAX_ATTEMPTS, MAX_CONCURRENT_REQUESTS, Workflow, hint_of_one, with_setup};
use crate::{
    ClaimGuarantee, CommentLedger, IssueTrail, Ledger, MergeRef, Terminal, TrailEntry, TrailEvent,
    TrailSwap,
    ledger::took_effect,
    member::{order, quoted_state, short},
    on_merge::merge_goal,
};

/// The command name in audit entries of a merge without a workflow.
const COMMAND: &str = "merge";
/// Maximum number of linked issues that a merge changes. The confirmation question and the summary
/// name at most this number, and a merge changes no issue that they do not name.
pub const MAX_LINKED_ISSUES: usize = 50;
/// The reason why an issue beyond the first [`MAX_LINKED_ISSUES`] is not changed.
const NOT_NAMED: &str =
    "not among the first 50 linked issues, which are the only ones that a merge changes";
/// Maximum time for reading all issues that a merge closes.
const MAX_PLAN_TIME: Duration = Duration::from_secs(60);
/// The reason for leaving an issue record unchanged if only the text or a reference of the pull
/// request names the issue.
const UNLISTED: &str = "the forge does not list it as an issue of the repository";
/// Maximum number of pages of an issue's history.
const MAX_HISTORY_PAGES: usize = 50;

/// An issue that a merge moves or closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergeStep {
    /// The issue.
    pub id: IssueId,
    /// `#7`, with the name of the repository if the issue is in another one.
    #[serde(skip)]
    pub name: String,
    /// The state before; `None` if the issue has no state or there is no workflow.
    pub from: Option<String>,
    /// True if `from` is a state of the definition. The name of any other state is untrusted text.
    #[serde(skip)]
    pub from_is_defined: bool,
    /// The state after; `None` without a workflow.
    pub to: Option<String>,
    /// The reason for closing; `None` if the issue stays open.
    pub closes: Option<IssueReason>,
    /// The board of the workflow to which the step adds the issue; `None` if the issue is on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adds_to_board: Option<BoardId>,
}

impl MergeStep {
    /// Returns the step of an issue that is only closed, without a workflow.
    fn closing(id: IssueId, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            from: None,
            from_is_defined: false,
            to: None,
            closes: Some(IssueReason::Completed),
            adds_to_board: None,
        }
    }

    /// Returns `, added to board octo/5` if the step adds the issue to a board; otherwise empty.
    #[must_use]
    pub fn board_note(&self) -> String {
        match &self.adds_to_board {
            Some(board) => format!(", added to board {board}"),
            None => String::new(),
        }
    }

    /// Formats the step as `#3`, or `#3: In Review -> Done (closed)`. If the old state is not in
    /// the definition, its name is quoted.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Some(to) = &self.to else {
            return self.name.clone();
        };
        let closed = match self.closes {
            Some(_) => " (closed)",
            None => "",
        };
        let board = self.board_note();
        if self.from.as_ref() == Some(to) {
            format!("{}: {to}{closed}{board}", self.name)
        } else {
            let from = self.shown_from();
            format!("{}: {from} -> {to}{closed}{board}", self.name)
        }
    }

    /// Formats the name of the old state.
    fn shown_from(&self) -> String {
        match &self.from {
            None => "no state".to_owned(),
            Some(from) if self.from_is_defined => from.clone(),
            Some(from) => quoted_state(from),
        }
    }
}

/// An issue that the merge does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftIssue {
    /// `#7`, with the name of the repository if the issue is in another one.
    pub issue: String,
    /// The reason why the merge does not change the issue.
    pub reason: String,
    /// How to recover, if the change of the issue was tried and failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// True if the issue is left because it is not on the board of the workflow.
    #[serde(skip)]
    pub is_off_board: bool,
}

impl LeftIssue {
    fn new(issue: String, reason: impl Into<String>) -> Self {
        Self {
            issue,
            reason: reason.into(),
            hint: None,
            is_off_board: false,
        }
    }

    /// Returns the entry of a plan for an issue without a step.
    fn skipped(issue: String, reason: SkipReason) -> Self {
        let is_off_board = matches!(reason, SkipReason::OffBoard(_));
        Self {
            is_off_board,
            ..Self::new(issue, reason.to_string())
        }
    }

    fn failed(issue: String, e: &Error) -> Self {
        Self {
            hint: hint_of_one(e),
            ..Self::new(issue, e.message())
        }
    }
}

/// Why a merge does not change an issue.
#[derive(Debug)]
enum SkipReason {
    /// The issue is not on this board, which has the states of the workflow.
    OffBoard(BoardId),
    /// Another reason.
    Other(String),
}

impl From<String> for SkipReason {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OffBoard(board) => write!(
                f,
                "it is not on board {board}; `add_to_board = true` in [on_merge] adds such issues"
            ),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// Plan for the issues that a pull request closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergePlan {
    /// The issues to move or close.
    pub steps: Vec<MergeStep>,
    /// The issues to leave unchanged.
    pub skipped: Vec<LeftIssue>,
    /// The issues that could not be read.
    pub failed: Vec<LeftIssue>,
    /// The open issues that the forge itself closes with the merge, except those that a step
    /// closes. Issues of other repositories come first.
    pub closed_by_forge: Vec<MergeStep>,
    /// True if issues move through workflow states; otherwise they are only closed.
    pub moves: bool,
    /// True if the pull request was already merged when the plan was made.
    pub is_late: bool,
}

impl MergePlan {
    /// Formats the steps as `#3, #4` or `#3: In Review -> Done (closed)`; empty if there are no
    /// steps.
    #[must_use]
    pub fn in_words(&self) -> String {
        let names: Vec<String> = self.steps.iter().map(MergeStep::in_words).collect();
        names.join(", ")
    }

    /// Returns the issues that stay because they are not on the board of the workflow.
    #[must_use]
    pub fn off_board(&self) -> Vec<&LeftIssue> {
        let skipped = self.skipped.iter();
        skipped.filter(|left| left.is_off_board).collect()
    }

    /// Turns every step into a skipped issue with the reason `why`.
    #[must_use]
    pub fn left_alone(mut self, why: &str) -> Self {
        let steps = std::mem::take(&mut self.steps);
        let skipped = steps.into_iter().map(|step| LeftIssue::new(step.name, why));
        self.skipped.extend(skipped);
        self
    }
}

/// Result for the issues that a merged pull request closes.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct MergeReport {
    /// The issues that were moved or closed.
    pub transitioned: Vec<MergeStep>,
    /// The issues whose change failed, with errors.
    pub failed: Vec<LeftIssue>,
    /// The unchanged issues, with reasons.
    pub skipped: Vec<LeftIssue>,
    /// The issues that the forge itself closes. They were not read after the merge.
    pub closed_by_forge: Vec<MergeStep>,
    /// True if issues move through workflow states; otherwise they are only closed.
    pub moves: bool,
}

/// Effects of merges on the issues of one repository.
#[derive(Debug)]
pub struct MergeEffects<'w> {
    repo: Repo,
    workflow: Option<&'w Workflow>,
    hosts: Hosts,
    /// True if the forge itself closes the linked issues with a merge.
    forge_closes: bool,
    /// True if a merge only reports the issues, because the forge itself closes them and there is
    /// no workflow.
    only_reports: bool,
}

impl<'w> MergeEffects<'w> {
    /// Creates the effects of merges in `repo`.
    /// - With a workflow, issues move through its states.
    /// - Without a workflow, on a forge that itself closes the issues of a merge, issues are only
    ///   read and reported.
    /// - Without a workflow, on any other forge, issues are closed.
    #[must_use]
    pub fn new(repo: Repo, workflow: Option<&'w Workflow>, hosts: Hosts) -> Self {
        let forge_closes = matches!(repo.support(Capability::PrCreateCloses), Support::Native);
        Self {
            forge_closes,
            only_reports: workflow.is_none() && forge_closes,
            repo,
            workflow,
            hosts,
        }
    }

    /// Makes [`Self::apply`] close issues that are still open, even on a forge that closes them
    /// itself.
    #[must_use]
    pub fn closing_left_open(mut self) -> Self {
        self.only_reports = false;
        self
    }

    /// Plans the effect of merging `pull`. If `pull` is already merged, plans what remains to be
    /// done. Makes no request if the pull request closes no issue.
    ///
    /// # Errors
    ///
    /// Never fails for an unreadable issue, which is listed in [`MergePlan::failed`].
    pub async fn plan(&self, pull: &PullRequest) -> Result<MergePlan> {
        let mut linked = linked_issues(pull, &self.repo, &self.hosts);
        let mut plan = MergePlan {
            moves: self.workflow.is_some(),
            is_late: pull.state == PrState::Merged,
            ..MergePlan::default()
        };
        if linked.is_empty() {
            return Ok(plan);
        }
        // If the forge itself closes linked issues, it closes all of them, even those without a
        // step in this plan.
        let open = linked
            .iter()
            .filter(|issue| self.forge_closes && !plan.is_late && issue.open != Some(false));
        let closing: Vec<MergeStep> = open
            .map(|issue| MergeStep::closing(issue.id.clone(), &name_of(&issue.id, pull)))
            .collect();
        // Two kinds of plans are not limited here but below:
        // - a plan after the merge, so that repeated plans reach every issue
        // - a plan that only reports, because it needs no request for an issue
        if !plan.is_late && !self.only_reports && linked.len() > MAX_LINKED_ISSUES {
            let others = linked.split_off(MAX_LINKED_ISSUES);
            let left = |issue: &ClosingIssue| LeftIssue::new(name_of(&issue.id, pull), NOT_NAMED);
            plan.skipped.extend(others.iter().map(left));
        }
        let foreign =
            |issue: &ClosingIssue| issue.id.repo.comparison_key() != pull.id.repo.comparison_key();
        let info = match self.only_default_branch() || linked.iter().any(foreign) {
            true => Some(self.repo.info().await),
            false => None,
        };
        let mut wanted = Vec::new();
        for issue in linked {
            let name = name_of(&issue.id, pull);
            match &info {
                Some(Err(e)) => plan.failed.push(LeftIssue {
                    reason: format!("the repository could not be read: {}", e.message()),
                    ..LeftIssue::failed(name, e)
                }),
                // An issue of another repository is listed only in `closed_by_forge`.
                Some(Ok(info)) if self.only_reports && !is_own(&issue.id, pull, info) => {}
                Some(Ok(info)) => match self.skip_reason(&issue.id, pull, info) {
                    Some(reason) => plan.skipped.push(LeftIssue::new(name, reason)),
                    None => wanted.push((issue, name)),
                },
                None => wanted.push((issue, name)),
            }
        }
        self.retain_listed(&mut wanted, &mut plan).await;
        let merge = merge_ref(pull);
        let begun = Instant::now();
        let found = stream::iter(wanted)
            .map(|(issue, name)| {
                let merge = merge.as_ref();
                async move {
                    let left = MAX_PLAN_TIME.saturating_sub(begun.elapsed());
                    let step = self.step(&issue, &name, merge, pull);
                    let step = tokio::time::timeout(left, step).await;
                    (step.unwrap_or_else(|_| Err(too_slow())), name)
                }
            })
            .buffered(MAX_CONCURRENT_REQUESTS)
            .collect::<Vec<_>>()
            .await;
        for (step, name) in found {
            match step {
                Ok(Ok(step)) => plan.steps.push(step),
                Ok(Err(reason)) => plan.skipped.push(LeftIssue::skipped(name, reason)),
                Err(e) => plan.failed.push(LeftIssue::failed(name, &e)),
            }
        }
        if plan.steps.len() > MAX_LINKED_ISSUES {
            let others = plan.steps.split_off(MAX_LINKED_ISSUES);
            if !self.only_reports {
                let left = |step: MergeStep| LeftIssue::new(step.name, NOT_NAMED);
                plan.skipped.extend(others.into_iter().map(left));
            }
        }
        let default = info
            .as_ref()
            .and_then(|info| info.as_ref().ok()?.default_branch.as_ref());
        // A forge closes issues only with a merge into the default branch. If that branch is not
        // known, the issues count as closed.
        if default.is_none_or(|name| *name == pull.base_branch) {
            let closes = |step: &MergeStep, issue: &MergeStep| {
                step.name == issue.name && step.closes.is_some()
            };
            let others = closing
                .into_iter()
                .filter(|issue| !plan.steps.iter().any(|step| closes(step, issue)));
            plan.closed_by_forge = others.collect();
            let is_own = |issue: &MergeStep| issue.name.starts_with('#');
            plan.closed_by_forge.sort_by_key(is_own);
        }
        Ok(plan)
    }

    /// Removes issue records that the forge does not list as issues of the repository. Reading such
    /// a record would contact a host that was chosen by the text or a reference of the pull
    /// request.
    async fn retain_listed(&self, wanted: &mut Vec<(ClosingIssue, String)>, plan: &mut MergePlan) {
        let records = wanted.iter().filter_map(|(issue, _)| match &issue.id.key {
            PrKey::Record(uri) => Some(uri.clone()),
            PrKey::Number(_) => None,
        });
        let records: Vec<String> = records.collect();
        if records.is_empty() {
            return;
        }
        let listed = self.repo.listed_issues(&records).await;
        wanted.retain(|(issue, name)| {
            let PrKey::Record(uri) = &issue.id.key else {
                return true;
            };
            match &listed {
                Ok(listed) if listed.contains(uri) => return true,
                Ok(_) => plan.skipped.push(LeftIssue::new(name.clone(), UNLISTED)),
                Err(e) => plan.failed.push(LeftIssue {
                    reason: format!(
                        "the issues of the repository could not be listed: {}",
                        e.message()
                    ),
                    ..LeftIssue::failed(name.clone(), e)
                }),
            }
            false
        });
    }

    /// Carries out `plan` after `pull` was merged. If the change of one issue fails, the other
    /// issues are still changed, and the merge still counts as successful.
    pub async fn apply(&self, pull: &PullRequest, plan: MergePlan) -> MergeReport {
        let mut report = MergeReport {
            skipped: plan.skipped,
            failed: plan.failed,
            closed_by_forge: plan.closed_by_forge,
            moves: plan.moves,
            ..MergeReport::default()
        };
        let merge = merge_ref(pull).unwrap_or_else(|| MergeRef::new(&pull.id, ""));
        let merge = &merge;
        let late = plan.is_late.then_some(pull);
        let done = stream::iter(plan.steps)
            .map(|step| async move { (self.carry_out(&step, merge, late).await, step) })
            .buffered(MAX_CONCURRENT_REQUESTS)
            .collect::<Vec<_>>()
            .await;
        for (result, step) in done {
            match result {
                Ok(None) => report.transitioned.push(step),
                Ok(Some(reason)) => report.skipped.push(LeftIssue::new(step.name, reason)),
                Err(e) => report.failed.push(LeftIssue::failed(step.name, &e)),
            }
        }
        report
    }

    fn ledger(&self) -> CommentLedger {
        let board = self.workflow.and_then(|w| w.store().board().cloned());
        CommentLedger::new(self.repo.clone(), board)
    }

    async fn read(&self, id: &IssueId) -> Result<IssueTrail> {
        match self.workflow {
            Some(workflow) => workflow.ledger.read(id).await,
            None => self.ledger().read(id).await,
        }
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        match self.workflow {
            Some(workflow) => {
                let written = workflow.ledger.swap(sheet, edit, entry).await;
                written.map_err(with_setup)
            }
            None => self.ledger().swap(sheet, edit, entry).await,
        }
    }

    /// Returns the step for one issue, or the reason why the issue is skipped.
    async fn step(
        &self,
        linked: &ClosingIssue,
        name: &str,
        merge: Option<&MergeRef>,
        pull: &PullRequest,
    ) -> Result<Result<MergeStep, SkipReason>> {
        // Without a workflow, before the merge, the pull request tells whether the issue is open,
        // so the issue is not read. A record is always read, because it may be missing or belong to
        // another repository.
        let is_record = linked.by_reference || matches!(linked.id.key, PrKey::Record(_));
        if self.workflow.is_none() && merge.is_none() && !is_record {
            return Ok(match linked.open {
                Some(false) => Err("it was closed before".to_owned().into()),
                _ => Ok(MergeStep::closing(linked.id.clone(), name)),
            });
        }
        let sheet = match self.read(&linked.id).await {
            Err(e) if is_record && e.is_not_found() => {
                return Ok(Err(e.message().to_owned().into()));
            }
            sheet => sheet?,
        };
        let late = merge.map(|_| pull);
        self.step_of(&sheet, name, merge, late).await
    }

    /// Returns the step that an issue still needs, or the reason why it needs none. `late` is the
    /// pull request if it was already merged when the plan was made.
    async fn step_of(
        &self,
        sheet: &IssueTrail,
        name: &str,
        merge: Option<&MergeRef>,
        late: Option<&PullRequest>,
    ) -> Result<Result<MergeStep, SkipReason>> {
        let step = self.step_from(sheet, name, merge);
        if step.is_err() || self.workflow.is_some() {
            return Ok(step);
        }
        let issue = &sheet.issue;
        if let Some(pull) = late.filter(|_| issue.state_reason == Some(IssueReason::Reopened))
            && let Err(reason) = self.check_reopening(&issue.id, pull).await?
        {
            return Ok(Err(reason.into()));
        }
        if self.only_reports {
            let host = &self.repo.id().host;
            return Ok(Err(format!("{host} has not closed it yet").into()));
        }
        Ok(step)
    }

    /// Returns the step that an issue in its current state needs.
    fn step_from(
        &self,
        sheet: &IssueTrail,
        name: &str,
        merge: Option<&MergeRef>,
    ) -> Result<MergeStep, SkipReason> {
        let issue = &sheet.issue;
        if let Some(done) = merge.and_then(|merge| sheet.trail.moved_by(merge)) {
            return Err(moved_before(done).into());
        }
        let closed = issue.state == IssueState::Closed;
        let given_up = matches!(
            issue.state_reason,
            Some(IssueReason::NotPlanned | IssueReason::Duplicate)
        );
        if closed && given_up {
            return Err("it was closed, but not as done".to_owned().into());
        }
        let Some(workflow) = self.workflow else {
            if closed {
                return Err("it was closed before".to_owned().into());
            }
            return Ok(MergeStep::closing(issue.id.clone(), name));
        };
        let definition = workflow.definition();
        let from = workflow.state_of(issue);
        let state = from.as_deref().and_then(|name| definition.state(name));
        if closed && state.is_some_and(|state| state.terminal.is_some()) {
            let why = format!("it was closed before, as {}", from.unwrap_or_default());
            return Err(why.into());
        }
        let to = merge_goal(definition, from.as_deref())?;
        if state == Some(to) && to.terminal.is_none() {
            return Err(format!("it is {} already", to.name).into());
        }
        if closed && to.terminal.is_none() {
            let why = "it is closed, but the target state needs an open issue";
            return Err(why.to_owned().into());
        }
        // A write of the state would add the issue to the board, which nobody asked for.
        let board = workflow.store().board();
        let adds_to_board = board.filter(|_| issue.on_board == Some(false)).cloned();
        if let Some(board) = &adds_to_board
            && !definition.on_merge.add_to_board
        {
            return Err(SkipReason::OffBoard(board.clone()));
        }
        Ok(MergeStep {
            id: issue.id.clone(),
            name: name.to_owned(),
            from_is_defined: state.is_some(),
            from,
            to: Some(to.name.clone()),
            closes: to.terminal.map(|end| match end {
                Terminal::Completed => IssueReason::Completed,
                Terminal::Abandoned => IssueReason::NotPlanned,
            }),
            adds_to_board,
        })
    }

    /// Checks whether the merge of `pull` still closes a reopened issue. An issue that was reopened
    /// after the merge stays open, and the reason is returned. An issue that was reopened before
    /// the merge is closed.
    async fn check_reopening(
        &self,
        issue: &IssueId,
        pull: &PullRequest,
    ) -> Result<Result<(), String>> {
        let Some(merged_at) = pull.merged_at else {
            let reason = "it was reopened, and the time of the merge is not known";
            return Ok(Err(reason.to_owned()));
        };
        let limit = self.repo.limits().page_max;
        let mut next = Some(PageReq::first(limit));
        let mut last: Option<Timestamp> = None;
        for _ in 0..MAX_HISTORY_PAGES {
            let Some(page) = next.take() else {
                break;
            };
            let page = self.repo.issue_history(issue, page).await?;
            let reopenings = (page.items.iter()).filter(|e| e.kind == StatusEventKind::Reopened);
            last = last.max(reopenings.map(|event| event.created_at).max());
            next = page.next.map(|cursor| PageReq::after(cursor, limit));
        }
        if next.is_some() {
            let message =
                format!("it was reopened, and its history has more than {MAX_HISTORY_PAGES} pages");
            return Err(Error::new(ErrorKind::Protocol, message)
                .with_hint("close the issue by hand if it is done"));
        }
        Ok(match last {
            Some(at) if at <= merged_at => Ok(()),
            Some(_) => Err("it was reopened after the merge".to_owned()),
            None => Err("it was reopened, and its history does not show when".to_owned()),
        })
    }

    /// Moves or closes one issue. Returns the reason if nothing is left to do.
    async fn carry_out(
        &self,
        planned: &MergeStep,
        merge: &MergeRef,
        late: Option<&PullRequest>,
    ) -> Result<Option<String>> {
        for _ in 0..MAX_ATTEMPTS {
            let sheet = self.read(&planned.id).await?;
            let judged = self.step_of(&sheet, &planned.name, Some(merge), late);
            let step = match judged.await? {
                Ok(step) => step,
                // The forge itself has closed the issue, which is the intended result.
                Err(_) if self.workflow.is_none() && sheet.issue.state == IssueState::Closed => {
                    return Ok(None);
                }
                Err(reason) => return Ok(Some(reason.to_string())),
            };
            if step.adds_to_board.is_some() && planned.adds_to_board.is_none() {
                return Ok(Some("it left the board in the meantime".to_owned()));
            }
            if step.from != planned.from || step.to != planned.to {
                return Ok(Some(format!(
                    "it was moved from {} to {} in the meantime",
                    planned.shown_from(),
                    step.shown_from()
                )));
            }
            let (edit, from, to) = self.edit_of(&sheet.issue, &step);
            let event = TrailEvent::Moved {
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
            let entry = TrailEntry::new(event, None);
            if let TrailSwap::Written(outcome) = self.swap(&sheet, edit, &entry).await? {
                return match took_effect(&outcome.ingestion) {
                    true => Ok(self.yield_to_earlier(&planned.id, merge, &entry).await),
                    false => Err(Error::precondition(
                        forge_core::Precondition::Rule,
                        "its record is stored, but no index shows it",
                    )),
                };
            }
        }
        Err(super::too_many_conflicts(&planned.id))
    }

    /// Checks whether another process has already moved the issue for the same merge. If so,
    /// deletes the entry `mine`, so that the trail has only one move, and returns the reason.
    async fn yield_to_earlier(
        &self,
        id: &IssueId,
        merge: &MergeRef,
        mine: &TrailEntry,
    ) -> Option<String> {
        let own = self.ledger();
        let ledger: &dyn Ledger = match self.workflow {
            Some(workflow) => workflow.ledger.as_ref(),
            None => &own,
        };
        if ledger.promise() == ClaimGuarantee::Exclusive {
            return None;
        }
        // The issue has moved, so a later failure must not turn the move into an error.
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
                let keeps = self.repo.supports(Capability::IssueReason);
                let mut edit = EditIssue::default();
                edit.state = Some(IssueState::Closed);
                edit.reason = step.closes.filter(|_| keeps);
                (edit, Some("open".to_owned()), "closed".to_owned())
            }
        }
    }

    fn only_default_branch(&self) -> bool {
        self.workflow
            .is_none_or(|w| w.definition().on_merge.only_default_branch)
    }

    /// Returns the reason why the merge skips an issue whatever its state is, or `None`.
    fn skip_reason(&self, issue: &IssueId, pull: &PullRequest, info: &RepoInfo) -> Option<String> {
        if !is_own(issue, pull, info) {
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
            // The default branch is not known: the head was guessed because of its checkout.
            Some(default) if info.default_is_checked_out && *default == pull.head_branch => None,
            Some(default) => Some(format!("only a merge into {default} {does} issues")),
            None => Some("the repository has no default branch".to_owned()),
        }
    }
}

/// An issue that a pull request closes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClosingIssue {
    /// The issue.
    pub id: IssueId,
    /// True if the issue is open; `None` if the data of the pull request does not tell.
    pub open: Option<bool>,
    /// True if only a reference in the pull request's record names the issue. Such an issue may
    /// belong to another repository.
    pub by_reference: bool,
}

/// Returns the issues that `pull` closes, from the links of the forge. On a forge without such
/// links, lines of the description (`Closes #3`, `Closes at://…`) and the references of the pull
/// request's record count.
#[must_use]
pub fn linked_issues(pull: &PullRequest, repo: &Repo, hosts: &Hosts) -> Vec<ClosingIssue> {
    let links = repo.support(Capability::PrCreateCloses);
    let mut linked: Vec<ClosingIssue> = (pull.linked_issues.iter().flatten())
        .map(|issue| ClosingIssue {
            id: IssueId::number(issue.repo.clone(), issue.number),
            open: Some(issue.open),
            by_reference: false,
        })
        .collect();
    if matches!(links, Support::ClientSide { .. } | Support::No { .. }) {
        let named = closing_issues(&pull.description, &pull.id.repo, hosts);
        linked.extend(named.into_iter().map(|id| ClosingIssue {
            id,
            open: None,
            by_reference: false,
        }));
        let references = pull.closing_references.iter();
        linked.extend(references.map(|id| ClosingIssue {
            id: id.clone(),
            open: None,
            by_reference: true,
        }));
    }
    let mut seen = BTreeSet::new();
    linked.retain(|issue| seen.insert(order(&issue.id)));
    linked
}

/// Returns true for an issue in the repository of the pull request.
fn is_own(issue: &IssueId, pull: &PullRequest, info: &RepoInfo) -> bool {
    let key = issue.repo.comparison_key();
    key == info.id.comparison_key() || key == pull.id.repo.comparison_key()
}

/// Returns the reason for skipping an issue that this merge has already moved.
fn moved_before(done: &TrailEntry) -> String {
    match &done.event {
        TrailEvent::Moved { from, to, .. } => {
            let from = from.as_deref().unwrap_or("no state");
            format!("the merge moved it before ({from} -> {to})")
        }
        TrailEvent::Claimed { .. } => "the merge moved it before".to_owned(),
    }
}

fn merge_ref(pull: &PullRequest) -> Option<MergeRef> {
    let commit = pull.merge_commit.as_deref().unwrap_or_default();
    (pull.state == PrState::Merged).then(|| MergeRef::new(&pull.id, commit))
}

/// Returns `#7`, with the name of the repository if the issue is in another one.
fn name_of(issue: &IssueId, pull: &PullRequest) -> String {
    match issue.repo.comparison_key() == pull.id.repo.comparison_key() {
        true => short(issue),
        false => issue.to_string(),
    }
}

/// Returns the error for an issue that was not read within [`MAX_PLAN_TIME`].
fn too_slow() -> Error {
    let message = "it was not read, because reading the linked issues took too long";
    Error::new(ErrorKind::Protocol, message).with_hint("close the issue by hand if it is done")
}
