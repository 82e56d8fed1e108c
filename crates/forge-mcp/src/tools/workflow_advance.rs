use forge::workflow::{AdvanceReport, Workflow};
use forge_core::{
    Changed, Error, ErrorKind,
    model::{IssueId, PrState},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    confirmation::named,
    issue_write_output::non_blank,
    workflow_parts::{
        SkippedOut, first, is_zero, issue_name, line, may_show, state_of, workflow_of,
    },
};
use crate::{
    calls::{
        CallContext, ConfirmationRequest, IssueTarget, Tool, ToolEffect, ToolError, ToolOutput,
        ToolSpec,
    },
    content::Clean,
    output::WarningOut,
};

pub(super) struct WorkflowAdvance;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowAdvanceInput {
    repo: Option<String>,
    /// Moves its sub-issues or parent
    issue: String,
    /// State for sub-issues
    target_state: Option<String>,
    /// Move the parent to the last gate that all of its sub-issues have reached
    #[serde(default)]
    parent: bool,
    /// Also move claimed sub-issues
    #[serde(default)]
    pass_locks: bool,
    /// Previous call's token; only without elicitation
    confirm: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkflowAdvanceOut {
    repo: String,
    issue: String,
    /// Locator of the issue, for the text.
    #[serde(skip)]
    name: String,
    /// Empty if the parent does not move
    #[serde(skip_serializing_if = "Clean::is_empty")]
    target_state: Clean,
    advanced: Vec<AdvancedOut>,
    #[serde(skip_serializing_if = "is_zero")]
    advanced_left_out: usize,
    skipped: Vec<SkippedOut>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped_left_out: usize,
    errors: Vec<FailedOut>,
    #[serde(skip_serializing_if = "is_zero")]
    errors_left_out: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AdvancedOut {
    issue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_state: Option<Clean>,
    to_state: Clean,
    /// Both states as text.
    #[serde(skip)]
    states: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FailedOut {
    issue: String,
    error: Clean,
}

/// Maximum number of issues that a question names. The names end with the number of issues left
/// out.
const MAX_NAMED: usize = 20;
/// Maximum length of the error for one issue, and of the error's hint, in characters.
const MAX_ERROR: usize = 400;

impl Tool for WorkflowAdvance {
    const SPEC: ToolSpec = ToolSpec {
        name: "workflow_advance",
        title: "Advance sub-issues or a parent",
        description: "After the user agrees, moves an issue's sub-issues forward to a state, or \
                      its parent to a gate. None moves backwards; a failure does not stop the \
                      others. Recovery: call again, or workflow_set_state.",
        effect: ToolEffect::Destroy,
    };
    type Args = WorkflowAdvanceInput;
    type Out = WorkflowAdvanceOut;

    async fn run(
        call: &CallContext,
        args: WorkflowAdvanceInput,
    ) -> Result<ToolOutput<WorkflowAdvanceOut>, ToolError> {
        let target = call
            .issue(non_blank(args.repo).as_deref(), &args.issue)
            .await?;
        let to = non_blank(args.target_state);
        let to = match (args.parent, to) {
            (true, None) => None,
            (false, Some(to)) => Some(to),
            (true, Some(_)) => {
                return Err(Error::invalid(
                    "target_state",
                    "target_state and parent exclude each other: the sub-issues determine the \
                    state of a parent",
                )
                .with_hint("pass only one of target_state and parent")
                .into());
            }
            (false, None) => {
                return Err(Error::invalid("target_state", "the state is missing")
                    .with_hint("pass target_state, or parent=true to move the parent")
                    .into());
            }
        };
        let workflow = workflow_of(call, &target).await?;
        let advance = Advance {
            workflow: &workflow,
            target: &target,
            to: to.as_deref(),
            pass_locks: args.pass_locks,
        };
        let plan = advance.run(None).await?;
        if plan.advanced.is_empty() {
            return Ok(answer(call, &workflow, &target, &plan));
        }
        // A sub-issue may be in another repository. Opening that repository checks that this server
        // may change issues there.
        let own = target.id.repo.comparison_key();
        for moved in &plan.advanced {
            if moved.id.repo.comparison_key() != own {
                call.server.open(&moved.id.repo, true).await?;
            }
        }
        let bound = format!("{:?} {}", plan.advanced, plan.target_state);
        let question = question(call, &workflow, &target, &plan, args.parent);
        let id = target.id.to_string();
        call.confirm(ConfirmationRequest {
            id: &id,
            head: None,
            state: PrState::Open,
            question: &question,
            bound: &bound,
            confirm: args.confirm.as_deref(),
        })
        .await?;
        // The user may have taken minutes to answer, so the moves are planned again.
        let now = advance.run(None).await?;
        if now.advanced != plan.advanced {
            return Err(changed_moves_error(&target.id, &plan, &now).into());
        }
        let confirmed: Vec<IssueId> = plan.advanced.into_iter().map(|moved| moved.id).collect();
        let report = advance.run(Some(&confirmed)).await?;
        Ok(answer(call, &workflow, &target, &report))
    }
}

struct Advance<'a> {
    workflow: &'a Workflow,
    target: &'a IssueTarget,
    /// The target state of the sub-issues. If it is `None`, the parent is moved instead.
    to: Option<&'a str>,
    pass_locks: bool,
}

impl Advance<'_> {
    /// Moves the confirmed issues. If `confirmed` is `None`, only plans the moves.
    async fn run(&self, confirmed: Option<&[IssueId]>) -> Result<AdvanceReport, Error> {
        let (id, locks) = (&self.target.id, self.pass_locks);
        match (self.to, confirmed) {
            (Some(to), Some(ids)) => {
                let advance = self.workflow.advance_confirmed(id, to, locks, ids);
                advance.await
            }
            (Some(to), None) => self.workflow.advance(id, to, locks, true).await,
            (None, _) => {
                let advance = self.workflow.advance_parent(id, confirmed.is_none());
                advance.await
            }
        }
    }
}

fn question(
    call: &CallContext,
    workflow: &Workflow,
    target: &IssueTarget,
    plan: &AdvanceReport,
    parent: bool,
) -> String {
    let whose = if parent { "the parent" } else { "sub-issues" };
    let moves = plan.advanced.iter().take(MAX_NAMED).map(|moved| {
        let from = state_of(call, workflow.definition(), moved.from_state.as_deref());
        let issue = named(&issue_name(call, &moved.id, &target.id));
        format!("{issue} ({from})")
    });
    let moves: Vec<String> = moves.collect();
    let more = match plan.advanced.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Move {} issue(s), {whose} of {}, to {}: {}{more}?",
        plan.advanced.len(),
        target.id,
        state_of(call, workflow.definition(), Some(&plan.target_state)),
        moves.join(", ")
    )
}

