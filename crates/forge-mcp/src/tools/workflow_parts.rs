//! Result parts of the workflow tools: issues, claims (an agent's reservation of an issue) and
//! moves between states.

use forge::workflow::{
    Candidate, Claim, Definition, Member, Pick, StateChange, TrailEntry, TrailEvent, Workflow,
};
use forge_core::{Error, Outcome, PrKey, model::IssueId};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::{confirmation::in_quotes, write_output};
use crate::{
    calls::{CallContext, IssueTarget, ToolOutput},
    content::{Clean, name},
    output::WriteOut,
};

/// Maximum number of issues in a list. The result gives the number of issues left out.
pub(super) const MAX_ROWS: usize = 50;
/// Maximum length of a title, state or reason, in characters.
pub(super) const MAX_TEXT: usize = 120;

/// Cleans foreign text to one line, cut to the maximum length.
pub(super) fn line(call: &CallContext, text: &str) -> Clean {
    call.cleaner.line(text).cut(MAX_TEXT)
}

/// Returns the name of an issue: `#7` if it is in the repository of `of`, otherwise its locator.
pub(super) fn issue_name(call: &CallContext, id: &IssueId, of: &IssueId) -> String {
    let own = id.repo.comparison_key() == of.repo.comparison_key();
    let id = match &id.key {
        PrKey::Number(number) if own => format!("#{number}"),
        _ => id.to_string(),
    };
    call.cleaner.line(&id).as_data().to_owned()
}

/// Returns the workflow of the repository that contains an issue.
pub(super) async fn workflow_of(
    call: &CallContext,
    target: &IssueTarget,
) -> Result<Workflow, Error> {
    call.server.forges().workflow(&target.repo).await
}

/// An issue of a group, or one that others wait for.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MemberOut {
    pub issue: String,
    #[serde(skip_serializing_if = "Clean::is_empty")]
    pub title: Clean,
    /// Absent for an issue without a state
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Clean>,
    /// The state as text.
    #[serde(skip)]
    pub state_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Clean>,
    /// Number of states up to the target
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_to_target: Option<usize>,
}

impl MemberOut {
    /// Converts an issue. Omits title and state if this server may not read the issue's repository.
    pub fn of(
        call: &CallContext,
        definition: &Definition,
        of: &IssueId,
        id: &IssueId,
        title: &str,
        state: Option<&str>,
    ) -> Self {
        let (title, state, state_text) = match may_show(call, id, of) {
            true => (
                line(call, title),
                state.map(|state| line(call, state)),
                state_of(call, definition, state),
            ),
            false => (Clean::default(), None, "state not shown".to_owned()),
        };
        Self {
            issue: issue_name(call, id, of),
            title,
            state,
            state_text,
            estimate: None,
            priority: None,
            distance_to_target: None,
        }
    }

    /// Converts an issue with its estimate and priority, as [`Self::of`] does.
    pub fn of_member(
        call: &CallContext,
        definition: &Definition,
        of: &IssueId,
        member: &Member,
    ) -> Self {
        let (id, state) = (&member.id, member.state.as_deref());
        let shown = may_show(call, id, of);
        let value = |value: &Option<String>| {
            let value = value.as_deref().filter(|_| shown);
            value.map(|value| line(call, value))
        };
        Self {
            estimate: value(&member.estimate),
            priority: value(&member.priority),
            ..Self::of(call, definition, of, id, &member.title, state)
        }
    }

    /// Formats the issue: `#7 In Review | estimate M | "Its title"`.
    pub fn text(&self) -> String {
        let mut text = format!("{} {}", self.issue, self.state_text);
        if let Some(distance) = self.distance_to_target {
            text.push_str(&format!(" | {distance} behind"));
        }
        for (what, value) in [("estimate", &self.estimate), ("priority", &self.priority)] {
            if let Some(value) = value {
                text.push_str(&format!(" | {what} {}", name(value)));
            }
        }
        text + &format!(" | {}\n", self.title)
    }
}

