//! Moves one issue.

use forge_core::{
    Action, Error, Outcome, Param, Precondition, Result, Warning,
    model::{Issue, IssueId, IssueState},
    text::one_line,
};
use serde::Serialize;

use super::{
    Workflow, claim_lost_error, held, now, race::is_empty, too_many_conflicts, with_setup,
};
use crate::{
    Claim, ConvergenceGate, IssueTrail, ResolvedState, TrailEntry, TrailEvent, TrailSwap,
    ledger::took_effect,
    member::{name_in, short},
    resolve,
    resolve::check_strict_transition,
};

const NO_STATE: &str = "(unknown)";

/// Maximum number of warnings about a group that the message of the convergence gate repeats.
const MAX_NAMED_WARNINGS: usize = 10;

/// Request to move an issue.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MoveRequest<'a> {
    /// The target state, or an intent such as `__COMPLETE__`.
    pub to: &'a str,
    /// The command of the workflow.
    pub command: &'a str,
    /// The reason for the move.
    pub reason: Option<&'a str>,
    /// The id of the caller's claim.
    pub claim: Option<&'a str>,
    /// The holder, if the move is to a lock state; `None` means the viewer.
    pub holder: Option<&'a str>,
    /// The lease in seconds; `None` means [`DEFAULT_LEASE_S`](crate::DEFAULT_LEASE_S). A heartbeat
    /// renews the lease.
    pub lease_s: Option<u64>,
    /// True to override the claim of another holder. Needs [`Self::reason`].
    pub force: bool,
}

impl<'a> MoveRequest<'a> {
    /// Creates a request to move an issue to the state or intent `to`, as `command`.
    #[must_use]
    pub const fn new(to: &'a str, command: &'a str) -> Self {
        Self {
            to,
            command,
            reason: None,
            claim: None,
            holder: None,
            lease_s: None,
            force: false,
        }
    }
}

/// Result of moving an issue.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StateChange {
    /// The issue.
    pub id: IssueId,
    /// The title as one line.
    pub title: String,
    /// The state before; `(unknown)` if the issue had no state.
    pub previous_state: String,
    /// The state after.
    pub new_state: String,
    /// The command that moved the issue.
    pub command: String,
    /// The intent, if the caller named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_from: Option<String>,
    /// True if the move closed the issue, false if it reopened the issue, otherwise `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<bool>,
    /// True if the issue is in the new state. False if the record of the move is stored, but the
    /// forge's index does not show it, so that the move has no effect.
    pub moved: bool,
    /// The caller's claim on the issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The claim that ended with the move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_claim: Option<String>,
}

impl Workflow {
    /// Moves an issue to a state, as a command of the workflow.
    ///
    /// A move to the command's own lock state claims the issue. A move to any other state ends the
    /// caller's claim. A terminal state closes the issue.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `command` or `state`), with `precondition_failed` if
    /// strict transitions forbid the move, and with `conflict` if another holder has a claim or the
    /// caller's claim has ended.
    pub async fn set_state(
        &self,
        id: &IssueId,
        req: &MoveRequest<'_>,
    ) -> Result<Outcome<StateChange>> {
        let strict = self.definition.strict_transitions;
        self.set_state_with(id, req, strict).await
    }

