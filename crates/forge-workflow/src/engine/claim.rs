//! Claims, renews and releases issues.
//!
//! A claim is the right of its holder to work on an issue. It lasts for the time of its lease,
//! unless the holder renews the lease.

use forge_core::{
    Changed, Error, ErrorKind, Outcome, Precondition, Result, Warning,
    model::{Comment, EditIssue, IssueId, IssueState},
};

use super::{
    Workflow, claim_lost_error, held, now,
    race::is_empty,
    set_state::{add_state_choice, check_force, finish_move},
    too_many_conflicts, with_setup,
};
use crate::{
    Claim, ClaimGuarantee, ExpiredClaim, IssueTrail, MoveRequest, ResolvedState, StateChange,
    Trail, TrailEntry, TrailEvent, TrailSwap,
    ledger::{is_done, took_effect, untrusted_writer_error, was_sent},
    member::short,
    resolve,
    resolve::{released_states, resolve_released},
    trail::MAX_LEASE_S,
};

/// Default lease of a claim, in seconds.
pub const DEFAULT_LEASE_S: u64 = 3600;
const MIN_LEASE_S: u64 = 1;
/// Context key of the error for an issue that has left the state from which it was picked.
pub(super) const LEFT_STATE: &str = "left";
/// Maximum number of reads while the trail does not show the entry that was just written.
const MAX_READ_BACKS: usize = 3;
/// Maximum number of attempts to move an issue after its expired claim was replaced. An attempt
/// fails if another writer changes the issue first. Every losing claim does that twice: it writes
/// its entry, and then deletes it.
const MAX_TAKEOVER_MOVES: usize = 10;

/// Request for a claim.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ClaimRequest<'a> {
    /// The command of the workflow. If the definition names a lock state for this command (a state
    /// such as `In Progress`), the claim moves the issue there.
    pub command: &'a str,
    /// The holder; `None` means the viewer.
    pub holder: Option<&'a str>,
    /// The lease in seconds; `None` means [`DEFAULT_LEASE_S`]. A heartbeat renews the lease.
    pub lease_s: Option<u64>,
    /// The reason for the claim.
    pub reason: Option<&'a str>,
    /// True to take the issue from its current holder. Needs [`Self::reason`].
    pub force: bool,
}

impl<'a> ClaimRequest<'a> {
    /// Creates a request to claim an issue for `command`, as the viewer and with the default lease.
    #[must_use]
    pub const fn new(command: &'a str) -> Self {
        Self {
            command,
            holder: None,
            lease_s: None,
            reason: None,
            force: false,
        }
    }

    /// Sets the holder.
    #[must_use]
    pub const fn with_holder(mut self, holder: &'a str) -> Self {
        self.holder = Some(holder);
        self
    }
}

impl Workflow {
    /// Claims an issue for a command. When this function succeeds, the claim has the guarantee of
    /// [`Self::promise`].
    ///
    /// # Errors
    ///
    /// Fails with `conflict` if the issue is already claimed; the error names the holder. Fails
    /// with `precondition_failed` for a closed issue, or an issue whose group has to converge
    /// first.
    pub async fn claim(
        &self,
        id: &IssueId,
        req: &ClaimRequest<'_>,
    ) -> Result<Outcome<StateChange>> {
        self.claim_in(id, req, None).await
    }

    /// Claims an issue. If `picked` is given, the issue still has to be in that state.
    pub(super) async fn claim_in(
        &self,
        id: &IssueId,
        req: &ClaimRequest<'_>,
        picked: Option<&str>,
    ) -> Result<Outcome<StateChange>> {
        let lock = self
            .definition
            .command(req.command)
            .and_then(|c| c.lock.clone());
        let to = lock.unwrap_or_default();
        let moved = MoveRequest {
            to: &to,
            command: req.command,
            reason: req.reason,
            claim: None,
            holder: req.holder,
            lease_s: req.lease_s,
            force: req.force,
        };
        check_force(req.force, req.reason)?;
        let strict = self.definition.strict_transitions;
        match to.is_empty() {
            true => {
                // Refuses an unknown command, with a list of the known ones.
                self.definition.command_named(req.command)?;
                self.take(id, &moved, None, strict, picked).await
            }
            false => {
                let resolved = resolve(&self.definition, &to, req.command)?;
                self.take(id, &moved, Some(&resolved), strict, picked).await
            }
        }
    }