/// Formats the name of a state within a line. A state that the workflow defines has no quotes. Any
/// other state is foreign text and is quoted, because it could imitate a fact of the result.
pub(super) fn state(state: &Clean, is_defined: bool) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " -_.".contains(c);
    match is_defined && !state.is_empty() && state.as_data().chars().all(is_plain) {
        true => state.as_data().to_owned(),
        false => in_quotes(state.as_data()),
    }
}

/// Cleans and formats the name of a state, or `no state`.
pub(super) fn state_of(call: &CallContext, of: &Definition, name: Option<&str>) -> String {
    match name {
        Some(name) => state(&line(call, name), of.state(name).is_some()),
        None => "no state".to_owned(),
    }
}

/// Returns true if an issue may be shown in a result about the issue `of`: it is in the same
/// repository, or in one that this server may read.
pub(super) fn may_show(call: &CallContext, id: &IssueId, of: &IssueId) -> bool {
    id.repo.comparison_key() == of.repo.comparison_key() || call.server.may_read(&id.repo)
}

/// Returns the first items of a list, and the number of items left out.
pub(super) fn first<T>(mut all: Vec<T>) -> (Vec<T>, usize) {
    let left_out = all.len().saturating_sub(MAX_ROWS);
    all.truncate(MAX_ROWS);
    (all, left_out)
}

/// Claim of an issue.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ClaimOut {
    /// The holder passes it as claim with each write
    pub id: Clean,
    pub holder: Clean,
    pub command: Clean,
    pub since: String,
    pub expires_at: String,
    pub expired: bool,
}

impl ClaimOut {
    pub fn of(call: &CallContext, claim: &Claim) -> Self {
        Self {
            id: line(call, &claim.id),
            holder: line(call, &claim.holder),
            command: line(call, &claim.command),
            since: claim.since.to_string(),
            expires_at: claim.expires_at().to_string(),
            expired: claim.is_expired(forge_core::Timestamp::now()),
        }
    }

    pub fn text(&self) -> String {
        let verb = if self.expired { "ended" } else { "ends" };
        format!(
            "claim {} of {} for {}: the lease {verb} {}\n",
            name(&self.id),
            name(&self.holder),
            name(&self.command),
            self.expires_at
        )
    }
}

/// A move in the audit trail.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MoveOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Clean>,
    to: Clean,
    command: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Clean>,
    /// The pull request whose merge moved the issue
    #[serde(skip_serializing_if = "Option::is_none")]
    merge: Option<Clean>,
    /// Both states as text.
    #[serde(skip)]
    states: String,
}

impl MoveOut {
    pub fn of(call: &CallContext, definition: &Definition, entry: &TrailEntry) -> Option<Self> {
        let TrailEvent::Moved {
            from,
            to,
            command,
            merge,
            ..
        } = &entry.event
        else {
            return None;
        };
        Some(Self {
            from: from.as_deref().map(|from| line(call, from)),
            to: line(call, to),
            command: line(call, command),
            reason: entry.reason.as_deref().map(|why| line(call, why)),
            merge: merge.as_ref().map(|merge| line(call, &merge.pull)),
            states: format!(
                "{} -> {}",
                state_of(call, definition, from.as_deref()),
                state_of(call, definition, Some(to))
            ),
        })
    }

    pub fn text(&self) -> String {
        let by = match &self.merge {
            Some(pull) => format!("the merge of {}", name(pull)),
            None => name(&self.command),
        };
        let why = match &self.reason {
            Some(why) => format!(": {why}"),
            None => String::new(),
        };
        format!("moved: {} by {by}{why}\n", self.states)
    }
}

/// Result of a move.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkflowChangeOut {
    #[serde(flatten)]
    written: WriteOut,
    title: Clean,
    /// (unknown) for an issue without a state
    previous_state: Clean,
    new_state: Clean,
    command: Clean,
    /// The intent that was passed
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_from: Option<Clean>,
    /// Whether the move closed (true) or reopened it
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<bool>,
    /// false: stored, but the index does not show the move
    moved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_claim: Option<Clean>,
}

