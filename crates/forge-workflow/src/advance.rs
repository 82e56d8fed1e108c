//! Selects the children (sub-issues) of an issue that an advance moves to a later state.

use forge_core::{Action, Error, Hint, Param, Result, model::IssueId};
use serde::Serialize;

use crate::{Definition, Member, State, convergence::ordered_state};

/// Plan for the children of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AdvancePlan<'d> {
    /// The target state.
    #[serde(skip)]
    pub target: &'d State,
    /// The children that move, with the name of their old state, or `None` if they had none.
    pub moves: Vec<(IssueId, Option<String>)>,
    /// The children that stay, with reasons.
    pub skipped: Vec<SkippedMember>,
}

/// A child that stays in its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedMember {
    /// The issue.
    pub id: IssueId,
    /// The name of the state; `None` if the issue has no state.
    pub current_state: Option<String>,
    /// The reason why the child stays.
    pub reason: String,
}

/// Plans which of `children` move to `target`: those whose state comes earlier in the state order.
/// With `pass_locks`, children in a lock state move as well.
///
/// # Errors
///
/// Fails with `invalid_input` (field `target_state`) for a state outside the state order. Fails the
/// same way for a lock state, because only a claim moves an issue there.
pub fn advance_plan<'d>(
    definition: &'d Definition,
    children: &[Member],
    target: &str,
    pass_locks: bool,
) -> Result<AdvancePlan<'d>> {
    let target = ordered_state(definition, target)?;
    if target.lock {
        return Err(lock_target_error(definition, target));
    }
    let wanted = definition.order_of(target);
    let mut plan = AdvancePlan {
        target,
        moves: Vec::new(),
        skipped: Vec::new(),
    };
    for child in children {
        let state = child.state_in(definition);
        let reason = match state {
            Some(s) if s.aside => Some(format!("it is in {}, outside the order of work", s.name)),
            Some(s) if definition.order_of(s) == wanted => {
                Some("it is already in the target state".to_owned())
            }
            Some(s) if definition.order_of(s) > wanted => {
                Some(format!("it is already past the target, in {}", s.name))
            }
            Some(s) if s.lock && !pass_locks => Some(format!("somebody works on it: {}", s.name)),
            None if child.state.is_some() => {
                Some("the workflow does not know its state".to_owned())
            }
            _ => None,
        };
        match reason {
            None => plan.moves.push((child.id.clone(), child.state.clone())),
            Some(reason) => plan.skipped.push(SkippedMember {
                id: child.id.clone(),
                current_state: child.state.clone(),
                reason,
            }),
        }
    }
    Ok(plan)
}

/// Returns the error for a target that is a lock state. Its hint lists the valid target states.
fn lock_target_error(definition: &Definition, target: &State) -> Error {
    let others = definition.states.iter().filter(|s| !s.aside && !s.lock);
    let names: Vec<&str> = others.map(|s| s.name.as_str()).collect();
    let hint = format!("retry with one of: {}", names.join(", "));
    Error::invalid(
        "target_state",
        format!(
            "'{}' is a lock, and only a claim moves an issue into a lock",
            target.name
        ),
    )
    .with_hint(Hint::from(hint).with_action(Action::again(&[]).choose(Param::TargetState)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::tests::{member, members, numbers};

    #[test]
    fn r_001_7_earlier_children_move_and_others_have_reasons() {
        // C-001-15: a child outside the state order is skipped with a reason that says so.
        let ralph = Definition::preset("ralph").unwrap();
        let states = [
            "",
            "Backlog",
            "In Progress",
            "In Review",
            "Done",
            "Human Needed",
            "Nonsense",
        ];
        let plan = advance_plan(&ralph, &members(&states), "In Review", false).unwrap();
        assert_eq!(numbers(plan.moves.iter().map(|(id, _)| id)), [1, 2]);
        let skipped: Vec<&str> = plan.skipped.iter().map(|s| s.reason.as_str()).collect();
        assert_eq!(
            skipped,
            [
                "somebody works on it: In Progress",
                "it is already in the target state",
                "it is already past the target, in Done",
                "it is in Human Needed, outside the order of work",
                "the workflow does not know its state",
            ]
        );
        let plan = advance_plan(&ralph, &members(&states), "In Review", true).unwrap();
        assert_eq!(numbers(plan.moves.iter().map(|(id, _)| id)), [1, 2, 3]);
        let none = advance_plan(&ralph, &[], "In Review", false).unwrap();
        assert!(none.moves.is_empty() && none.skipped.is_empty());
    }

    #[test]
    fn advance_into_a_lock_is_refused() {
        let ralph = Definition::preset("ralph").unwrap();
        let e = advance_plan(&ralph, &[], "plan in progress", true).unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert_eq!(
            e.message(),
            "'Plan in Progress' is a lock, and only a claim moves an issue into a lock"
        );
        assert_eq!(
            e.hint().unwrap().text(),
            "retry with one of: Backlog, Research Needed, Ready for Plan, Plan in Review, \
             In Review, Done"
        );
    }

    #[test]
    fn advance_plan_is_idempotent_and_never_moves_backwards() {
        let ralph = Definition::preset("ralph").unwrap();
        for target in ralph.states.iter().filter(|s| !s.aside && !s.lock) {
            for from in ralph.states.iter().map(|s| s.name.as_str()).chain([""]) {
                let child = member(1, from);
                let plan =
                    advance_plan(&ralph, std::slice::from_ref(&child), &target.name, true).unwrap();
                if plan.moves.is_empty() {
                    continue;
                }
                let before = child.state_in(&ralph).and_then(|s| ralph.order_of(s));
                assert!(before < ralph.order_of(target), "{from} to {}", target.name);
                let moved = member(1, &target.name);
                let again = advance_plan(&ralph, &[moved], &target.name, true).unwrap();
                assert!(again.moves.is_empty());
            }
        }
    }
}
