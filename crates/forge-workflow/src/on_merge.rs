//! What a merge does with the issues that its pull request closes.

use std::collections::BTreeMap;

use forge_core::{Error, ErrorKind, Hint, Result, text::one_line};

use crate::{Definition, Standing, State, resolve};

/// What a merge does, as somebody has configured it.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// From which state to which state or intent; empty: from every state to the definition's.
    pub from: Vec<(String, String)>,
    /// Whether only a merge into the default branch counts.
    pub only_default_branch: bool,
    /// Whether the definition's goal counts for every issue, whatever `from` says.
    pub force: bool,
}

/// A rule that holds for a definition.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Names of states; `None`: from every state to `goal`.
    from: Option<BTreeMap<String, String>>,
    goal: String,
    only_default_branch: bool,
}

impl Policy {
    /// Checks a rule: every state is one of `definition`, and every goal one that the command of a
    /// merge may ask for.
    ///
    /// # Errors
    /// `config` for the first that is not, with those that are.
    pub fn new(definition: &Definition, rule: &Rule) -> Result<Self> {
        let command = &definition.on_merge.command;
        let mut from = BTreeMap::new();
        for (state, to) in &rule.from {
            let known = definition.state(state).ok_or_else(|| {
                wrong(
                    state,
                    &format!("the states are {}", definition.state_names()),
                    "correct the name of the key",
                )
            })?;
            let goal = resolve(definition, to, command).map_err(|e| {
                let hint = e.hint().cloned().unwrap_or(Hint::new("correct it"));
                wrong(state, e.message(), hint).with_source(e)
            })?;
            let goal = goal.state.name.clone();
            if from.insert(known.name.clone(), goal).is_some() {
                return Err(wrong(state, "it is set twice", "keep one of the two"));
            }
        }
        let goal = resolve(definition, &definition.on_merge.to, command)?;
        Ok(Self {
            from: (!from.is_empty() && !rule.force).then_some(from),
            goal: goal.state.name.clone(),
            only_default_branch: rule.only_default_branch,
        })
    }

    /// Whether only a merge into the default branch counts.
    #[must_use]
    pub fn only_default_branch(&self) -> bool {
        self.only_default_branch
    }

    /// Where an issue goes. One that stands where the table leads, and where the work ends, goes
    /// nowhere else: what is left is to close it, should it be open.
    ///
    /// # Errors
    /// With the reason, where it stays as it is.
    pub fn goal<'d>(
        &self,
        definition: &'d Definition,
        standing: &Standing<'_>,
    ) -> std::result::Result<&'d State, String> {
        let goal = match (&self.from, standing.state()) {
            (None, _) => Some(&self.goal),
            (Some(from), Some(state)) => from.get(&state.name).or_else(|| {
                let ends = state.terminal.is_some() && self.leads_to(standing);
                ends.then_some(&state.name)
            }),
            (Some(_), None) => None,
        };
        goal.and_then(|name| definition.state(name))
            .ok_or_else(|| format!("a merge leads nowhere from {standing}"))
    }

    /// Whether the table of a rule leads to where an issue stands: then a merge may have brought it
    /// there, and to move it once more would be a step that nobody has merged anything for. Without
    /// a table every issue goes to one state, and there is no second step.
    #[must_use]
    pub fn leads_to(&self, standing: &Standing<'_>) -> bool {
        match (&self.from, standing.state()) {
            (Some(from), Some(state)) => from.values().any(|to| *to == state.name),
            _ => false,
        }
    }
}

fn wrong(state: &str, why: &str, hint: impl Into<Hint>) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("`workflow.on_merge.from.{}`: {why}", one_line(state)),
    )
    .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(from: &[(&str, &str)], force: bool) -> Rule {
        let from = from.iter();
        Rule {
            from: from.map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            only_default_branch: true,
            force,
        }
    }

    #[test]
    fn the_table_says_where_an_issue_goes_and_force_overrules_it() {
        let ralph = Definition::preset("ralph").unwrap();
        let goal = |rule: &Rule, state: Option<&str>| {
            let policy = Policy::new(&ralph, rule).unwrap();
            let standing = Standing::of(state.map(|name| ralph.state(name).unwrap()));
            let goal = policy.goal(&ralph, &standing);
            goal.map_or_else(|why| why, |state| state.name.clone())
        };
        let table = &[("in review", "__CLOSE__"), ("In Progress", "In Review")][..];
        for (from, force, state, wanted) in [
            (&[][..], false, Some("Backlog"), "Done"),
            (&[], false, None, "Done"),
            (table, false, Some("In Review"), "Done"),
            (table, false, Some("In Progress"), "In Review"),
            (
                table,
                false,
                Some("Backlog"),
                "a merge leads nowhere from Backlog",
            ),
            (table, false, None, "a merge leads nowhere from no state"),
            // Its label was changed, and it may not be closed yet.
            (table, false, Some("Done"), "Done"),
            (
                table,
                false,
                Some("Canceled"),
                "a merge leads nowhere from Canceled",
            ),
            (table, true, Some("In Progress"), "Done"),
            (table, true, None, "Done"),
        ] {
            assert_eq!(goal(&rule(from, force), state), wanted, "{state:?} {force}");
        }
    }

    #[test]
    fn a_merge_may_have_led_to_the_goals_of_the_table_alone() {
        let ralph = Definition::preset("ralph").unwrap();
        let table = &[("In Review", "__CLOSE__"), ("In Progress", "In Review")][..];
        for (from, force, state, wanted) in [
            (table, false, Some("In Review"), true),
            (table, false, Some("Done"), true),
            (table, false, Some("In Progress"), false),
            (table, false, None, false),
            (table, true, Some("In Review"), false),
            (&[], false, Some("In Review"), false),
        ] {
            let policy = Policy::new(&ralph, &rule(from, force)).unwrap();
            let standing = Standing::of(state.map(|name| ralph.state(name).unwrap()));
            assert_eq!(policy.leads_to(&standing), wanted, "{state:?} {force}");
        }
    }

    #[test]
    fn a_rule_that_cannot_hold_is_refused() {
        let ralph = Definition::preset("ralph").unwrap();
        for (from, why) in [
            (
                &[("Reviewed", "Done")][..],
                "`workflow.on_merge.from.Reviewed`: the states are Backlog,",
            ),
            (
                &[("In Review", "Backlog")],
                "`workflow.on_merge.from.In Review`: Backlog is no state for ralph_pr",
            ),
            (&[("In Review", "__LOCK__")], "__LOCK__ is not for ralph_pr"),
            (
                &[("Done", "Done"), ("done", "Done")],
                "`workflow.on_merge.from.done`: it is set twice",
            ),
        ] {
            let e = Policy::new(&ralph, &rule(from, false)).unwrap_err();
            assert_eq!(e.code(), "config");
            assert!(e.message().contains(why) && e.hint().is_some(), "{e:?}");
        }
    }
}
