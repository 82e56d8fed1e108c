//! Picks the next issue to work on from a repository.

use std::collections::BTreeSet;

use forge_core::{
    Action, Error, Hint, Outcome, PageReq, Param, Result, Warning,
    model::{IssueFilter, IssueId, IssueQuery, IssueState},
};
use serde::Serialize;

use super::{ClaimRequest, StateChange, Workflow, now};
use crate::{Candidate, Command, Pick, member::order, pick, pick::pickable_ranks};

/// Number of issues per page.
const PAGE_SIZE: usize = 100;
/// Maximum number of pages that one pick reads.
const MAX_PAGES: usize = 10;
/// Maximum number of picked issues that may turn out to be claimed already.
const MAX_TAKEN: usize = 20;

/// Request for a pick.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PickRequest<'a> {
    /// The state to pick from; `None` means the input states of the command.
    pub state: Option<&'a str>,
    /// The command of the workflow, or its role. May be `None` if a state is given.
    pub command: Option<&'a str>,
    /// The largest estimate; `None` means the estimates of the command.
    pub max_estimate: Option<&'a str>,
    /// The claim to make on the picked issue, with holder and lease. Needs [`Self::command`].
    pub claim: Option<ClaimRequest<'a>>,
}

impl<'a> PickRequest<'a> {
    /// Creates a request to pick an issue in `state`.
    #[must_use]
    pub fn of_state(state: &'a str) -> Self {
        Self {
            state: Some(state),
            ..Self::default()
        }
    }

    /// Creates a request to pick an issue that `command` accepts. A role stands for its command.
    #[must_use]
    pub fn of_command(command: &'a str) -> Self {
        Self {
            command: Some(command),
            ..Self::default()
        }
    }
}

/// Result of a pick.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PickResult {
    /// The issue, the reason, and the skipped issues.
    #[serde(flatten)]
    pub pick: Pick,
    /// The number of issues read.
    pub scanned: usize,
    /// True if more issues exist that were not read.
    pub truncated: bool,
    /// The claim, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Outcome<StateChange>>,
}

/// The issues read so far.
#[derive(Default)]
struct PickScan {
    candidates: Vec<Candidate>,
    /// The issues that have no claim according to the list.
    untouched: BTreeSet<(String, u64, String)>,
    scanned: usize,
    truncated: bool,
}

impl PickScan {
    fn done(&self, pick: Pick, claimed: Option<Outcome<StateChange>>) -> PickResult {
        PickResult {
            pick,
            scanned: self.scanned,
            truncated: self.truncated,
            claimed,
        }
    }
}

impl Workflow {
    /// Picks the next issue that is neither claimed nor blocked by an open issue. Claims it if
    /// requested.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `command`, `state` or `max_estimate`).
    pub async fn pick(&self, req: &PickRequest<'_>) -> Result<PickResult> {
        let states = self.pick_states(req)?;
        let queries = self.pick_query(&states);
        let mut lists = states.iter().zip(&queries);
        let mut scan = PickScan::default();
        let mut taken = 0;
        loop {
            let picked = self.best(&scan.candidates, &states, req)?;
            let Some(found) = &picked.issue else {
                // The list of the next state is read only if no issue of the earlier states can be
                // picked.
                match lists.next() {
                    Some((state, query)) => self.read_list(state, query, req, &mut scan).await?,
                    None => return Ok(scan.done(picked, None)),
                }
                continue;
            };
            let id = found.member.id.clone();
            let holder = match &req.claim {
                None if scan.untouched.contains(&order(&id)) => None,
                None => self.holder(&id).await?,
                Some(claim) => match self.claim(&id, claim).await {
                    Ok(claimed) => return Ok(scan.done(picked, Some(claimed))),
                    Err(e) => match held_by(&e) {
                        Some(holder) if taken < MAX_TAKEN => Some(holder),
                        _ => return Err(e),
                    },
                },
            };
            match holder {
                Some(holder) if taken < MAX_TAKEN => {
                    taken += 1;
                    let of = scan.candidates.iter_mut().filter(|c| c.member.id == id);
                    of.for_each(|c| c.held_by = Some(holder.clone()));
                }
                Some(_) => {
                    let pick = Pick {
                        issue: None,
                        reason: format!("others hold the first {} issues", taken + 1),
                        ..picked
                    };
                    return Ok(PickResult {
                        truncated: true,
                        ..scan.done(pick, None)
                    });
                }
                None => return Ok(scan.done(picked, None)),
            }
        }
    }