/// Returns the error if the planned moves differ from the moves that the user confirmed.
fn changed_moves_error(id: &IssueId, then: &AdvanceReport, now: &AdvanceReport) -> Error {
    let names = |report: &AdvanceReport| {
        let moves = report.advanced.iter().map(|moved| moved.id.to_string());
        moves.collect::<Vec<_>>().join(", ")
    };
    let kind = ErrorKind::Conflict {
        what: Changed::View,
        expected: names(then),
        actual: names(now),
    };
    let why = format!("the issues that {id} moves have changed meanwhile; none was moved");
    Error::new(kind, why).with_hint("repeat the call: the user is asked again")
}

fn answer(
    call: &CallContext,
    workflow: &Workflow,
    target: &IssueTarget,
    report: &AdvanceReport,
) -> ToolOutput<WorkflowAdvanceOut> {
    let of = &target.id;
    let advanced = report.advanced.iter().map(|moved| AdvancedOut {
        issue: issue_name(call, &moved.id, of),
        from_state: moved.from_state.as_deref().map(|from| line(call, from)),
        to_state: line(call, &moved.to_state),
        states: format!(
            "{} -> {}",
            state_of(call, workflow.definition(), moved.from_state.as_deref()),
            state_of(call, workflow.definition(), Some(&moved.to_state))
        ),
    });
    let skipped = report.skipped.iter().map(|left| SkippedOut {
        issue: issue_name(call, &left.id, of),
        current_state: (left.current_state.as_deref())
            .filter(|_| may_show(call, &left.id, of))
            .map(|at| line(call, at)),
        reason: line(call, &left.reason),
    });
    let errors = report.errors.iter().map(|failed| FailedOut {
        issue: issue_name(call, &failed.id, of),
        error: call.reason(&failed.error, Some(&failed.hint), MAX_ERROR),
    });
    let (advanced, advanced_left_out) = first(advanced.collect());
    let (skipped, skipped_left_out) = first(skipped.collect());
    let (errors, errors_left_out) = first(errors.collect());
    let out = WorkflowAdvanceOut {
        repo: of.repo.to_string(),
        issue: of.key.to_string(),
        name: of.to_string(),
        target_state: line(call, &report.target_state),
        advanced,
        advanced_left_out,
        skipped,
        skipped_left_out,
        errors,
        errors_left_out,
        warnings: WarningOut::all(&report.warnings, &call.about(), &call.cleaner),
    };
    ToolOutput {
        text: out.text(),
        data: out,
    }
}

impl WorkflowAdvanceOut {
    fn text(&self) -> String {
        let counts = [
            ("moved", self.advanced.len() + self.advanced_left_out),
            ("skipped", self.skipped.len() + self.skipped_left_out),
            ("failed", self.errors.len() + self.errors_left_out),
        ];
        let counts = counts.map(|(what, n)| format!("{n} {what}")).join(", ");
        let mut text = format!("{}: {counts}\n", self.name);
        for moved in &self.advanced {
            text.push_str(&format!("moved: {} {}\n", moved.issue, moved.states));
        }
        for SkippedOut { issue, reason, .. } in &self.skipped {
            text.push_str(&format!("skipped: {issue} {reason}\n"));
        }
        for FailedOut { issue, error } in &self.errors {
            text.push_str(&format!("failed: {issue} {error}\n"));
        }
        self.warnings.iter().for_each(|w| text.push_str(&w.text()));
        text.truncate(text.trim_end().len());
        text
    }
}
