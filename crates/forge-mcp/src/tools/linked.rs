//! What a merge does with the issues of its pull request, as the tool shows it.

use forge::workflow::{LeftIssue, MergeEffects, MergePlan, MergeReport, MergeStep, Workflow};
use forge_core::{Error, model::PullRequest};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use crate::{
    calls::{Call, Target},
    content::Clean,
};

/// What merging `pull` closes or moves, with the workflow that says so.
pub(super) struct Effects {
    workflow: Option<Workflow>,
    plan: MergePlan,
    /// How many issues could not be read.
    unread: usize,
}

impl Effects {
    /// What merging `pull` does. Costs nothing where it names no issue.
    ///
    /// # Errors
    /// `config` where the workflow that is configured cannot be used.
    pub async fn of(call: &Call, target: &Target, pull: &PullRequest) -> Result<Self, Error> {
        let forges = call.server.forges();
        let linked = forge::workflow::linked_issues(pull, &target.repo, forges.hosts());
        // A workflow that cannot be used keeps no pull request that moves nothing from being merged.
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

    /// No issue is closed or moved, for this reason.
    pub fn left_alone(mut self, why: &str) -> Self {
        self.plan = self.plan.left_alone(why);
        self
    }

    /// What is done with the issues, as an order: `Close`.
    pub fn verb(&self) -> &'static str {
        match self.plan.moves {
            true => "Move",
            false => "Close",
        }
    }

    /// The issues that are closed, `#3, #4`, or moved, `#3: In Review -> Done (closed)`. Empty where
    /// there are none.
    pub fn in_words(&self) -> String {
        self.plan.in_words()
    }

    /// All issues that are to be closed or moved, for a seal.
    pub fn bound(&self) -> String {
        let names: Vec<String> = self.plan.steps.iter().map(MergeStep::in_words).collect();
        format!("{names:?}")
    }

    /// Closes or moves them, now that `pull` is merged.
    pub async fn carry_out(self, call: &Call, target: &Target, pull: &PullRequest) -> Linked {
        let hosts = call.server.forges().hosts().clone();
        let effects = MergeEffects::new(target.repo.clone(), self.workflow.as_ref(), hosts);
        let report = effects.apply(pull, self.plan).await;
        Linked::of(call, &report, self.unread)
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
    /// Whether a write of one was tried and failed.
    #[serde(skip)]
    tried: bool,
}

/// An issue that was not closed or moved.
#[derive(Debug, Serialize, JsonSchema)]
struct Left {
    issue: Clean,
    reason: Clean,
}

impl Linked {
    pub(super) fn of(call: &Call, report: &MergeReport, unread: usize) -> Self {
        let listed = |of: &[LeftIssue]| -> Vec<Left> {
            let left = of.iter().map(|left| Left {
                issue: call.cleaner.line(&left.issue),
                reason: call.cleaner.line(&left.reason),
            });
            left.collect()
        };
        let transitioned = report.transitioned.iter();
        Self {
            linked_issues_transitioned: transitioned
                .map(|step| call.cleaner.line(&step.in_words()))
                .collect(),
            linked_issues_failed: listed(&report.failed),
            linked_issues_skipped: listed(&report.skipped),
            moved: report.moves,
            tried: report.failed.len() > unread,
        }
    }

    /// Whether no issue was closed, moved or changed.
    pub fn is_unchanged(&self) -> bool {
        self.linked_issues_transitioned.is_empty() && !self.tried
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
