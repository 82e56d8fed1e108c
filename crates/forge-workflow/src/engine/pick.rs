//! Picks the next issue to work on from a repository.

use std::collections::BTreeSet;

use forge_core::{
    Action, Changed, Error, ErrorKind, Hint, Outcome, PageReq, Param, Result, Warning,
    model::{IssueFilter, IssueId, IssueQuery, IssueState},
};
use serde::Serialize;

use super::{ClaimRequest, StateChange, Workflow, claim::LEFT_STATE, now};
use crate::{
    Candidate, Command, Definition, Pick,
    member::order,
    pick,
    pick::{is_pickable, is_pickable_size, pickable_names, pickable_ranks, sort_candidates},
};

const PAGE_SIZE: usize = 100;
/// Maximum number of pages of each list that one pick reads.
const MAX_PAGES: usize = 10;
/// Maximum number of candidates that one pick tries, because each try costs a request. A try fails
/// if the candidate is already claimed or was moved.
const MAX_MISSES: usize = 100;

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
    /// The claim to make on the picked issue; needs [`Self::command`]. If the claim has a role
    /// instead of a command, a command of that role claims the issue.
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

    /// Creates a request to pick an issue that `command` accepts. `command` may be a role, which
    /// stands for all commands of that role.
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
    /// The sort keys of the issues that nobody has claimed, according to the list.
    untouched: BTreeSet<(String, u64, String)>,
    scanned: usize,
    next: Option<PageReq>,
    /// The number of pages that were read from the current list.
    pages: usize,
    /// True if an earlier list was not read to its end.
    is_cut: bool,
}

impl PickScan {
    fn begin_list(&mut self) {
        self.is_cut |= self.next.is_some();
        self.next = Some(PageReq::first(PAGE_SIZE));
        self.pages = 0;
    }

    /// Records that another holder has claimed an issue.
    fn mark_held(&mut self, id: &IssueId, holder: &str) {
        let of = self.candidates.iter_mut().filter(|c| c.member.id == *id);
        of.for_each(|c| c.held_by = Some(holder.to_owned()));
    }

    fn done(&self, pick: Pick, claimed: Option<Outcome<StateChange>>) -> PickResult {
        PickResult {
            pick,
            scanned: self.scanned,
            truncated: self.is_cut || self.next.is_some(),
            claimed,
        }
    }
}

/// The commands that a pick is for: a single one, or all commands of a role.
struct Pickers<'d> {
    definition: &'d Definition,
    commands: Vec<(&'d str, &'d Command)>,
}

impl<'d> Pickers<'d> {
    /// Finds the commands by the name of a command or of a role. Without a name, the result is
    /// empty.
    fn named(definition: &'d Definition, name: Option<&str>) -> Result<Self> {
        let commands = name.map(|name| definition.commands_or_role(name));
        Ok(Self {
            definition,
            commands: commands.transpose()?.unwrap_or_default(),
        })
    }

    /// Returns the commands that take issues in `state`, or all commands if none of them does.
    fn of_state(&self, state: &str) -> Vec<(&'d str, &'d Command)> {
        let state = self.definition.state(state);
        let takes = |command: &Command| {
            let mut inputs = command.inputs.iter();
            inputs.any(|input| self.definition.state(input) == state)
        };
        let commands = self.commands.iter().copied();
        let found: Vec<_> = commands.filter(|(_, command)| takes(command)).collect();
        match found.is_empty() {
            true => self.commands.clone(),
            false => found,
        }
    }

    /// Combines the commands that take issues in `state` into one. The combined command accepts
    /// every estimate that one of them accepts.
    fn merged(&self, state: &str) -> Option<Command> {
        let commands = self.of_state(state);
        let ((_, first), others) = commands.split_first()?;
        let mut merged = (*first).clone();
        if !others.is_empty() {
            let fits = |estimate: &&String| {
                let mut all = commands.iter();
                all.any(|(_, command)| is_pickable_size(self.definition, command, estimate))
            };
            let scale = self.definition.estimate.scale.iter();
            merged.estimates = scale.filter(fits).cloned().collect();
        }
        Some(merged)
    }

    /// Returns the command that claims an issue in `state`: the first one that takes issues of this
    /// estimate, otherwise the first one.
    fn claiming_command(&self, state: &str, estimate: Option<&str>) -> Option<&'d str> {
        let commands = self.of_state(state);
        let fits = |command: &Command| {
            estimate.is_none_or(|e| is_pickable_size(self.definition, command, e))
        };
        let fitting = commands.iter().find(|(_, command)| fits(command));
        fitting.or(commands.first()).map(|(name, _)| *name)
    }
}