    /// Claims an issue, and moves it to `to` if given. With `strict`, the move has to follow the
    /// workflow graph. If `picked` is given, the issue still has to be in that state.
    pub(super) async fn take(
        &self,
        id: &IssueId,
        req: &MoveRequest<'_>,
        to: Option<&ResolvedState<'_>>,
        strict: bool,
        picked: Option<&str>,
    ) -> Result<Outcome<StateChange>> {
        let lease_s = check_lease(req.lease_s)?;
        let holder = match req
            .holder
            .map(str::trim)
            .filter(|holder| !holder.is_empty())
        {
            Some(holder) => forge_core::text::one_line(holder).into_owned(),
            None => self.repo.viewer().await?.login,
        };
        let mut warnings: Option<Vec<Warning>> = None;
        for _ in 0..super::MAX_ATTEMPTS {
            let sheet = self.ledger.read(id).await?;
            if let Some(picked) = picked {
                self.check_still_in(&sheet, picked)?;
            }
            let (over, forced) = self.check_free(&sheet, req)?;
            if let Some(to) = to {
                self.check_move(&sheet.issue, to, strict)?;
            }
            let warnings = match &mut warnings {
                Some(warnings) => warnings.clone(),
                none => {
                    let gate = self.check_gate(&sheet.issue, req.command).await?;
                    none.insert(gate.into_iter().collect()).clone()
                }
            };
            let from = self.state_of(&sheet.issue);
            let edit = to.map_or_else(EditIssue::default, |to| {
                self.edit_to(&sheet.issue, to.state)
            });
            let mut change = match to {
                Some(to) => self.change(&sheet.issue, from.clone(), to, req),
                None => self.unmoved(&sheet, req),
            };
            // The ledger's clock decides whether the earlier lease has expired, but only after the
            // entry is written. The claim is therefore read back, as on a ledger with ordered
            // entries.
            let promise = match over {
                Some(_) if self.ledger.promise() == ClaimGuarantee::Exclusive => {
                    ClaimGuarantee::Ordered
                }
                _ => self.ledger.promise(),
            };
            // If this claim replaces another one, the issue is already in the lock state. A later
            // release must not leave the issue there without a holder. The entry therefore records
            // the state before the replaced claim.
            let replaced = match &sheet.trail.claim {
                Some(claim) if over.is_some() || forced.is_some() => claim.from.clone(),
                _ => None,
            };
            let at = from.as_deref().and_then(|name| self.definition.state(name));
            let before = replaced.filter(|_| at.is_some_and(|state| state.lock));
            let event = TrailEvent::Claimed {
                holder: holder.clone(),
                lease_s,
                command: change.command.clone(),
                from: before.or(from),
                renewed: None,
                renewing: None,
                over,
                forced,
            };
            let entry = TrailEntry::new(event, req.reason);
            let written = match promise {
                ClaimGuarantee::Exclusive => {
                    let written = self.ledger.swap(&sheet, edit, &entry).await;
                    written.map_err(with_setup)?
                }
                promise => {
                    self.write_and_read_back(&sheet, edit, &entry, promise)
                        .await?
                }
            };
            let TrailSwap::Written(mut outcome) = written else {
                continue;
            };
            if let Some(to) = to {
                outcome = self.resolve_race(&sheet, to.state, &entry, outcome).await?;
            }
            outcome.warnings.extend(warnings);
            change.claim = Claim::made_by(&entry, now());
            return Ok(finish_move(outcome, change));
        }
        Err(too_many_conflicts(id))
    }