    /// Moves an issue; with `strict` only along the workflow graph.
    async fn set_state_with(
        &self,
        id: &IssueId,
        req: &MoveRequest<'_>,
        strict: bool,
    ) -> Result<Outcome<StateChange>> {
        let resolved = resolve(&self.definition, req.to, req.command)?;
        check_force(req.force, req.reason)?;
        // Only the lock state of this command is claimed. A move to the lock state of another
        // command is a handoff.
        let command = self.definition.command(req.command);
        let own = command.and_then(|c| c.lock.as_deref());
        if resolved.state.lock && own == Some(&*resolved.state.name) && req.claim.is_none() {
            return self.take(id, req, Some(&resolved), strict, None).await;
        }
        for _ in 0..super::MAX_ATTEMPTS {
            let sheet = self.ledger.read(id).await?;
            let ends = self.check_holder(&sheet, req.claim, req.force, "move")?;
            self.check_move(&sheet.issue, &resolved, strict)
                .map_err(add_state_choice)?;
            // A move to the lock state of this command does not end the claim.
            let keeps = own == Some(&*resolved.state.name);
            let edit = self.edit_to(&sheet.issue, resolved.state);
            let from = self.state_of(&sheet.issue);
            let mut change = self.change(&sheet.issue, from.clone(), &resolved, req);
            change.closed = edit.state.map(|state| state == IssueState::Closed);
            let ended = ends.filter(|_| !keeps);
            if is_empty(&edit) && ended.is_none() {
                let why = format!("{} is in {} already", short(id), resolved.state.name);
                return Ok(Outcome::unchanged(change, Warning::new(why)));
            }
            change.ended_claim = ended.as_ref().map(|claim| claim.id.clone());
            let event = TrailEvent::Moved {
                from,
                to: resolved.state.name.clone(),
                command: change.command.clone(),
                intent: change.resolved_from.clone(),
                ends: change.ended_claim.clone(),
                merge: None,
            };
            let entry = TrailEntry::new(event, req.reason);
            let written = self.ledger.swap(&sheet, edit, &entry).await;
            if let TrailSwap::Written(outcome) = written.map_err(with_setup)? {
                let to = resolved.state;
                let outcome = self.resolve_race(&sheet, to, &entry, outcome).await?;
                return Ok(finish_move(outcome, change));
            }
        }
        Err(too_many_conflicts(id))
    }

    /// Hands an issue over to the next command. This is a move along the workflow graph, with a
    /// reason.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::set_state`] does, and:
    /// - with `invalid_input` (field `reason`) if there is no reason
    /// - with `precondition_failed` if the state does not follow the current one. This check
    ///   applies even if the transitions of the definition are not strict.
    pub async fn handoff(
        &self,
        id: &IssueId,
        req: &MoveRequest<'_>,
    ) -> Result<Outcome<StateChange>> {
        if req.reason.is_none_or(|reason| reason.trim().is_empty()) {
            return Err(
                Error::invalid("reason", "a handoff needs a reason, and there is none")
                    .with_hint("retry with a reason: one line on why the issue is handed over"),
            );
        }
        self.set_state_with(id, req, true).await
    }

    pub(super) fn change(
        &self,
        issue: &Issue,
        from: Option<String>,
        to: &ResolvedState<'_>,
        req: &MoveRequest<'_>,
    ) -> StateChange {
        StateChange {
            id: issue.id.clone(),
            title: issue.title.clone(),
            previous_state: from.unwrap_or_else(|| NO_STATE.to_owned()),
            new_state: to.state.name.clone(),
            command: self.definition.full_name(req.command),
            resolved_from: to.was_intent.then(|| req.to.trim().to_owned()),
            closed: None,
            moved: true,
            claim: None,
            ended_claim: None,
        }
    }

    /// Returns the claim that the move ends: the claim of the caller, an expired claim, or with
    /// `force` any claim.
    pub(super) fn check_holder(
        &self,
        sheet: &IssueTrail,
        mine: Option<&str>,
        force: bool,
        what: &str,
    ) -> Result<Option<Claim>> {
        let id = &sheet.issue.id;
        let claim = sheet.trail.claim.clone();
        match (mine, claim) {
            (Some(mine), claim) => match claim {
                Some(claim) if claim.id == mine => Ok(Some(claim)),
                other => Err(claim_lost_error(id, mine, other.as_ref())),
            },
            (None, Some(claim)) if !force && !claim.is_expired(now()) => {
                Err(held(id, what, &claim))
            }
            (None, claim) => Ok(claim),
        }
    }

