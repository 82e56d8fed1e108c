//! Chooses the next issue to work on.

use forge_core::{
    Action, Error, Hint, Param, Result, Timestamp, model::IssueId, suggest, text::one_line,
};
use serde::Serialize;

use crate::{
    Command, Definition, Member, State,
    member::{name_in, order},
};

/// An open issue to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// The issue.
    pub member: Member,
    /// Open issues that block this one.
    pub blocked_by: Vec<IssueId>,
    /// True if there may be blockers that could not be read.
    #[serde(skip)]
    pub blockers_unread: bool,
    /// The holder of the claim; `None` if the issue is not claimed.
    pub held_by: Option<String>,
    /// The time when the issue was opened.
    pub created_at: Timestamp,
}

/// Result of a pick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pick {
    /// The issue; `None` if no issue can be picked.
    pub issue: Option<Candidate>,
    /// The number of other issues that could be picked.
    pub alternatives: usize,
    /// The reason for the choice, or why no issue can be picked.
    pub reason: String,
    /// The issues that are in the state but cannot be picked, with reasons.
    pub skipped: Vec<(IssueId, String)>,
}

/// Picks the next issue in `state`: by priority, then smallest estimate, then age.
///
/// If `max_estimate` is `None`, the estimates of the command are allowed. If the command has none,
/// all estimates up to [`EstimateScale::max_pick`](crate::EstimateScale::max_pick) are allowed. An
/// issue without an estimate is always allowed.
///
/// # Errors
///
/// Fails with `invalid_input` (field `state` or `max_estimate`) for an unknown value, a lock state
/// or a terminal state.
pub fn pick(
    definition: &Definition,
    candidates: &[Candidate],
    state: &str,
    command: Option<&Command>,
    max_estimate: Option<&str>,
) -> Result<Pick> {
    let state = pickable(definition, state)?;
    let (ready, skipped) = sort_candidates(definition, candidates, state, command, max_estimate)?;
    let issue = ready.first().copied().cloned();
    Ok(Pick {
        reason: match &issue {
            Some(found) => pick_reason(found, state, ready.len()),
            None if skipped.is_empty() => format!("no open issue is in {}", state.name),
            None => format!(
                "none of {} issue(s) in {} can be worked on",
                skipped.len(),
                state.name
            ),
        },
        alternatives: ready.len().saturating_sub(1),
        issue,
        skipped,
    })
}

type SortedCandidates<'c> = (Vec<&'c Candidate>, Vec<(IssueId, String)>);

/// Splits the issues in `state` into two lists. The first has the issues that can be picked, the
/// best first. The second has the issues that cannot be picked, with reasons.
pub(crate) fn sort_candidates<'c>(
    definition: &Definition,
    candidates: &'c [Candidate],
    state: &State,
    command: Option<&Command>,
    max_estimate: Option<&str>,
) -> Result<SortedCandidates<'c>> {
    let ranks = pickable_ranks(definition, command, max_estimate)?;
    let in_state = candidates
        .iter()
        .filter(|c| c.member.state_in(definition) == Some(state));
    let mut skipped = Vec::new();
    let mut ready = Vec::new();
    for candidate in in_state {
        match obstacle(definition, candidate, ranks.as_deref()) {
            Some(why) => skipped.push((candidate.member.id.clone(), why)),
            None => ready.push(candidate),
        }
    }
    skipped.sort_by_key(|(id, _)| order(id));
    ready.sort_by_key(|c| {
        let priority = c.member.priority.as_deref();
        let estimate = c.member.estimate.as_deref();
        (
            priority
                .and_then(|p| definition.priority_rank(p))
                .unwrap_or(usize::MAX),
            estimate
                .and_then(|e| definition.estimate_rank(e))
                .unwrap_or(usize::MAX),
            c.created_at,
            order(&c.member.id),
        )
    });
    Ok((ready, skipped))
}

fn pick_reason(found: &Candidate, state: &State, of: usize) -> String {
    let has = |what: &str, value: &Option<String>| match value {
        Some(value) => format!("{what} {}", one_line(value)),
        None => format!("no {what}"),
    };
    let member = &found.member;
    format!(
        "{} is the first of {of} in {}: {}, {}, opened {}",
        member.short(),
        state.name,
        has("priority", &member.priority),
        has("estimate", &member.estimate),
        found.created_at.date(),
    )
}