    /// Writes the entry and reads the trail back. Moves the issue if the entry won, and deletes the
    /// entry if it lost.
    async fn write_and_read_back(
        &self,
        sheet: &IssueTrail,
        mut edit: EditIssue,
        entry: &TrailEntry,
        promise: ClaimGuarantee,
    ) -> Result<TrailSwap> {
        let id = &sheet.issue.id;
        let TrailSwap::Written(mut outcome) =
            self.ledger.swap(sheet, EditIssue::default(), entry).await?
        else {
            return Ok(TrailSwap::Stale);
        };
        // If a claim was written but not read back, the error names it, so that the caller can
        // release it.
        let unread = |e: Error| e.with_context("claim", entry.id.clone());
        let mut back = self.ledger.read(id).await.map_err(unread)?;
        for _ in 1..MAX_READ_BACKS {
            if back.trail.ids.contains_key(&entry.id) {
                break;
            }
            back = self.ledger.read(id).await.map_err(unread)?;
        }
        let won = back
            .trail
            .claim
            .as_ref()
            .is_some_and(|claim| claim.id == entry.id);
        if !won {
            // The entry of a claim that was ever current is kept, because a later claim may name it
            // as the expired claim that it replaces.
            let held_once = back.trail.ids.contains_key(&entry.id)
                && !back.trail.lost.iter().any(|claim| claim.id == entry.id);
            let withdrawn = match held_once {
                true => Ok(()),
                false => self.ledger.withdraw(&back, entry).await,
            };
            let mut comments = back.issue.comments.iter().flatten();
            let is_entry = |c: &&Comment| TrailEntry::parse(&c.body).as_ref() == Some(entry);
            let error = match (&back.trail.claim, comments.find(is_entry)) {
                (Some(claim), _) => held(id, "claim", claim),
                (None, Some(comment)) if !back.trail.ids.contains_key(&entry.id) => {
                    untrusted_writer_error(&back.issue, comment)
                }
                (None, _) => claim_lost_error(id, &entry.id, None),
            };
            return Err(match withdrawn {
                Ok(()) => error,
                Err(e) => error.with_context("withdrawal", e.message().to_owned()),
            });
        }
        let rivals: Vec<&str> = (back.trail.lost.iter())
            .filter(|claim| {
                claim.since >= sheet.trail.claim.as_ref().map_or(claim.since, |c| c.since)
            })
            .filter(|claim| !sheet.trail.ids.contains_key(&claim.id))
            .map(|claim| claim.holder.as_str())
            .collect();
        if promise == ClaimGuarantee::Advisory && !rivals.is_empty() {
            outcome.warnings.push(Warning::new(format!(
                "{} claimed {} at the same time; the order of the claims rests on their authors' \
                 clocks",
                rivals.join(", "),
                short(id)
            )));
        }
        if is_empty(&edit) {
            return Ok(TrailSwap::Written(outcome));
        }
        // In a git repository, this move is a compare-and-swap, too. If the issue has changed since
        // the trail was read back, the move is tried again while the claim is current.
        let exclusive = self.ledger.promise() == ClaimGuarantee::Exclusive
            && self.repo.supports(forge_core::Capability::IssueSwap);
        edit.expected_version = exclusive.then(|| back.issue.version.clone());
        let mut moved = self.repo.edit_issue(id, &edit).await;
        for _ in 1..MAX_TAKEOVER_MOVES {
            let is_stale = |e: &Error| matches!(e.kind(), ErrorKind::Conflict { .. });
            if !exclusive || !moved.as_ref().is_err_and(is_stale) {
                break;
            }
            back = self.ledger.read(id).await.map_err(unread)?;
            match &back.trail.claim {
                Some(claim) if claim.id == entry.id => {}
                other => return Err(claim_lost_error(id, &entry.id, other.as_ref())),
            }
            edit.expected_version = Some(back.issue.version.clone());
            moved = self.repo.edit_issue(id, &edit).await;
        }
        match moved {
            Ok(mut moved) => {
                moved.ingestion = moved.ingestion.combine(outcome.ingestion);
                moved.warnings.extend(outcome.warnings);
                Ok(TrailSwap::Written(moved))
            }
            Err(e) => {
                let e = with_setup(e);
                let now = match was_sent(&e) {
                    true => self.ledger.read(id).await.ok(),
                    false => None,
                };
                if let Some(now) = now.filter(|now| is_done(&now.issue, &edit)) {
                    return Ok(TrailSwap::Written(outcome.map(|_| now.issue)));
                }
                // The move failed, so the claim is released.
                let end = end_of(entry);
                let ended = self.ledger.swap(&back, EditIssue::default(), &end).await;
                Err(match ended {
                    Ok(TrailSwap::Written(_)) => e,
                    _ => e.with_context("claim", entry.id.clone()),
                })
            }
        }
    }

