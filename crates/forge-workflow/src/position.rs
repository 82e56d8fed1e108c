//! Determines the phase of a group of issues.

use std::collections::BTreeMap;

use forge_core::{RepoId, model::IssueId};
use serde::Serialize;

use crate::{
    Blocking, Definition, Member, MemberState, PhaseRule, Quantifier, Recommendation,
    convergence::{is_behind, recommend},
    member::name_in,
};

/// Phase of a group, with the members that block it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// The phase.
    pub phase: String,
    /// The reason why the group is in this phase, with the number of members in each state.
    pub reason: String,
    /// The phases that the group still has to go through, beginning with the current one.
    pub remaining_phases: Vec<String>,
    /// Whether the members have to wait for each other in this phase, and for which members they
    /// wait.
    pub convergence: PhaseConvergence,
    /// True if the group has more than one member.
    pub is_group: bool,
    /// Members that need a person and are in a state outside the state order.
    pub needs_human: Vec<IssueId>,
    /// Names of states that members have but the definition lacks. Such a member counts as having
    /// no state.
    pub unknown_states: Vec<String>,
    /// The recommended next step.
    pub recommendation: Recommendation,
}

/// Whether all members of a group have reached the state that its phase requires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PhaseConvergence {
    /// True if the phase requires convergence and the group has more than one member.
    pub required: bool,
    /// True if the group has converged.
    pub met: bool,
    /// The members that the group waits for.
    pub blocking: Vec<MemberState>,
}

/// Determines the phase of a group: the first one whose rule holds for the unfinished members.
///
/// For a group without members, the phase is the last one, which matches every group. If a member
/// is not in the repository `own`, [`Position::reason`] also names its repository.
#[must_use]
pub fn position(definition: &Definition, members: &[Member], own: &RepoId) -> Position {
    let live: Vec<&Member> = members.iter().filter(|m| m.is_live(definition)).collect();
    let found = match members.is_empty() {
        true => definition.phases.last().map(|rule| (rule, Vec::new())),
        false => definition.phases.iter().find_map(|rule| {
            let matching = matching(definition, rule, &live);
            holds(rule, matching.len(), live.len()).then_some((rule, matching))
        }),
    };
    let needs_human: Vec<&Member> = live
        .iter()
        .copied()
        .filter(|m| m.needs_human(definition))
        .collect();
    // If all members wait for a person, a person has to act. This holds even if no member is listed
    // as blocking.
    let in_human_state = |m: &&Member| m.state_in(definition).is_some_and(|s| s.human);
    let all_wait = !live.is_empty() && live.iter().all(in_human_state);
    let escalates = all_wait || !needs_human.is_empty();
    let mut unknown: Vec<String> = live
        .iter()
        .filter(|m| m.state_in(definition).is_none())
        .filter_map(|m| m.state.clone())
        .collect();
    unknown.sort();
    unknown.dedup();
    let is_group = members.len() > 1;
    let blocking = match &found {
        Some((rule, matching)) => blocking(definition, rule, matching, &live),
        None => Vec::new(),
    };
    let wants = found
        .as_ref()
        .is_some_and(|(rule, _)| rule.blocking.is_some());
    let convergence = PhaseConvergence {
        required: is_group && wants,
        met: blocking.is_empty(),
        blocking,
    };
    Position {
        phase: found
            .as_ref()
            .map_or_else(String::new, |(rule, _)| rule.name.clone()),
        reason: match &found {
            _ if members.is_empty() => "No issues provided".to_owned(),
            Some((rule, matching)) => {
                let named = if matching.is_empty() { &live } else { matching };
                reason(&rule.reason, named, own)
            }
            None => String::new(),
        },
        remaining_phases: found.map_or_else(Vec::new, |(rule, _)| rule.remaining.clone()),
        recommendation: match escalates {
            true => Recommendation::Escalate,
            false => recommend(convergence.met, false),
        },
        convergence,
        is_group,
        needs_human: needs_human.into_iter().map(|m| m.id.clone()).collect(),
        unknown_states: unknown,
    }
}

fn matching<'m>(definition: &Definition, rule: &PhaseRule, live: &[&'m Member]) -> Vec<&'m Member> {
    let in_state = |member: &Member| match &rule.states {
        None => true,
        Some(states) => {
            let state = member.state_in(definition);
            states.iter().any(|wanted| match wanted.is_empty() {
                true => state.is_none(),
                false => state.is_some() && definition.state(wanted) == state,
            })
        }
    };
    let is_oversized = |member: &Member| {
        let estimate = member.estimate.as_deref();
        let estimate = estimate.and_then(|e| definition.estimate_rank(e));
        let mut oversized = definition.estimate.oversized.iter();
        let is = oversized.any(|e| estimate.is_some() && definition.estimate_rank(e) == estimate);
        is && !member.has_children
    };
    let matches = |member: &&&Member| in_state(member) && (!rule.oversized || is_oversized(member));
    live.iter().filter(matches).copied().collect()
}