impl Workflow {
    /// Picks the next issue that is neither claimed nor blocked by an open issue. Claims the issue
    /// if requested.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `command`, `state` or `max_estimate`). Fails with
    /// `conflict` if the first hundred candidates were claimed and there are more.
    pub async fn pick(&self, req: &PickRequest<'_>) -> Result<PickResult> {
        if req.claim.is_some() && req.command.is_none() {
            let hint = Hint::new("name the command that takes the issue");
            let hint = hint.with_action(Action::again(&[]).choose(Param::Command));
            let error = Error::invalid("command", "a pick that claims needs a command");
            return Err(error.with_hint(hint));
        }
        let pickers = Pickers::named(&self.definition, req.command)?;
        let claimers = Pickers::named(&self.definition, req.claim.map(|claim| claim.command))?;
        let states = self.pick_states(req, &pickers)?;
        let queries = self.pick_query(&states);
        let mut lists = states.iter().zip(&queries);
        let mut list: Option<(&String, &IssueQuery)> = None;
        let mut scan = PickScan::default();
        // The issues that can be picked, the best last. The issues are sorted once for each page.
        let mut ready: Vec<Candidate> = Vec::new();
        let mut viewer: Option<String> = None;
        let mut misses = 0;
        loop {
            // A later page may have a better issue than the best one so far. This also applies
            // after the best issue was found to be claimed.
            if let Some((state, query)) = list
                && scan.next.is_some()
                && scan.pages < MAX_PAGES
                && !self.is_certain(ready.last(), state, req, &pickers)?
            {
                self.read_page(query, &mut scan).await?;
                ready = self.ready(&scan.candidates, &states, req, &pickers)?;
                continue;
            }
            let picked = || self.pick_best(&scan.candidates, &states, req, &pickers);
            let Some(found) = ready.pop() else {
                // The list of the next state is read only if no issue of the earlier states can be
                // picked.
                match lists.next() {
                    Some(next) => {
                        list = Some(next);
                        scan.begin_list();
                    }
                    None => {
                        let mut none = picked()?;
                        add_stateless(&mut none, &scan.candidates);
                        return Ok(scan.done(none, None));
                    }
                }
                continue;
            };
            if misses == MAX_MISSES {
                return Err(all_claimed());
            }
            misses += 1;
            let id = found.member.id.clone();
            let holder = match &req.claim {
                None if scan.untouched.contains(&order(&id)) => None,
                None => self.holder(&id).await?,
                Some(claim) => {
                    let state = found.member.state.as_deref().unwrap_or_default();
                    let command =
                        claimers.claiming_command(state, found.member.estimate.as_deref());
                    let is_named = claim.holder.is_some_and(|holder| !holder.trim().is_empty());
                    if viewer.is_none() && !is_named {
                        viewer = Some(self.repo.viewer().await?.login);
                    }
                    let claim = ClaimRequest {
                        command: command.unwrap_or(claim.command),
                        holder: viewer.as_deref().or(claim.holder),
                        ..*claim
                    };
                    match self.claim_in(&id, &claim, Some(state)).await {
                        Ok(claimed) => return Ok(scan.done(picked()?, Some(claimed))),
                        Err(e) if has_left(&e) => {
                            scan.candidates.retain(|c| c.member.id != id);
                            continue;
                        }
                        Err(e) => Some(held_by(&e).ok_or(e)?),
                    }
                }
            };
            match holder {
                Some(holder) => scan.mark_held(&id, &holder),
                None => return Ok(scan.done(picked()?, None)),
            }
        }
    }

    async fn read_page(&self, query: &IssueQuery, scan: &mut PickScan) -> Result<()> {
        let Some(page) = scan.next.take() else {
            return Ok(());
        };
        let found = self.repo.issues(query, page).await?;
        scan.pages += 1;
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
        let next = found.next;
        scan.next = next.map(|cursor| PageReq::after(cursor, PAGE_SIZE));
        Ok(())
    }

    /// Returns the holder of an issue, or `None` if there is no claim or it has expired.
    async fn holder(&self, id: &IssueId) -> Result<Option<String>> {
        let claim = self.ledger.read(id).await?.trail.claim;
        Ok(claim
            .filter(|claim| !claim.is_expired(now()))
            .map(|claim| claim.holder))
    }