    /// Reads `query` page by page, until no later issue in `state` can be a better choice.
    async fn read_list(
        &self,
        state: &str,
        query: &IssueQuery,
        req: &PickRequest<'_>,
        scan: &mut PickScan,
    ) -> Result<()> {
        let mut page = PageReq::first(PAGE_SIZE);
        for n in 1.. {
            let found = self.repo.issues(query, page).await?;
            scan.scanned += found.items.len();
            let open = found
                .items
                .iter()
                .filter(|issue| issue.state == IssueState::Open);
            scan.candidates
                .extend(open.map(|issue| self.candidate(issue)));
            let quiet = found.items.iter().filter(|issue| {
                self.ledger
                    .sheet_of(issue)
                    .is_some_and(|s| s.trail.claim.is_none())
            });
            scan.untouched.extend(quiet.map(|issue| order(&issue.id)));
            let is_over = n == MAX_PAGES || self.is_certain(&scan.candidates, state, req)?;
            match found.next {
                Some(cursor) if !is_over => page = PageReq::after(cursor, PAGE_SIZE),
                next => {
                    scan.truncated |= next.is_some();
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the holder of an issue, or `None` if there is no claim or it has expired.
    async fn holder(&self, id: &IssueId) -> Result<Option<String>> {
        let claim = self.ledger.read(id).await?.trail.claim;
        Ok(claim
            .filter(|claim| !claim.is_expired(now()))
            .map(|claim| claim.holder))
    }

    /// Returns the states to pick from, in the command's order.
    fn pick_states(&self, req: &PickRequest<'_>) -> Result<Vec<String>> {
        let definition = &self.definition;
        if let Some(state) = req.state {
            // An invalid state is refused before any read.
            pick(definition, &[], state, None, req.max_estimate)?;
            return Ok(vec![state.to_owned()]);
        }
        let Some(name) = req.command else {
            let hint = Hint::from(format!(
                "name a command or one of the states: {}",
                definition.state_names()
            ));
            return Err(
                Error::invalid("state", "neither a state nor a command says what to pick")
                    .with_hint(hint.with_action(Action::again(&[]).choose(Param::State))),
            );
        };
        let command = definition.command_or_role(name)?;
        let inputs = command.inputs.iter().filter(|input| {
            definition
                .state(input)
                .is_some_and(|state| !state.lock && state.terminal.is_none())
        });
        let states: Vec<String> = inputs.cloned().collect();
        match states.is_empty() {
            true => Err(Error::invalid(
                "command",
                format!(
                    "{} has no input state to pick from",
                    definition.full_name(name)
                ),
            )
            .with_hint(
                Hint::from(format!(
                    "name one of the states: {}",
                    definition.state_names()
                ))
                .with_action(Action::again(&[]).choose(Param::State)),
            )),
            false => {
                for state in &states {
                    pick(definition, &[], state, None, req.max_estimate)?;
                }
                Ok(states)
            }
        }
    }

    fn pick_query(&self, states: &[String]) -> Vec<IssueQuery> {
        let labels: Option<Vec<String>> = states
            .iter()
            .map(|name| self.store.label_of(self.definition.state(name)?))
            .collect();
        let with = |labels: Vec<String>| {
            let mut query = IssueQuery::default();
            query.state = IssueFilter::Open;
            query.oldest_first = true;
            query.fields = self.fields();
            query.labels = labels;
            query
        };
        match labels {
            Some(labels) => labels.into_iter().map(|label| with(vec![label])).collect(),
            None => vec![with(Vec::new())],
        }
    }

    fn candidate(&self, issue: &forge_core::model::Issue) -> Candidate {
        let cut = |warning: &Warning| warning.section == Some("blocked_by");
        let relations = issue.relations.iter();
        let open = relations
            .flat_map(|r| r.blocked_by.iter())
            .filter(|b| b.state == IssueState::Open);
        Candidate {
            member: self.member(issue),
            blocked_by: open.map(|blocker| blocker.id.clone()).collect(),
            blockers_unread: issue.warnings.iter().any(cut),
            held_by: None,
            created_at: issue.created_at,
        }
    }

    /// Returns the best issue in the first state that has one.
    fn best(
        &self,
        candidates: &[Candidate],
        states: &[String],
        req: &PickRequest<'_>,
    ) -> Result<Pick> {
        let (command, max) = (self.command_of(req), req.max_estimate);
        let mut none: Option<Pick> = None;
        for state in states {
            let found = pick(&self.definition, candidates, state, command, max)?;
            if found.issue.is_some() {
                return Ok(found);
            }
            match &mut none {
                Some(none) => {
                    none.reason = format!("{}; {}", none.reason, found.reason);
                    none.skipped.extend(found.skipped);
                }
                None => none = Some(found),
            }
        }
        none.ok_or_else(|| Error::invalid("state", "there is no state to pick from"))
    }

    /// Returns true if no later issue in `state` can be a better choice: an issue with top priority
    /// and the smallest estimate was found, and later issues are younger.
    fn is_certain(
        &self,
        candidates: &[Candidate],
        state: &str,
        req: &PickRequest<'_>,
    ) -> Result<bool> {
        let definition = &self.definition;
        let (command, max) = (self.command_of(req), req.max_estimate);
        let Some(found) = pick(definition, candidates, state, command, max)?.issue else {
            return Ok(false);
        };
        let ranks = pickable_ranks(definition, command, max)?;
        let smallest = ranks.map_or(Some(0), |ranks| ranks.into_iter().min());
        let (priority, estimate) = (found.member.priority, found.member.estimate);
        let priority = priority.and_then(|p| definition.priority_rank(&p));
        let estimate = estimate.and_then(|e| definition.estimate_rank(&e));
        Ok(priority == Some(0) && estimate == smallest)
    }

    /// Returns the command of the pick. An unknown name is refused elsewhere.
    fn command_of(&self, req: &PickRequest<'_>) -> Option<&Command> {
        self.definition.command_or_role(req.command?).ok()
    }
}

/// Returns the holder named in the error of a refused claim.
fn held_by(error: &Error) -> Option<String> {
    let mut context = error.context().iter();
    context
        .find(|(key, _)| *key == "holder")
        .map(|(_, holder)| holder.clone())
}
