//! Checks whether all issues of a group have reached a state.

use forge_core::{Action, Error, Hint, Param, Result, model::IssueId, suggest, text::one_line};
use serde::Serialize;

use crate::{Definition, Member, State};

/// Recommended next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// Continue.
    Proceed,
    /// Wait for the other members.
    Wait,
    /// Ask a person.
    Escalate,
}

/// Progress of a group towards a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Convergence {
    /// True if all members have reached the state.
    pub converged: bool,
    /// The target state.
    pub target_state: String,
    /// The number of members, not counting abandoned ones.
    pub total: usize,
    /// The number of members that have reached the state or passed it.
    pub ready: usize,
    /// The members whose state comes before the target.
    pub blocking: Vec<Blocker>,
    /// True if the group was not read completely. Such a group has not converged.
    pub truncated: bool,
    /// The recommended next step.
    pub recommendation: Recommendation,
}

/// A member that keeps the group from converging.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Blocker {
    /// The issue.
    pub id: IssueId,
    /// The title as one line.
    pub title: String,
    /// The name of the state; `None` if the member has no state.
    pub current_state: Option<String>,
    /// The distance from the member's state to the target in the state order, at least 1. `None` if
    /// the member has no state in the state order.
    pub distance_to_target: Option<usize>,
}

/// Checks whether all of `members` have reached `target`, a state of the state order.
///
/// # Errors
///
/// Fails with `invalid_input` (field `target_state`) if `target` is not in the state order; the
/// error lists the valid states.
pub fn convergence(
    definition: &Definition,
    members: &[Member],
    target: &str,
) -> Result<Convergence> {
    let target = ordered_state(definition, target)?;
    let abandoned = |m: &&Member| {
        let terminal = m.state_in(definition).and_then(|s| s.terminal);
        terminal == Some(crate::Terminal::Abandoned)
    };
    let counted: Vec<&Member> = members.iter().filter(|m| !abandoned(m)).collect();
    let behind = counted.iter().filter(|m| is_behind(definition, m, target));
    let blocking: Vec<Blocker> = behind
        .map(|member| Blocker {
            id: member.id.clone(),
            title: member.title.clone(),
            current_state: member.state.clone(),
            distance_to_target: distance(definition, member, target),
        })
        .collect();
    let needs_human = counted.iter().any(|m| m.needs_human(definition));
    Ok(Convergence {
        converged: blocking.is_empty(),
        target_state: target.name.clone(),
        total: counted.len(),
        ready: counted.len() - blocking.len(),
        recommendation: recommend(blocking.is_empty(), needs_human),
        blocking,
        truncated: false,
    })
}

pub(crate) const fn recommend(met: bool, needs_human: bool) -> Recommendation {
    match (met, needs_human) {
        (true, _) => Recommendation::Proceed,
        (false, true) => Recommendation::Escalate,
        (false, false) => Recommendation::Wait,
    }
}

/// Returns true for a member that has not reached `target`.
pub(crate) fn is_behind(definition: &Definition, member: &Member, target: &State) -> bool {
    let at = member
        .state_in(definition)
        .and_then(|s| definition.order_of(s));
    at.is_none_or(|at| {
        definition
            .order_of(target)
            .is_some_and(|wanted| at < wanted)
    })
}

fn distance(definition: &Definition, member: &Member, target: &State) -> Option<usize> {
    let at = definition.order_of(member.state_in(definition)?)?;
    definition.order_of(target)?.checked_sub(at)
}

pub(crate) fn ordered_state<'d>(definition: &'d Definition, name: &str) -> Result<&'d State> {
    let state = definition.state(name).filter(|s| !s.aside);
    state.ok_or_else(|| {
        let ordered = || {
            definition
                .states
                .iter()
                .filter(|s| !s.aside)
                .map(|s| s.name.as_str())
        };
        let names = ordered().collect::<Vec<_>>().join(", ");
        let error = Error::invalid(
            "target_state",
            format!(
                "'{}' is not a state of the order of work: these are {names}",
                one_line(name)
            ),
        );
        let again = Action::again(&[]);
        let (hint, action) = match suggest::near(name, ordered()).first() {
            Some(meant) => (
                format!("retry with '{meant}'"),
                again.with(Param::TargetState, *meant),
            ),
            None => (
                format!("retry with one of: {names}"),
                again.choose(Param::TargetState),
            ),
        };
        error.with_hint(Hint::from(hint).with_action(action))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::tests::{members, numbers};

    fn of(states: &[&str], target: &str) -> Convergence {
        convergence(
            &Definition::preset("ralph").unwrap(),
            &members(states),
            target,
        )
        .unwrap()
    }

    #[test]
    fn r_001_5_blockers_have_their_distance() {
        // C-001-12: if a blocker waits for a person, the recommendation is to ask a person.
        let states = [
            "Ready for Plan",
            "Plan in Review",
            "Research Needed",
            "Human Needed",
            "",
            "Canceled",
        ];
        let found = of(&states, "ready for plan");
        assert_eq!((found.converged, found.total, found.ready), (false, 5, 2));
        assert_eq!(numbers(found.blocking.iter().map(|b| &b.id)), [3, 4, 5]);
        let distances: Vec<_> = found
            .blocking
            .iter()
            .map(|b| b.distance_to_target)
            .collect();
        assert_eq!(distances, [Some(2), None, None]);
        assert_eq!(found.recommendation, Recommendation::Escalate);
    }

    #[test]
    fn c_001_10_single_issue_converges_at_the_target() {
        let found = of(&["In Review"], "In Review");
        assert_eq!((found.converged, found.total, found.ready), (true, 1, 1));
        assert_eq!(found.recommendation, Recommendation::Proceed);
        // C-001-11: a state past the target counts as reached.
        assert!(of(&["Done"], "In Review").converged);
        let found = of(&["In Progress"], "In Review");
        assert_eq!(
            (found.converged, found.recommendation),
            (false, Recommendation::Wait)
        );
    }

    #[test]
    fn r_001_6_unknown_target_lists_the_states() {
        let ralph = Definition::preset("ralph").unwrap();
        let choose = Action::again(&[]).choose(Param::TargetState);
        let meant = Action::again(&[]).with(Param::TargetState, "Ready for Plan");
        for (target, retry, action) in [
            ("Redy for Plan", "retry with 'Ready for Plan'", &meant),
            ("Canceled", "retry with one of: Backlog", &choose),
            ("nope", "retry with one of: Backlog", &choose),
            ("x\u{1b}[31m", "retry with one of: Backlog", &choose),
        ] {
            let e = convergence(&ralph, &[], target).unwrap_err();
            assert_eq!(e.code(), "invalid_input");
            assert!(e.message().ends_with("In Progress, In Review, Done"), "{e}");
            let hint = e.hint().unwrap();
            assert!(hint.text().starts_with(retry), "{e:?}");
            assert_eq!(hint.action(), Some(action), "{target}");
            assert!(!e.message().contains('\u{1b}'));
        }
    }
}
