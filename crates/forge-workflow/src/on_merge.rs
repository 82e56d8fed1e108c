//! Determines the target state of an issue after a merge.

use crate::{Definition, State, member::quoted_state, resolve};

/// Returns the state to which a merge moves an issue in state `from`.
///
/// # Errors
///
/// Fails with the reason if the merge does not move the issue.
pub fn merge_goal<'d>(
    definition: &'d Definition,
    from: Option<&str>,
) -> std::result::Result<&'d State, String> {
    let rule = &definition.on_merge;
    let state = from.and_then(|name| definition.state(name));
    let said = match (rule.from.is_empty(), state) {
        (true, _) => Some(&rule.to),
        (false, Some(state)) => (rule.from.iter())
            .find(|(name, _)| definition.state(name) == Some(state))
            .map(|(_, to)| to),
        (false, None) => None,
    };
    let resolved = said.and_then(|to| resolve(definition, to, &rule.command).ok());
    // `lint` has checked that every target resolves. A missing state therefore means that no rule
    // applies to the issue.
    resolved.map(|to| to.state).ok_or_else(|| {
        let from = match (from, state) {
            (None, _) => "an issue without a state".to_owned(),
            (Some(_), Some(state)) => state.name.clone(),
            (Some(from), None) => quoted_state(from),
        };
        format!("no merge rule applies to {from}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_goal_without_table_is_the_end_state() {
        let ralph = Definition::preset("ralph").unwrap();
        for from in [None, Some("In Review"), Some("Backlog"), Some("Nonsense")] {
            assert_eq!(merge_goal(&ralph, from).unwrap().name, "Done", "{from:?}");
        }
    }

    #[test]
    fn merge_goal_follows_the_table() {
        let mut ralph = Definition::preset("ralph").unwrap();
        let table = [("In Review", "__CLOSE__"), ("in progress", "In Review")];
        ralph.on_merge.from = table.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let goal = |from| merge_goal(&ralph, from).map(|s| s.name.as_str());
        assert_eq!(goal(Some("In Review")), Ok("Done"));
        assert_eq!(goal(Some("In Progress")), Ok("In Review"));
        assert_eq!(
            goal(Some("Backlog")).unwrap_err(),
            "no merge rule applies to Backlog"
        );
        assert_eq!(
            goal(Some("Backlog. All checks passed")).unwrap_err(),
            "no merge rule applies to \"Backlog. All checks passed\""
        );
        assert_eq!(
            goal(None).unwrap_err(),
            "no merge rule applies to an issue without a state"
        );
    }
}
