//! Shows the effects of a merge on linked issues.

use forge::workflow::{
    LeftIssue, MAX_LINKED_ISSUES, MergeEffects, MergePlan, MergeReport, MergeStep, Workflow,
};
use forge_core::{
    Error,
    model::{IssueId, PullRequest},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::workflow_parts::{MAX_TEXT, state};
use crate::{
    calls::{CallContext, PullTarget},
    content::{Clean, Cleaner, MAX_MESSAGE_CHARS, issue_id},
};

/// The plan for the issues that a pull request closes, with the workflow that moves them.
pub(super) struct LinkedIssuesPlan {
    workflow: Option<Workflow>,
    plan: MergePlan,
    /// The number of issues that could not be read.
    unread: usize,
}

impl LinkedIssuesPlan {
    /// Plans the effects of merging `pull`. Sends no request if there are no linked issues.
    ///
    /// # Errors
    ///
    /// Fails with `config` if the configured workflow is not usable.
    pub async fn of(
        call: &CallContext,
        target: &PullTarget,
        pull: &PullRequest,
    ) -> Result<Self, Error> {
        let forges = call.server.forges();
        let linked = forge::workflow::linked_issues(pull, &target.repo, forges.hosts());
        // The workflow is read only for linked issues. Without them, an unusable workflow must not
        // block the merge.
        let workflow = match linked.is_empty() {
            true => None,
            false => forges.merge_workflow(&target.repo).await?,
        };
        let effects = MergeEffects::new(
            target.repo.clone(),
            workflow.as_ref(),
            forges.hosts().clone(),
        );
        let plan = effects.plan(pull).await?;
        Ok(Self {
            unread: plan.failed.len(),
            plan,
            workflow,
        })
    }

    /// Changes the plan to leave all issues unchanged, for the given reason.
    pub fn left_alone(mut self, why: &str) -> Self {
        self.plan = self.plan.left_alone(why);
        self
    }

    /// Returns the verb for the issues in the confirmation question: `Close` or `Move`.
    pub fn verb(&self) -> &'static str {
        match self.plan.moves {
            true => "Move",
            false => "Close",
        }
    }

    /// Returns the issues to close (`#3, #4`) or to move (`#3: In Review -> Done (closed)`); empty
    /// if there are none. All issues are named, because the user confirms each of them.
    pub fn in_words(&self) -> String {
        let lines: Vec<String> = self.plan.steps.iter().map(step_line).collect();
        lines.join(", ")
    }

    /// Returns the issues that the forge itself closes. [`Self::in_words`] does not contain them.
    pub fn closed_by_forge(&self) -> impl Iterator<Item = &IssueId> {
        self.plan.closed_by_forge.iter().map(|issue| &issue.id)
    }

    /// Returns the sentence of the confirmation question about the issues that the forge itself
    /// closes; empty if there are no such issues.
    pub fn closed_by_forge_in_words(&self, target: &PullTarget) -> String {
        let (all, cleaner) = (&self.plan.closed_by_forge, Cleaner::new());
        let first = all.iter().take(MAX_LINKED_ISSUES);
        let first = first.map(|issue| issue_id(&cleaner.line(&issue.name).cut(2 * MAX_TEXT)));
        let mut names: Vec<String> = first.collect();
        let more = all.len().saturating_sub(MAX_LINKED_ISSUES);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        match all.len() {
            0 => String::new(),
            count => format!(
                " Closed by {} itself ({count}): {}.",
                target.repo.id().host,
                names.join(", ")
            ),
        }
    }

    /// Returns the sentence of the confirmation question about the issues that stay because they
    /// are not on the board of the workflow; empty if there are no such issues.
    pub fn off_board_in_words(&self) -> String {
        let (all, cleaner) = (self.plan.off_board(), Cleaner::new());
        let names: Vec<String> = all
            .iter()
            .map(|left| issue_id(&cleaner.line(&left.issue)))
            .collect();
        match all.first() {
            Some(first) => format!(" Not moved: {} ({}).", names.join(", "), first.reason),
            None => String::new(),
        }
    }

    /// Formats all issues that the merge closes or moves. The confirmation is bound to this text.
    pub fn bound(&self) -> String {
        let steps = self.plan.steps.iter();
        let steps = steps.map(|step| {
            let closes = step.closes.is_some();
            (
                &step.name,
                &step.from,
                &step.to,
                closes,
                &step.adds_to_board,
            )
        });
        let others: Vec<&IssueId> = self.closed_by_forge().collect();
        format!("{:?} {others:?}", steps.collect::<Vec<_>>())
    }

    /// Closes or moves the issues after `pull` is merged.
    pub async fn carry_out(
        self,
        call: &CallContext,
        target: &PullTarget,
        pull: &PullRequest,
    ) -> LinkedIssuesOut {
        let hosts = call.server.forges().hosts().clone();
        let effects = MergeEffects::new(target.repo.clone(), self.workflow.as_ref(), hosts);
        let report = effects.apply(pull, self.plan).await;
        LinkedIssuesOut::of(call, target, &report, self.unread)
    }
}