/// Returns the data and the text for a move of an issue.
pub(super) fn moved(
    call: &CallContext,
    definition: &Definition,
    outcome: &Outcome<StateChange>,
) -> ToolOutput<WorkflowChangeOut> {
    let change = &outcome.value;
    let (from, to) = (
        line(call, &change.previous_state),
        line(call, &change.new_state),
    );
    let command = line(call, &change.command);
    let [was, is] = [&change.previous_state, &change.new_state]
        .map(|name| state_of(call, definition, Some(name)));
    let did = match change.claim.is_some() && from == to {
        true => format!("claimed in {is} for {}", name(&command)),
        false => format!("{was} -> {is} by {}", name(&command)),
    };
    let written = write_output::of_issue(call, &change.id, &did, outcome);
    let ToolOutput { mut text, data } = write_output::answer(written);
    text.push('\n');
    match change.closed {
        Some(true) => text.push_str("the issue is closed\n"),
        Some(false) => text.push_str("the issue is open again\n"),
        None => {}
    }
    let claim = change.claim.as_ref().map(|claim| ClaimOut::of(call, claim));
    text.extend(claim.as_ref().map(ClaimOut::text));
    if let Some(ended) = &change.ended_claim {
        text.push_str(&format!("claim {} has ended\n", name(&line(call, ended))));
    }
    text.truncate(text.trim_end().len());
    ToolOutput {
        text,
        data: WorkflowChangeOut {
            written: data,
            title: line(call, &change.title),
            previous_state: from,
            new_state: to,
            command,
            resolved_from: change.resolved_from.as_deref().map(|of| line(call, of)),
            closed: change.closed,
            moved: change.moved,
            claim,
            ended_claim: change.ended_claim.as_deref().map(|of| line(call, of)),
        },
    }
}

impl WorkflowChangeOut {
    /// Takes the claim out of the result, for a result that shows the claim separately.
    pub fn take_claim(&mut self) -> Option<ClaimOut> {
        self.claim.take()
    }
}

/// An issue to work on.
#[derive(Debug, Serialize, JsonSchema)]
struct CandidateOut {
    #[serde(flatten)]
    member: MemberOut,
    /// Claimed by somebody
    is_locked: bool,
    /// Open issues that block it
    blocked_by: Vec<String>,
}

/// Result of a pick.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PickOut {
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<CandidateOut>,
    /// Number of other issues that qualify
    alternatives: usize,
    reason: Clean,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedOut>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped_left_out: usize,
}

/// An issue that stays, and why.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SkippedOut {
    pub issue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_state: Option<Clean>,
    pub reason: Clean,
}

impl PickOut {
    pub fn of(call: &CallContext, definition: &Definition, of: &IssueId, pick: &Pick) -> Self {
        let found = |candidate: &Candidate| CandidateOut {
            member: MemberOut::of_member(call, definition, of, &candidate.member),
            is_locked: candidate.held_by.is_some(),
            blocked_by: (candidate.blocked_by.iter())
                .map(|id| issue_name(call, id, of))
                .collect(),
        };
        let skipped = pick.skipped.iter().map(|(id, why)| SkippedOut {
            issue: issue_name(call, id, of),
            current_state: None,
            reason: line(call, why),
        });
        let (skipped, skipped_left_out) = first(skipped.collect());
        Self {
            found: pick.issue.is_some(),
            issue: pick.issue.as_ref().map(found),
            alternatives: pick.alternatives,
            reason: call.cleaner.line(&pick.reason).cut(4 * MAX_TEXT),
            skipped,
            skipped_left_out,
        }
    }

    pub fn text(&self) -> String {
        let mut text = match &self.issue {
            Some(issue) => issue.member.text(),
            None => "nothing to work on\n".to_owned(),
        };
        text.push_str(&format!("why: {}\n", self.reason));
        for SkippedOut { issue, reason, .. } in &self.skipped {
            text.push_str(&format!("skipped: {issue} {reason}\n"));
        }
        if self.skipped_left_out > 0 {
            text.push_str(&format!(
                "and {} more were skipped\n",
                self.skipped_left_out
            ));
        }
        text
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) const fn is_zero(count: &usize) -> bool {
    *count == 0
}