    /// Returns the states to pick from, in the order of the commands.
    fn pick_states(&self, req: &PickRequest<'_>, pickers: &Pickers<'_>) -> Result<Vec<String>> {
        let definition = &self.definition;
        if let Some(state) = req.state {
            // An invalid state is refused before any read.
            pick(definition, &[], state, None, req.max_estimate)?;
            return Ok(vec![state.to_owned()]);
        }
        if pickers.commands.is_empty() {
            let commands: Vec<&str> = definition.commands.keys().map(String::as_str).collect();
            let hint = Hint::from(format!(
                "name a command ({}) or one of the states {}",
                commands.join(", "),
                pickable_names(definition).join(", ")
            ));
            return Err(
                Error::invalid("state", "neither a state nor a command says what to pick")
                    .with_hint(hint.with_action(Action::again(&[]).choose(Param::State))),
            );
        }
        let mut states: Vec<String> = Vec::new();
        for (_, command) in &pickers.commands {
            let inputs = command.inputs.iter().filter_map(|i| definition.state(i));
            for state in inputs.filter(|state| is_pickable(state)) {
                if !states.contains(&state.name) {
                    states.push(state.name.clone());
                }
            }
        }
        let names = pickers.commands.iter();
        let names: Vec<String> = names.map(|(name, _)| definition.full_name(name)).collect();
        match states.is_empty() {
            true => Err(Error::invalid(
                "command",
                format!("{} has no input state to pick from", names.join(", ")),
            )
            .with_hint(
                Hint::from(format!(
                    "name one of the states: {}",
                    pickable_names(definition).join(", ")
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

    /// Returns the issues that can be picked, the best last. An issue in an earlier state of
    /// `states` is better than any issue in a later state.
    fn ready(
        &self,
        candidates: &[Candidate],
        states: &[String],
        req: &PickRequest<'_>,
        pickers: &Pickers<'_>,
    ) -> Result<Vec<Candidate>> {
        let definition = &self.definition;
        let mut all = Vec::new();
        for name in states {
            let Some(state) = definition.state(name) else {
                continue;
            };
            let command = pickers.merged(name);
            let (command, max) = (command.as_ref(), req.max_estimate);
            let (ready, _) = sort_candidates(definition, candidates, state, command, max)?;
            all.extend(ready.into_iter().cloned());
        }
        all.reverse();
        Ok(all)
    }

    /// Returns the best issue in the first state that has one.
    fn pick_best(
        &self,
        candidates: &[Candidate],
        states: &[String],
        req: &PickRequest<'_>,
        pickers: &Pickers<'_>,
    ) -> Result<Pick> {
        let max = req.max_estimate;
        let mut none: Option<Pick> = None;
        for state in states {
            let command = pickers.merged(state);
            let found = pick(&self.definition, candidates, state, command.as_ref(), max)?;
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

    /// Returns true if no later issue in `state` can be a better choice than `best`: `best` has top
    /// priority and the smallest estimate, and later issues are younger.
    fn is_certain(
        &self,
        best: Option<&Candidate>,
        state: &str,
        req: &PickRequest<'_>,
        pickers: &Pickers<'_>,
    ) -> Result<bool> {
        let definition = &self.definition;
        let command = pickers.merged(state);
        let is_in_state =
            |found: &&Candidate| found.member.state_in(definition) == definition.state(state);
        let Some(found) = best.filter(is_in_state) else {
            return Ok(false);
        };
        let ranks = pickable_ranks(definition, command.as_ref(), req.max_estimate)?;
        let smallest = ranks.map_or(Some(0), |ranks| ranks.into_iter().min());
        let member = &found.member;
        let (priority, estimate) = (member.priority.as_deref(), member.estimate.as_deref());
        let priority = priority.and_then(|p| definition.priority_rank(p));
        let estimate = estimate.and_then(|e| definition.estimate_rank(e));
        Ok(priority == Some(0) && estimate == smallest)
    }
}

/// If no issue is in the states of the pick, adds the number of issues without a state to the
/// reason. If states are stored in labels, the pick reads no issues without a state and adds
/// nothing.
fn add_stateless(none: &mut Pick, candidates: &[Candidate]) {
    let all = candidates.iter();
    let count = all.filter(|found| found.member.state.is_none()).count();
    if count > 0 && none.skipped.is_empty() {
        let more = format!("; {count} open issue(s) have no state, which set-state gives them");
        none.reason.push_str(&more);
    }
}

fn all_claimed() -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::Record,
        expected: "an issue that nobody works on".to_owned(),
        actual: format!("{MAX_MISSES} claimed issues"),
    };
    let message =
        format!("the first {MAX_MISSES} candidates are claimed; the others were not checked");
    Error::new(kind, message).with_hint("try again later, or claim an issue by its number")
}

/// Returns true if a claim was refused because the issue has left the state of the pick.
fn has_left(error: &Error) -> bool {
    error.context().iter().any(|(key, _)| *key == LEFT_STATE)
}

/// Returns the holder named in the error of a refused claim.
fn held_by(error: &Error) -> Option<String> {
    let mut context = error.context().iter();
    context
        .find(|(key, _)| *key == "holder")
        .map(|(_, holder)| holder.clone())
}