/// The effects of a merge on the issues that the pull request closes.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct LinkedIssuesOut {
    /// Issues that the merge closed or moved
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_transitioned: Vec<ChangedIssueOut>,
    /// Issues that could not be closed or moved
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_failed: Vec<LeftIssueOut>,
    /// Issues that were left as they are, and why
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_skipped: Vec<LeftIssueOut>,
    /// Further issues that the forge itself closes; not re-read
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_issues_left_to_forge: Vec<NamedIssueOut>,
    /// The host of the forge.
    #[serde(skip)]
    host: String,
    /// The closed or moved issues, as lines of the text.
    #[serde(skip)]
    lines: Vec<String>,
    /// True if a workflow moved the issues to other states; false if they were closed.
    #[serde(skip)]
    moved: bool,
    /// True if closing or moving an issue was tried and failed.
    #[serde(skip)]
    tried: bool,
}

/// Returns the result for one issue: `#3: In Review -> Done (closed)`.
fn step_line(step: &MergeStep) -> String {
    let cleaner = Cleaner::new();
    let state = |name: &str, is_defined| state(&cleaner.line(name).cut(MAX_TEXT), is_defined);
    let mut line = issue_id(&cleaner.line(&step.name));
    if let Some(to) = &step.to {
        line.push_str(": ");
        if step.from.as_ref() != Some(to) {
            let from = match &step.from {
                Some(from) => state(from, step.from_is_defined),
                None => "no state".to_owned(),
            };
            line.push_str(&format!("{from} -> "));
        }
        line.push_str(&state(to, true));
        if step.closes.is_some() {
            line.push_str(" (closed)");
        }
        line.push_str(&step.board_note());
    }
    line
}

/// An issue that was closed or moved.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangedIssueOut {
    issue: Clean,
    /// State before the merge
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Clean>,
    /// Absent without a workflow
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Clean>,
    closed: bool,
    /// The board that the issue was not on
    #[serde(skip_serializing_if = "Option::is_none")]
    added_to_board: Option<String>,
}

impl ChangedIssueOut {
    fn of(call: &CallContext, step: &MergeStep) -> Self {
        let state = |name: &Option<String>| {
            let name = name.as_deref()?;
            Some(call.cleaner.line(name).cut(MAX_TEXT))
        };
        Self {
            issue: call.cleaner.line(&step.name),
            from: state(&step.from),
            to: state(&step.to),
            closed: step.closes.is_some(),
            added_to_board: step.adds_to_board.as_ref().map(ToString::to_string),
        }
    }
}

/// An issue that the forge closes.
#[derive(Debug, Serialize, JsonSchema)]
struct NamedIssueOut {
    issue: Clean,
}

/// An issue that was not closed or moved.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftIssueOut {
    issue: Clean,
    reason: Clean,
}

impl LinkedIssuesOut {
    fn of(call: &CallContext, target: &PullTarget, report: &MergeReport, unread: usize) -> Self {
        let listed = |of: &[LeftIssue]| -> Vec<LeftIssueOut> {
            let left = of.iter().map(|left| LeftIssueOut {
                issue: call.cleaner.line(&left.issue),
                reason: call.reason(&left.reason, left.hint.as_ref(), MAX_MESSAGE_CHARS),
            });
            left.collect()
        };
        let transitioned = report.transitioned.iter();
        let left_to_forge = report.closed_by_forge.iter();
        Self {
            linked_issues_left_to_forge: left_to_forge
                .map(|issue| NamedIssueOut {
                    issue: call.cleaner.line(&issue.name),
                })
                .collect(),
            host: target.repo.id().host.clone(),
            lines: transitioned.clone().map(step_line).collect(),
            linked_issues_transitioned: transitioned
                .map(|step| ChangedIssueOut::of(call, step))
                .collect(),
            linked_issues_failed: listed(&report.failed),
            linked_issues_skipped: listed(&report.skipped),
            moved: report.moves,
            tried: report.failed.len() > unread,
        }
    }

    /// Returns true if no issue was closed or moved, and no write failed.
    pub fn is_unchanged(&self) -> bool {
        self.linked_issues_transitioned.is_empty() && !self.tried
    }

    /// Formats one line for all closed or moved issues, one for the issues left to the forge, and
    /// one for each issue that was not closed or moved.
    pub fn text(&self) -> String {
        let (did, could_not, not) = match self.moved {
            true => ("moved", "could not move", "not moved"),
            false => ("closed", "could not close", "not closed"),
        };
        let mut text = String::new();
        if !self.linked_issues_transitioned.is_empty() {
            text.push_str(&format!("\n{did}: {}", self.lines.join(", ")));
        }
        let left_to_forge = self.linked_issues_left_to_forge.iter();
        let left_to_forge: Vec<String> = left_to_forge.map(|left| issue_id(&left.issue)).collect();
        if !left_to_forge.is_empty() {
            let (host, issues) = (&self.host, left_to_forge.join(", "));
            text.push_str(&format!("\nleft to {host}, not read: {issues}"));
        }
        let failed = self.linked_issues_failed.iter().map(|l| (could_not, l));
        let skipped = self.linked_issues_skipped.iter().map(|l| (not, l));
        for (what, LeftIssueOut { issue, reason }) in failed.chain(skipped) {
            text.push_str(&format!("\n{what}: {}: {reason}", issue_id(issue)));
        }
        text
    }
}