fn holds(rule: &PhaseRule, matching: usize, live: usize) -> bool {
    match rule.when {
        Quantifier::Any => matching > 0,
        Quantifier::All => matching == live && live > 0,
        Quantifier::None => matching == 0,
    }
}

fn blocking(
    definition: &Definition,
    rule: &PhaseRule,
    matching: &[&Member],
    live: &[&Member],
) -> Vec<MemberState> {
    let target = rule.at.as_deref().and_then(|at| definition.state(at));
    match (rule.blocking, target) {
        (Some(Blocking::Matching), _) => matching.iter().map(|m| MemberState::of(m)).collect(),
        (Some(Blocking::Behind), Some(target)) => {
            let behind = live.iter().filter(|m| is_behind(definition, m, target));
            behind.map(|m| MemberState::of(m)).collect()
        }
        _ => Vec::new(),
    }
}

/// Expands a reason: `{issues}` becomes `Issue #1` or `Issues #1, #2`, and `{states}` becomes the
/// number of members in each state.
fn reason(text: &str, members: &[&Member], own: &RepoId) -> String {
    let named: Vec<String> = members.iter().map(|m| name_in(&m.id, own)).collect();
    let issues = match named.as_slice() {
        [one] => format!("Issue {one}"),
        _ => format!("Issues {}", named.join(", ")),
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for member in members {
        *counts
            .entry(member.state.as_deref().unwrap_or("no state"))
            .or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(state, n)| format!("{n} {state}"))
        .collect();
    text.replace("{issues}", &issues)
        .replace("{states}", &counts.join(", "))
}

#[cfg(test)]
mod tests {
    use forge_core::{ForgeKind, RepoPath};

    use super::*;
    use crate::member::tests::{id, members, numbers};

    fn at(states: &[&str]) -> Position {
        place(&Definition::preset("ralph").unwrap(), &members(states))
    }

    fn place(definition: &Definition, members: &[Member]) -> Position {
        position(definition, members, &id(1).repo)
    }

    #[test]
    fn r_001_1_waiting_groups_require_convergence() {
        let found = at(&["Ready for Plan", "Plan in Review", "Research Needed"]);
        assert_eq!((found.phase.as_str(), found.is_group), ("RESEARCH", true));
        assert!(found.convergence.required && !found.convergence.met);
        let blocking = |found: &Position| -> Vec<u64> {
            numbers(found.convergence.blocking.iter().map(|m| &m.id))
        };
        assert_eq!(blocking(&found), [3]);
        // A member outside the state order also blocks the group. A member past the state of the
        // phase does not.
        let found = at(&["Ready for Plan", "Human Needed"]);
        assert_eq!((found.phase.as_str(), blocking(&found)), ("PLAN", vec![2]));
        // Neither a single issue nor a phase without a target needs convergence.
        assert!(!at(&["Research Needed"]).convergence.required);
        assert!(!at(&["In Progress", "In Progress"]).convergence.required);
    }

    #[test]
    fn r_001_2_every_state_has_its_phase() {
        for (states, phase) in [
            (&[][..], "TRIAGE"),
            // C-001-8: an issue without a state.
            (&[""], "TRIAGE"),
            // C-001-2: an issue in Backlog.
            (&["Backlog"], "TRIAGE"),
            (&["Research Needed"], "RESEARCH"),
            (&["Research in Progress"], "RESEARCH"),
            (&["Ready for Plan"], "PLAN"),
            // C-001-9: this phase comes from a rule in the definition.
            (&["Plan in Progress"], "REVIEW"),
            // C-001-1: all members are in review.
            (&["Plan in Review"], "HUMAN_GATE"),
            (&["In Progress"], "IMPLEMENT"),
            (&["In Review"], "TERMINAL"),
            (&["Done"], "TERMINAL"),
            (&["Canceled"], "TERMINAL"),
            (&["Human Needed"], "TERMINAL"),
            (&["Nonsense"], "TRIAGE"),
            // C-001-5: members whose work has ended are ignored.
            (&["Plan in Review", "Done"], "HUMAN_GATE"),
            (&["Ready for Plan", "Canceled"], "PLAN"),
            (&["Plan in Review", "Ready for Plan"], "REVIEW"),
            (&["In Progress", "Human Needed"], "IMPLEMENT"),
            (&["In Review", "Backlog"], "TRIAGE"),
            (&["Ready for Plan", "Human Needed"], "PLAN"),
            (&["In Review", "Human Needed"], "TRIAGE"),
        ] {
            assert_eq!(at(states).phase, phase, "{states:?}");
        }
    }

    #[test]
    fn group_without_members_is_to_be_triaged() {
        let found = at(&[]);
        assert_eq!(
            (found.phase.as_str(), found.reason.as_str()),
            ("TRIAGE", "No issues provided")
        );
        assert_eq!(found.remaining_phases.first().unwrap(), "triage");
        assert!(found.convergence.met && !found.is_group);
        assert_eq!(at(&["Done", "Canceled"]).phase, "TERMINAL");
    }

    #[test]
    fn r_001_3_reason_has_counts() {
        let found = at(&["Research Needed", "Research in Progress", "Research Needed"]);
        assert_eq!(
            found.reason,
            "to be researched: 2 Research Needed, 1 Research in Progress"
        );
        assert_eq!(
            found.remaining_phases,
            ["research", "plan", "review", "implement", "pr"]
        );
    }

    #[test]
    fn r_001_4_issue_without_state_is_to_be_triaged() {
        let found = at(&[""]);
        assert_eq!(
            found.reason,
            "Issue #1 has no workflow state; triage first."
        );
        let found = at(&["Nonsense", "Ready for Plan"]);
        assert_eq!(
            (found.phase.as_str(), found.unknown_states),
            ("TRIAGE", vec!["Nonsense".to_owned()])
        );
    }

    #[test]
    fn reason_names_the_repository_of_a_foreign_issue() {
        let repo = |owner: &str| RepoId {
            kind: ForgeKind::GITHUB,
            host: "h.example".to_owned(),
            path: RepoPath::Named {
                owner: owner.to_owned(),
                name: "x".to_owned(),
            },
        };
        let ralph = Definition::preset("ralph").unwrap();
        let mut all = members(&["", ""]);
        for (owners, named) in [
            (["octo", "octo"], "Issues #1, #2"),
            (["octo", "mallory"], "Issues #1, mallory/x#2"),
            (["mallory", "mallory"], "Issues mallory/x#1, mallory/x#2"),
        ] {
            for (member, owner) in all.iter_mut().zip(owners) {
                member.id.repo = repo(owner);
            }
            let found = position(&ralph, &all, &repo("octo")).reason;
            let wanted = format!("{named} has no workflow state; triage first.");
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn c_001_6_large_issue_is_split_only_before_work() {
        let ralph = Definition::preset("ralph").unwrap();
        for (state, estimate, has_children, phase) in [
            ("Backlog", "M", false, "SPLIT"),
            ("", "xl", false, "SPLIT"),
            ("Backlog", "S", false, "TRIAGE"),
            ("Backlog", "M", true, "TRIAGE"),
            ("In Progress", "L", false, "IMPLEMENT"),
            ("Done", "L", false, "TERMINAL"),
        ] {
            let mut all = members(&[state]);
            all[0].estimate = Some(estimate.to_owned());
            all[0].has_children = has_children;
            assert_eq!(place(&ralph, &all).phase, phase, "{state} {estimate}");
        }
    }

    #[test]
    fn r_001_22_group_converges_when_all_are_ready() {
        let found = at(&["Ready for Plan", "Ready for Plan", "Research Needed"]);
        assert!(found.convergence.required && !found.convergence.met && found.is_group);
        assert_eq!(
            numbers(found.convergence.blocking.iter().map(|m| &m.id)),
            [3]
        );
        assert_eq!(found.recommendation, Recommendation::Wait);
        let found = at(&["Ready for Plan"; 3]);
        assert!(found.convergence.required && found.convergence.met);
        assert_eq!(found.recommendation, Recommendation::Proceed);
    }

    #[test]
    fn c_001_7_human_needed_issue_is_listed_and_escalated() {
        let found = at(&["In Progress", "Human Needed"]);
        assert_eq!(found.phase, "IMPLEMENT");
        assert_eq!(numbers(&found.needs_human), [2]);
        for states in [
            &["In Progress", "Human Needed"][..],
            &["Research Needed", "Human Needed"],
            &["In Review", "Human Needed"],
            &["Human Needed"],
            // All members need a person, in states that belong to the state order.
            &["Plan in Review", "Plan in Review"],
            &["Plan in Review", "In Review", "Done"],
        ] {
            let found = at(states).recommendation;
            assert_eq!(found, Recommendation::Escalate, "{states:?}");
        }
        for states in [
            &["Plan in Review", "In Progress"][..],
            &["Ready for Plan"],
            &["Done"],
            &[],
        ] {
            let found = at(states).recommendation;
            assert_eq!(found, Recommendation::Proceed, "{states:?}");
        }
    }
}