fn obstacle(
    definition: &Definition,
    candidate: &Candidate,
    ranks: Option<&[usize]>,
) -> Option<String> {
    if let Some(holder) = &candidate.held_by {
        return Some(format!("{} works on it", one_line(holder)));
    }
    if !candidate.blocked_by.is_empty() {
        let own = &candidate.member.id.repo;
        let by = candidate.blocked_by.iter();
        let by: Vec<String> = by.map(|id| name_in(id, own)).collect();
        return Some(format!("it waits for {}", by.join(", ")));
    }
    if candidate.blockers_unread {
        return Some("some issues that may block it could not be read".to_owned());
    }
    let estimate = candidate.member.estimate.as_deref()?;
    let rank = definition.estimate_rank(estimate)?;
    let fits = ranks.is_none_or(|ranks| ranks.contains(&rank));
    (!fits).then(|| format!("its estimate is {}", one_line(estimate)))
}

/// Returns true if `command` takes issues of this estimate. An unknown estimate is allowed.
pub(crate) fn is_pickable_size(definition: &Definition, command: &Command, estimate: &str) -> bool {
    let rank = definition.estimate_rank(estimate);
    let ranks = pickable_ranks(definition, Some(command), None);
    let ranks = ranks.ok().flatten();
    ranks.is_none_or(|ranks| rank.is_none_or(|rank| ranks.contains(&rank)))
}

/// Returns the positions of the allowed estimates in the scale, or `None` if all are allowed.
pub(crate) fn pickable_ranks(
    definition: &Definition,
    command: Option<&Command>,
    max_estimate: Option<&str>,
) -> Result<Option<Vec<usize>>> {
    let own = command.map_or(&[][..], |command| command.estimates.as_slice());
    if max_estimate.is_none() && !own.is_empty() {
        let ranks = own.iter().filter_map(|e| definition.estimate_rank(e));
        return Ok(Some(ranks.collect()));
    }
    let max = max_estimate.or(definition.estimate.max_pick.as_deref());
    let max = max.map(|max| estimate_rank(definition, max)).transpose()?;
    Ok(max.map(|max| (0..=max).collect()))
}

pub(crate) fn is_pickable(state: &State) -> bool {
    !state.lock && state.terminal.is_none()
}

pub(crate) fn pickable_names(definition: &Definition) -> Vec<&str> {
    let states = definition.states.iter().filter(|state| is_pickable(state));
    states.map(|state| state.name.as_str()).collect()
}

fn pickable<'d>(definition: &'d Definition, name: &str) -> Result<&'d State> {
    let names = pickable_names(definition);
    let list = names.join(", ");
    let roles: Vec<String> = (definition.commands.values())
        .filter_map(|c| {
            let is_open = |input: &&String| names.contains(&input.as_str());
            Some((c.role.as_deref()?, c.inputs.iter().find(is_open)?))
        })
        .map(|(role, state)| format!("{state} for {role}"))
        .collect();
    let refused = |message: String| {
        let hint = Hint::from(format!("retry with one of: {list} ({})", roles.join(", ")));
        Error::invalid("state", message)
            .with_hint(hint.with_action(Action::again(&[]).choose(Param::State)))
    };
    match definition.state(name) {
        Some(state) if state.lock => Err(refused(format!(
            "issues in {} are worked on already: the states to pick from are {list}",
            state.name
        ))),
        Some(state) if state.terminal.is_some() => Err(refused(format!(
            "issues in {} have ended: the states to pick from are {list}",
            state.name
        ))),
        Some(state) => Ok(state),
        None => {
            let message = format!(
                "unknown state '{}': the states to pick from are {list}",
                one_line(name)
            );
            Err(match suggest::near(name, names).first() {
                Some(meant) => Error::invalid("state", message).with_hint(
                    Hint::from(format!("retry with '{meant}'"))
                        .with_action(Action::again(&[]).with(Param::State, *meant)),
                ),
                None => refused(message),
            })
        }
    }
}

