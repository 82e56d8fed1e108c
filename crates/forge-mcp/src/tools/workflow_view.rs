use forge::workflow::{
    ClaimGuarantee, Convergence, Definition, GroupView, Member, MemberState, Position, convergence,
    resolve,
};
use forge_core::{Error, model::IssueId};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    issue_write_output::non_blank,
    workflow_parts::{
        ClaimOut, MemberOut, MoveOut, first, is_zero, issue_name, line, may_show, state,
        workflow_of,
    },
};
use crate::{
    calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{Clean, name},
    output::{WarningOut, serde_name},
};

pub(super) struct WorkflowView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowViewInput {
    repo: Option<String>,
    /// Number or URL
    issue: String,
    /// State; adds whether each issue of the group has reached it
    target_state: Option<String>,
    /// State or intent to resolve for command
    state: Option<String>,
    /// Needed for state
    command: Option<String>,
}

/// Maximum number of moves in a result; the newest are kept.
const MAX_MOVES: usize = 10;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkflowViewOut {
    repo: String,
    issue: String,
    /// Locator of the issue, for the text.
    #[serde(skip)]
    name: String,
    phase: Clean,
    reason: Clean,
    remaining_phases: Vec<Clean>,
    /// proceed, wait, or escalate to a person
    recommendation: String,
    /// The issues that the phase waits for
    convergence: WaitOut,
    is_group: bool,
    /// The first issue of the group
    #[serde(skip_serializing_if = "Option::is_none")]
    group_primary: Option<String>,
    /// The issues of the group, each after its blockers
    issues: Vec<MemberOut>,
    #[serde(skip_serializing_if = "is_zero")]
    issues_left_out: usize,
    /// Issues that block each other
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cycles: Vec<Vec<String>>,
    /// The group was not read completely
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs_human: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_states: Vec<Clean>,
    /// If target_state was passed
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<TargetOut>,
    /// If state and command were passed
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<ResolvedOut>,
    /// The issue's claim
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimOut>,
    /// Guarantee of claims: exclusive, ordered (by the server) or advisory
    claims: String,
    /// The issue's last moves
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<MoveOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WaitOut {
    required: bool,
    met: bool,
    blocking: Vec<MemberOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TargetOut {
    converged: bool,
    target_state: String,
    total: usize,
    ready: usize,
    blocking: Vec<MemberOut>,
    recommendation: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ResolvedOut {
    state: Clean,
    was_intent: bool,
    command: Clean,
}

impl ResolvedOut {
    fn of(
        call: &CallContext,
        definition: &Definition,
        said: &str,
        command: &str,
    ) -> Result<Self, Error> {
        let resolved = resolve(definition, said, command)?;
        Ok(Self {
            state: line(call, &resolved.state.name),
            was_intent: resolved.was_intent,
            command: line(call, &definition.full_name(command)),
        })
    }
}

impl Tool for WorkflowView {
    const SPEC: ToolSpec = ToolSpec {
        name: "workflow_view",
        title: "Where an issue is in the workflow",
        description: "State of an issue's group: phase and why, what it waits for, claim, last \
                      moves; with target_state, whether all reached it; with state and \
                      command, what state means. Recovery: issue_list has the numbers.",
        effect: ToolEffect::Read,
    };
    type Args = WorkflowViewInput;
    type Out = WorkflowViewOut;

    async fn run(
        call: &CallContext,
        args: WorkflowViewInput,
    ) -> Result<ToolOutput<WorkflowViewOut>, ToolError> {
        let target = call
            .issue(non_blank(args.repo).as_deref(), &args.issue)
            .await?;
        let workflow = workflow_of(call, &target).await?;
        let definition = workflow.definition();
        let wanted = non_blank(args.target_state);
        // An invalid state is refused before anything is read.
        if let Some(wanted) = &wanted {
            convergence(definition, &[], wanted)?;
        }
        let resolved = match (non_blank(args.state), non_blank(args.command)) {
            (None, None) => None,
            (said, command) => Some(ResolvedOut::of(
                call,
                definition,
                &said.unwrap_or_default(),
                &command.unwrap_or_default(),
            )?),
        };
        let (position, group) = workflow.position(&target.id).await?;
        let reached = match &wanted {
            Some(wanted) => Some(group.convergence(definition, wanted)?),
            None => None,
        };
        let trail = workflow.trail(&target.id).await?;
        let of = ViewContext {
            call,
            definition,
            issue: &target.id,
        };
        let mut out = of.position(&position, &group, workflow.promise());
        out.target = reached.as_ref().map(|reached| of.target(reached));
        out.resolved = resolved;
        out.claim = trail.claim.as_ref().map(|claim| ClaimOut::of(call, claim));
        let older = trail.moves.len().saturating_sub(MAX_MOVES);
        let moves = trail.moves.iter().skip(older);
        out.moves = moves
            .filter_map(|entry| MoveOut::of(call, definition, entry))
            .collect();
        out.warnings = WarningOut::all(&group.warnings, &call.about(), &call.cleaner);
        Ok(ToolOutput {
            text: out.text(),
            data: out,
        })
    }
}

/// The values with which each part of the result is formatted.
struct ViewContext<'a> {
    call: &'a CallContext,
    definition: &'a Definition,
    issue: &'a IssueId,
}

impl ViewContext<'_> {
    fn position(
        &self,
        position: &Position,
        group: &GroupView,
        promise: ClaimGuarantee,
    ) -> WorkflowViewOut {
        let (call, of) = (self.call, self.issue);
        let ids =
            |ids: &[IssueId]| first(ids.iter().map(|id| issue_name(call, id, of)).collect()).0;
        let (issues, issues_left_out) =
            first(group.issues.iter().map(|m| self.member(m)).collect());
        // The reason for the recommendation, and the list of unknown states, can name states of
        // issues in repositories that this server may not read. Such a reason and such states are
        // left out.
        let is_shown = |member: &&Member| may_show(call, &member.id, of);
        let names_state = |member: &Member| {
            let state = member.state.as_deref();
            state.is_some_and(|state| position.reason.contains(state))
        };
        let mut members = group.issues.iter();
        let reason = match members.any(|member| !is_shown(&member) && names_state(member)) {
            true => "not shown, because this server may not read all issues of the group",
            false => position.reason.as_str(),
        };
        let shown: Vec<&Member> = group.issues.iter().filter(is_shown).collect();
        let unknown = position.unknown_states.iter();
        let unknown = unknown.filter(|name| shown.iter().any(|m| m.state.as_ref() == Some(*name)));
        let cycles = group.group.cycles.iter().map(|cycle| ids(cycle));
        WorkflowViewOut {
            repo: of.repo.to_string(),
            issue: of.key.to_string(),
            name: of.to_string(),
            phase: line(call, &position.phase),
            reason: line(call, reason),
            remaining_phases: (position.remaining_phases.iter())
                .map(|phase| line(call, phase))
                .collect(),
            recommendation: serde_name(&position.recommendation),
            convergence: WaitOut {
                required: position.convergence.required,
                met: position.convergence.met,
                blocking: self.blocking(&position.convergence.blocking),
            },
            is_group: position.is_group,
            group_primary: (group.group.primary.as_ref())
                .filter(|_| position.is_group)
                .map(|id| issue_name(call, id, of)),
            issues,
            issues_left_out,
            cycles: first(cycles.collect()).0,
            truncated: group.group.truncated,
            needs_human: ids(&position.needs_human),
            unknown_states: first(unknown.map(|state| line(call, state)).collect()).0,
            target: None,
            resolved: None,
            claim: None,
            claims: serde_name(&promise),
            moves: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn member(&self, member: &Member) -> MemberOut {
        MemberOut::of_member(self.call, self.definition, self.issue, member)
    }

    fn blocking(&self, members: &[MemberState]) -> Vec<MemberOut> {
        let of = |m: &MemberState| {
            let state = m.state.as_deref();
            MemberOut::of(
                self.call,
                self.definition,
                self.issue,
                &m.id,
                &m.title,
                state,
            )
        };
        first(members.iter().map(of).collect()).0
    }

    fn target(&self, reached: &Convergence) -> TargetOut {
        let blocking = reached.blocking.iter().map(|b| MemberOut {
            distance_to_target: b.distance_to_target,
            ..MemberOut::of(
                self.call,
                self.definition,
                self.issue,
                &b.id,
                &b.title,
                b.current_state.as_deref(),
            )
        });
        TargetOut {
            converged: reached.converged,
            target_state: reached.target_state.clone(),
            total: reached.total,
            ready: reached.ready,
            blocking: first(blocking.collect()).0,
            recommendation: serde_name(&reached.recommendation),
        }
    }
}

impl WorkflowViewOut {
    fn text(&self) -> String {
        let mut text = format!(
            "{}: phase {}, {}: {}\n",
            self.name,
            state(&self.phase, true),
            self.recommendation,
            self.reason
        );
        if !self.remaining_phases.is_empty() {
            let phases = self.remaining_phases.iter();
            let phases: Vec<String> = phases.map(|phase| state(phase, true)).collect();
            text.push_str(&format!("to do: {}\n", phases.join(", ")));
        }
        for member in &self.issues {
            text.push_str(&format!("issue: {}", member.text()));
        }
        if self.issues_left_out > 0 {
            text.push_str(&format!("and {} more issues\n", self.issues_left_out));
        }
        if self.truncated {
            text.push_str("not all of the group was read\n");
        }
        let blocking = &self.convergence.blocking;
        let waits: Vec<&str> = blocking.iter().map(|m| m.issue.as_str()).collect();
        if self.convergence.required && !waits.is_empty() {
            text.push_str(&format!("waits for: {}\n", waits.join(", ")));
        }
        for cycle in &self.cycles {
            text.push_str(&format!("wait for each other: {}\n", cycle.join(", ")));
        }
        if !self.needs_human.is_empty() {
            let names = self.needs_human.join(", ");
            text.push_str(&format!("a person is to decide: {names}\n"));
        }
        if !self.unknown_states.is_empty() {
            let names: Vec<String> = self.unknown_states.iter().map(Clean::to_string).collect();
            text.push_str(&format!("unknown states: {}\n", names.join(", ")));
        }
        if let Some(target) = &self.target {
            let is = if target.converged { "is" } else { "is not" };
            text.push_str(&format!(
                "the group {is} at {}: {} of {} are ready; {}\n",
                target.target_state, target.ready, target.total, target.recommendation
            ));
            for member in &target.blocking {
                text.push_str(&format!("behind: {}", member.text()));
            }
        }
        if let Some(resolved) = &self.resolved {
            let (to, command) = (state(&resolved.state, true), name(&resolved.command));
            text.push_str(&format!("for {command} that is {to}\n"));
        }
        match &self.claim {
            Some(claim) => text.push_str(&claim.text()),
            None => text.push_str("nobody holds it\n"),
        }
        self.moves.iter().for_each(|m| text.push_str(&m.text()));
        self.warnings.iter().for_each(|w| text.push_str(&w.text()));
        text.truncate(text.trim_end().len());
        text
    }
}