    /// Renews the lease of a claim. A warning reports a renewal that is stored but has no effect.
    ///
    /// # Errors
    ///
    /// Fails with `conflict` if the claim or its lease has ended. The issue then has to be claimed
    /// again.
    pub async fn heartbeat(&self, id: &IssueId, claim: &str) -> Result<Outcome<Claim>> {
        for _ in 0..super::MAX_ATTEMPTS {
            let sheet = self.ledger.read(id).await?;
            let held = match &sheet.trail.claim {
                Some(held) if held.id == claim => held.clone(),
                other => return Err(claim_lost_error(id, claim, other.as_ref())),
            };
            let comments = sheet.issue.comments.iter().flatten();
            let entry = comments
                .filter(|c| c.id == held.comment)
                .find_map(|c| TrailEntry::parse(&c.body));
            let Some(mut entry) = entry else {
                return Err(claim_lost_error(id, claim, None));
            };
            if let TrailEvent::Claimed {
                renewed, renewing, ..
            } = &mut entry.event
            {
                *renewed = Some(held.renewed_at);
                *renewing = (self.ledger.promise() == ClaimGuarantee::Advisory).then(now);
            }
            let TrailSwap::Written(mut outcome) =
                self.ledger.renew(&sheet, &held.comment, &entry).await?
            else {
                continue;
            };
            // Another holder may have replaced the claim at the same moment, if its lease had just
            // expired.
            let back = self.ledger.read(id).await?;
            if !took_effect(&outcome.ingestion) {
                outcome.warnings.push(Warning::new(format!(
                    "the lease on {} is not renewed: the record is stored, but no index shows it",
                    short(id)
                )));
            }
            return match back.trail.claim {
                Some(now) if now.id == claim && !now.is_late => Ok(outcome.map(|_| now)),
                Some(now) if now.id == claim => Err(claim_lost_error(id, claim, None)),
                other => Err(claim_lost_error(id, claim, other.as_ref())),
            };
        }
        Err(too_many_conflicts(id))
    }