fn estimate_rank(definition: &Definition, estimate: &str) -> Result<usize> {
    definition.estimate_rank(estimate).ok_or_else(|| {
        let scale = definition.estimate.scale.join(", ");
        let message = format!(
            "unknown estimate '{}': the estimates are {scale}",
            one_line(estimate)
        );
        let default = definition.estimate.max_pick.as_deref().unwrap_or("any");
        let hint = Hint::from(format!(
            "set the largest estimate to one of: {scale}; or omit it for the default ({default})"
        ));
        Error::invalid("max_estimate", message)
            .with_hint(hint.with_action(Action::again(&[]).choose(Param::MaxEstimate)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::tests::{id, member, numbers};

    fn candidate(number: u64, priority: &str, estimate: &str, opened: i64) -> Candidate {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut member = member(number, "Research Needed");
        member.priority = some(priority);
        member.estimate = some(estimate);
        Candidate {
            member,
            blocked_by: Vec::new(),
            blockers_unread: false,
            held_by: None,
            created_at: Timestamp::from_unix(opened),
        }
    }

    fn picked(candidates: &[Candidate]) -> Pick {
        let ralph = Definition::preset("ralph").unwrap();
        pick(&ralph, candidates, "research needed", None, None).unwrap()
    }

    #[test]
    fn c_001_14_pick_order_is_urgency_size_age_number() {
        let all = [
            candidate(5, "", "XS", 1),
            candidate(4, "P1", "S", 1),
            candidate(3, "P0", "S", 2),
            candidate(2, "P0", "S", 2),
            candidate(1, "P0", "", 1),
            candidate(6, "P0", "S", 1),
        ];
        let mut rest = all.to_vec();
        let mut found = Vec::new();
        while let Some(next) = picked(&rest).issue {
            rest.retain(|c| c != &next);
            found.push(next.member.id);
        }
        assert_eq!(numbers(&found), [6, 2, 3, 1, 4, 5]);
        let first = picked(&all);
        assert_eq!(first.alternatives, 5);
        assert_eq!(
            first.reason,
            "#6 is the first of 6 in Research Needed: priority P0, estimate S, opened 1970-01-01"
        );
    }

    #[test]
    fn r_001_9_blocked_held_and_large_issues_are_skipped() {
        let mut blocked = candidate(1, "P0", "XS", 1);
        blocked.blocked_by = vec![id(9)];
        let mut held = candidate(2, "P0", "XS", 1);
        held.held_by = Some("agent-7".to_owned());
        let large = candidate(3, "P0", "M", 1);
        let mut elsewhere = candidate(4, "P0", "XS", 1);
        elsewhere.member.state = Some("Backlog".to_owned());
        let none = picked(&[large.clone(), held.clone(), blocked.clone(), elsewhere]);
        assert_eq!((none.issue, none.alternatives), (None, 0));
        let why: Vec<&str> = none.skipped.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(
            why,
            [
                "it waits for #9",
                "agent-7 works on it",
                "its estimate is M"
            ]
        );
        let ralph = Definition::preset("ralph").unwrap();
        let found = pick(&ralph, &[large], "Research Needed", None, Some("xl")).unwrap();
        assert_eq!(found.issue.unwrap().member.id, id(3));
        assert_eq!(picked(&[]).reason, "no open issue is in Research Needed");
    }

    #[test]
    fn estimates_of_command_override_largest_pickable_estimate() {
        let ralph = Definition::preset("ralph").unwrap();
        let all = [
            candidate(1, "P0", "S", 1),
            candidate(2, "P1", "L", 1),
            candidate(3, "P2", "", 1),
        ];
        let by = |command: &str, max: Option<&str>| {
            let command = ralph.command(command);
            pick(&ralph, &all, "Research Needed", command, max).unwrap()
        };
        let found = by("split", None);
        assert_eq!(found.skipped, [(id(1), "its estimate is S".to_owned())]);
        assert_eq!(
            (found.issue.unwrap().member.id, found.alternatives),
            (id(2), 1)
        );
        // A command without estimates has the limit `max_pick`. A limit from the caller takes
        // precedence over both.
        for found in [by("triage", None), by("split", Some("S"))] {
            assert_eq!(found.skipped, [(id(2), "its estimate is L".to_owned())]);
            assert_eq!(found.issue.unwrap().member.id, id(1));
        }
    }

    #[test]
    fn r_001_10_refusal_lists_the_valid_values() {
        let ralph = Definition::preset("ralph").unwrap();
        let again = Action::again(&[]);
        let choose_state = again.clone().choose(Param::State);
        for (state, max, why, retry, action) in [
            (
                "Reserch Needed",
                None,
                "unknown state",
                "retry with 'Research Needed'",
                again.clone().with(Param::State, "Research Needed"),
            ),
            (
                "zzz",
                None,
                "unknown state 'zzz'",
                "Research Needed for researchers",
                choose_state.clone(),
            ),
            (
                "In Progress",
                None,
                "worked on already",
                "retry with one of: Backlog",
                choose_state.clone(),
            ),
            (
                "Done",
                None,
                "have ended",
                "retry with one of: Backlog",
                choose_state,
            ),
            (
                "Backlog",
                Some("Foo"),
                "unknown estimate 'Foo': the estimates are XS, S, M, L, XL",
                "or omit it for the default (S)",
                again.choose(Param::MaxEstimate),
            ),
        ] {
            let e = pick(&ralph, &[], state, None, max).unwrap_err();
            assert!(e.message().contains(why), "{e}");
            let hint = e.hint().unwrap();
            assert!(hint.text().contains(retry), "{e:?}");
            assert!(!hint.text().contains("In Progress"), "{e:?}");
            assert_eq!(hint.action(), Some(&action), "{state}");
        }
    }
}