    /// If `strict` is true, checks that the move follows the workflow graph.
    pub(super) fn check_move(
        &self,
        issue: &Issue,
        to: &ResolvedState<'_>,
        strict: bool,
    ) -> Result<()> {
        let state = self.state_of(issue);
        match state
            .as_deref()
            .and_then(|name| self.definition.state(name))
        {
            Some(from) if strict => check_strict_transition(&self.definition, from, to),
            _ => Ok(()),
        }
    }

    /// Checks before a claim whether the group of the issue has converged. If it has not, the
    /// convergence gate of the definition allows the claim, warns, or refuses it.
    pub(super) async fn check_gate(&self, issue: &Issue, command: &str) -> Result<Option<Warning>> {
        let definition = &self.definition;
        let Some(command) = definition.command(command) else {
            return Ok(None);
        };
        let gate = definition.gate_of(command).map(|state| &state.name);
        let alone = (issue.relations.as_ref()).is_some_and(|r| {
            !r.truncated
                && r.parent.is_none()
                && r.sub_issues.is_empty()
                && r.blocked_by.is_empty()
                && r.blocking.is_empty()
        });
        let (Some(gate), false) = (gate, alone) else {
            return Ok(None);
        };
        if definition.convergence_gate == ConvergenceGate::Off {
            return Ok(None);
        }
        let group = self.group(&issue.id).await?;
        let found = group.convergence(definition, gate)?;
        if found.converged {
            return Ok(None);
        }
        let mut waits: Vec<String> = found
            .blocking
            .iter()
            .map(|blocker| {
                let state = blocker.current_state.as_deref().unwrap_or("no state");
                let id = name_in(&blocker.id, &issue.id.repo);
                format!("{id} ({})", one_line(state))
            })
            .collect();
        let hint = match waits.is_empty() {
            true => "retry once all issues of the group can be read".to_owned(),
            false => {
                format!("first work on the issues that are behind, or move them to {gate}")
            }
        };
        if found.truncated {
            waits.push("not all of its issues could be read".to_owned());
            let unread = group.warnings.iter().take(MAX_NAMED_WARNINGS);
            waits.extend(unread.map(|warning| one_line(&warning.message).into_owned()));
        }
        let why = format!(
            "the group of {} is not at {gate}: {}",
            short(&issue.id),
            waits.join(", ")
        );
        match definition.convergence_gate {
            ConvergenceGate::Block => Err(Error::precondition(
                Precondition::Rule,
                format!("cannot claim {}: {why}", short(&issue.id)),
            )
            .with_hint(hint)),
            _ => Ok(Some(Warning::new(why))),
        }
    }
}

/// Adds an action to the hint of `error`: to repeat the call with another state. A constant hint
/// gets no action, because it lists no states to choose from.
pub(super) fn add_state_choice(error: Error) -> Error {
    match error.hint().cloned() {
        Some(hint) if !hint.is_constant() => {
            error.with_hint(hint.with_action(Action::again(&[]).choose(Param::State)))
        }
        _ => error,
    }
}

/// Checks that `force` is used with a reason, which is stored in the trail.
pub(super) fn check_force(force: bool, reason: Option<&str>) -> Result<()> {
    match force && reason.is_none_or(|reason| reason.trim().is_empty()) {
        true => Err(
            Error::invalid("reason", "force needs a reason, and there is none")
                .with_hint("retry with a reason: one line on why the holder's claim is overridden"),
        ),
        false => Ok(()),
    }
}

/// Returns the outcome of a move. The issue counts as not moved if the forge's index does not show
/// the written record.
pub(super) fn finish_move(
    outcome: Outcome<Issue>,
    mut change: StateChange,
) -> Outcome<StateChange> {
    change.moved = took_effect(&outcome.ingestion);
    let mut outcome = outcome.map(|_| ());
    if !change.moved {
        outcome.warnings.push(Warning::new(format!(
            "{} did not move: its record is stored, but no index shows it",
            short(&change.id)
        )));
    }
    outcome.map(|()| change)
}