    /// Releases a claim, and moves the issue to `to`, a state or an intent of the claim's command.
    ///
    /// If `to` is `None`, the issue moves to the release state of the command, or to the state
    /// before the claim. A move to another lock state is refused, because the issue would have no
    /// holder there.
    ///
    /// # Errors
    ///
    /// Fails with `conflict` if the claim has ended, with `invalid_input` (field `state`), and with
    /// `precondition_failed` if strict transitions forbid the move to `to`.
    pub async fn release(
        &self,
        id: &IssueId,
        claim: &str,
        to: Option<&str>,
        reason: Option<&str>,
    ) -> Result<Outcome<StateChange>> {
        for _ in 0..super::MAX_ATTEMPTS {
            let sheet = self.ledger.read(id).await?;
            let held = match &sheet.trail.claim {
                Some(held) if held.id == claim => held.clone(),
                other => return Err(claim_lost_error(id, claim, other.as_ref())),
            };
            let at = self.state_of(&sheet.issue);
            let command = self.definition.command(&held.command);
            let lock = command.and_then(|c| c.lock.as_deref());
            // If the holder has already moved the issue out of the lock state, the issue stays in
            // its state.
            let in_lock = at.as_deref() == lock && lock.is_some();
            let back = command
                .and_then(|c| c.release.as_deref())
                .or(held.from.as_deref());
            let own = back.filter(|_| in_lock).or(at.as_deref());
            let own = own.and_then(|name| self.definition.state(name));
            // A caller may name the state to which the release moves the issue anyway. Any other
            // state must be one to which the command may move issues.
            let other = to.filter(|to| own.is_none() || self.definition.state(to) != own);
            let other = other
                .map(|to| resolve_released(&self.definition, to, &held.command))
                .transpose()?;
            if let Some(other) = &other {
                let strict = self.definition.strict_transitions;
                self.check_move(&sheet.issue, other, strict)
                    .map_err(add_state_choice)?;
            }
            let Some(state) = other.map(|other| other.state).or(own) else {
                let names = released_states(&self.definition, command);
                return Err(Error::invalid(
                    "state",
                    format!("{} had no state before it was claimed", short(id)),
                )
                .with_hint(format!("name the state to move it to: {names}")));
            };
            let is_intent = other.is_some_and(|other| other.was_intent);
            let intent = to.filter(|_| is_intent).map(|to| to.trim().to_owned());
            let edit = self.edit_to(&sheet.issue, state);
            let change = StateChange {
                new_state: state.name.clone(),
                closed: edit.state.map(|state| state == IssueState::Closed),
                ended_claim: Some(held.id.clone()),
                resolved_from: intent.clone(),
                ..self.unmoved(
                    &sheet,
                    &MoveRequest {
                        command: &held.command,
                        ..MoveRequest::default()
                    },
                )
            };
            let event = TrailEvent::Moved {
                from: at,
                to: state.name.clone(),
                command: change.command.clone(),
                intent,
                ends: Some(held.id),
                merge: None,
            };
            let entry = TrailEntry::new(event, Some(reason.unwrap_or("released")));
            let written = self.ledger.swap(&sheet, edit, &entry).await;
            if let TrailSwap::Written(outcome) = written.map_err(with_setup)? {
                return Ok(finish_move(outcome, change));
            }
        }
        Err(too_many_conflicts(id))
    }

    /// Reads the trail of an issue: its current claim, even if expired, and the claims that lost.
    ///
    /// # Errors
    ///
    /// Fails with `not_found`.
    pub async fn trail(&self, id: &IssueId) -> Result<Trail> {
        Ok(self.ledger.read(id).await?.trail)
    }

    /// Refuses an unclaimed issue that has left the state from which it was picked.
    fn check_still_in(&self, sheet: &IssueTrail, picked: &str) -> Result<()> {
        let claim = sheet.trail.claim.as_ref();
        let is_held = claim.is_some_and(|claim| !claim.is_expired(now()));
        let at = self.state_of(&sheet.issue);
        let state = at.as_deref().and_then(|name| self.definition.state(name));
        let stays = sheet.issue.state == IssueState::Open && state == self.definition.state(picked);
        if is_held || stays {
            return Ok(());
        }
        let at = at.unwrap_or_else(|| "no state".to_owned());
        let message = format!(
            "cannot claim {}: it was picked from {picked} and is now in {}",
            short(&sheet.issue.id),
            forge_core::text::one_line(&at)
        );
        let kind = ErrorKind::Conflict {
            what: Changed::Record,
            expected: picked.to_owned(),
            actual: at,
        };
        Err(Error::new(kind, message)
            .with_hint("pick again")
            .with_context(LEFT_STATE, picked.to_owned()))
    }

