//! Resolves concurrent moves on forges without compare-and-swap.

use forge_core::{
    Changed, Error, ErrorKind, Outcome, Result,
    model::{EditIssue, Issue, IssueId},
    text::one_line,
};

use super::{Workflow, held};
use crate::{
    Claim, ClaimGuarantee, IssueTrail, State, TrailEntry, TrailEvent, ledger::took_effect,
    member::short, trail::is_trusted,
};

impl Workflow {
    /// Detects and resolves a race. If an issue is not in `state` after it was moved there, another
    /// writer has moved it at the same time.
    ///
    /// A concurrent claim wins. Without a claim, the last move in the trail wins. All writers that
    /// detect the conflict bring the issue to the same state.
    ///
    /// A conflict cannot be seen in the state if the state is a field of a project board. In this
    /// case, the number of comments in the forge's answer to the move reveals a concurrent claim.
    ///
    /// # Errors
    ///
    /// Fails with `conflict` if the other writer wins.
    pub(super) async fn resolve_race(
        &self,
        sheet: &IssueTrail,
        state: &State,
        entry: &TrailEntry,
        outcome: Outcome<Issue>,
    ) -> Result<Outcome<Issue>> {
        let id = &sheet.issue.id;
        let is_settled = is_empty(&self.edit_to(&outcome.value, state));
        // The number of comments is trusted only if no stranger has commented. Otherwise a stranger
        // could delete a comment, and the number would hide a concurrent claim.
        let mut comments = sheet.issue.comments.iter().flatten();
        let is_alone = outcome.value.comments_count <= sheet.issue.comments_count + 1
            && comments.all(|comment| is_trusted(comment, &self.definition.bots));
        let is_exclusive = self.promise() == ClaimGuarantee::Exclusive;
        if (is_settled && is_alone) || is_exclusive || !took_effect(&outcome.ingestion) {
            return Ok(outcome);
        }
        let back = self.ledger.read(id).await?;
        // If the entry of this move is not visible yet, the index lags, and no conflict can be
        // detected.
        if !back.trail.ids.contains_key(&entry.id) {
            return Ok(outcome);
        }
        let claim = back.trail.claim.as_ref();
        let claim = claim.filter(|claim| !sheet.trail.ids.contains_key(&claim.id));
        let is_passed = |c: &Claim| c.id != entry.id && back.trail.is_before(&c.id, &entry.id);
        // A claim made after a successful move is not a conflict.
        if is_settled && !claim.is_some_and(is_passed) {
            return Ok(outcome);
        }
        let last = back.trail.moves.last();
        let (goal, other) = match (claim, last.map(|last| (&last.id, &last.event))) {
            (Some(claim), _) if claim.id != entry.id => {
                let command = self.definition.command(&claim.command);
                let lock = command.and_then(|c| self.definition.state(c.lock.as_deref()?));
                (lock, Some(held(id, "move", claim)))
            }
            (None, Some((last, TrailEvent::Moved { to, .. }))) if *last != entry.id => (
                self.definition.state(to),
                Some(overwritten_move_error(id, state, to)),
            ),
            _ => (Some(state), None),
        };
        let edit = goal.map(|goal| self.edit_to(&back.issue, goal));
        if let Some(edit) = edit.filter(|edit| !is_empty(edit)) {
            self.repo.edit_issue(id, &edit).await?;
        }
        other.map_or(Ok(outcome), Err)
    }
}

fn overwritten_move_error(id: &IssueId, state: &State, to: &str) -> Error {
    let to = one_line(to);
    let kind = ErrorKind::Conflict {
        what: Changed::Record,
        expected: state.name.clone(),
        actual: to.clone().into_owned(),
    };
    let message = format!(
        "cannot move {} to {}: somebody moved it to {to} at the same time",
        short(id),
        state.name
    );
    Error::new(kind, message).with_hint("check the issue, and move it again if that is still right")
}

/// Returns true for an edit without changes.
pub(super) fn is_empty(edit: &EditIssue) -> bool {
    edit.values.is_empty() && edit.labels.is_empty() && edit.state.is_none()
}