    /// Refuses a claim on an issue that is claimed or closed. Returns the expired claim that the
    /// new claim replaces, and the id of the claim that it overrides by force.
    fn check_free(
        &self,
        sheet: &IssueTrail,
        req: &MoveRequest<'_>,
    ) -> Result<(Option<ExpiredClaim>, Option<String>)> {
        let id = &sheet.issue.id;
        if sheet.issue.state == IssueState::Closed {
            return Err(Error::precondition(
                Precondition::Closed,
                format!("cannot claim {}: it is closed", short(id)),
            )
            .with_hint("reopen the issue, or pick another one"));
        }
        match &sheet.trail.claim {
            Some(claim) if claim.is_expired(now()) => {
                let over = ExpiredClaim {
                    claim: claim.id.clone(),
                    renewed_at: claim.renewed_at,
                };
                // The clock of the ledger decides later whether the lease has expired, because the
                // clock of this machine may be ahead.
                return Ok((Some(over), req.force.then(|| claim.id.clone())));
            }
            Some(claim) if req.force => return Ok((None, Some(claim.id.clone()))),
            Some(claim) => return Err(held(id, "claim", claim)),
            None => {}
        }
        let name = self.state_of(&sheet.issue);
        let state = name.as_deref().and_then(|name| self.definition.state(name));
        let takes = self.definition.command(req.command).is_some_and(|command| {
            command
                .inputs
                .iter()
                .any(|input| self.definition.state(input) == state)
        });
        match state {
            Some(state) if state.lock && !takes && !req.force => {
                let kind = ErrorKind::Conflict {
                    what: Changed::Record,
                    expected: "no lock".to_owned(),
                    actual: state.name.clone(),
                };
                let message = format!(
                    "cannot claim {}: it is in {}, so somebody works on it",
                    short(id),
                    state.name
                );
                Err(Error::new(kind, message)
                    .with_hint("pick another issue, or use force with a reason"))
            }
            _ => Ok((None, None)),
        }
    }

    /// Returns the result of a claim that moves nothing.
    fn unmoved(&self, sheet: &IssueTrail, req: &MoveRequest<'_>) -> StateChange {
        let state = self
            .state_of(&sheet.issue)
            .unwrap_or_else(|| "(unknown)".to_owned());
        StateChange {
            id: sheet.issue.id.clone(),
            title: sheet.issue.title.clone(),
            previous_state: state.clone(),
            new_state: state,
            command: self.definition.full_name(req.command),
            resolved_from: None,
            closed: None,
            moved: true,
            claim: None,
            ended_claim: None,
        }
    }
}

/// Returns the entry that ends a claim after its move failed. The entry of the claim stays in the
/// trail, because readers need it to judge later entries.
fn end_of(claim: &TrailEntry) -> TrailEntry {
    let (command, from) = match &claim.event {
        TrailEvent::Claimed { command, from, .. } | TrailEvent::Moved { command, from, .. } => {
            (command.clone(), from.clone())
        }
    };
    let event = TrailEvent::Moved {
        to: from.clone().unwrap_or_default(),
        from,
        command,
        intent: None,
        ends: Some(claim.id.clone()),
        merge: None,
    };
    TrailEntry::new(event, Some("the move failed"))
}

fn check_lease(lease_s: Option<u64>) -> Result<u64> {
    let lease_s = lease_s.unwrap_or(DEFAULT_LEASE_S);
    match (MIN_LEASE_S..=MAX_LEASE_S).contains(&lease_s) {
        true => Ok(lease_s),
        false => Err(Error::invalid(
            "lease_s",
            format!("a lease is {MIN_LEASE_S} to {MAX_LEASE_S} seconds, and not {lease_s}"),
        )
        .with_hint("retry with a lease in this range; renew it to hold the issue longer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_lease_equals_constants() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/workflow.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        let sentence = format!(
            "A lease is {DEFAULT_LEASE_S} seconds, unless `--lease` says {MIN_LEASE_S} to \
             {MAX_LEASE_S}."
        );
        assert!(
            page.contains(&sentence),
            "docs/reference/workflow.md lacks '{sentence}'"
        );
    }
}
