//! An issue as the decisions see it.

use forge_core::{PrKey, model::IssueId};
use serde::Serialize;

use crate::{Definition, State, Terminal};

/// An issue of a group, with what the store of a workflow knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// What names it.
    pub id: IssueId,
    /// One line.
    pub title: String,
    /// The name of its state, as the store has it; `None` without one.
    pub state: Option<String>,
    /// Its estimate.
    pub estimate: Option<String>,
    /// Its priority.
    pub priority: Option<String>,
    /// Whether it has sub-issues.
    pub has_children: bool,
    /// How its work ended, where the issue is closed.
    pub closed: Option<Terminal>,
}

impl Member {
    /// Its state; `None` without one, and for a name that the definition does not know. A closed
    /// issue has ended, whatever its state says.
    #[must_use]
    pub fn state_in<'d>(&self, definition: &'d Definition) -> Option<&'d State> {
        let named = definition.state(self.state.as_deref().unwrap_or_default());
        match (named, self.closed) {
            (Some(state), Some(_)) if state.terminal.is_some() => Some(state),
            (_, Some(end)) => definition.states.iter().find(|s| s.terminal == Some(end)),
            (named, None) => named,
        }
    }

    /// Whether its work has not ended.
    pub(crate) fn is_live(&self, definition: &Definition) -> bool {
        let state = self.state_in(definition);
        self.closed.is_none() && state.is_none_or(|s| s.terminal.is_none())
    }

    /// Whether it waits for a person, beside the order of work.
    pub(crate) fn needs_human(&self, definition: &Definition) -> bool {
        let state = self.state_in(definition);
        state.is_some_and(|s| s.human && s.aside)
    }

    /// `#12` in its own repository, an at-uri elsewhere.
    #[must_use]
    pub fn short(&self) -> String {
        short(&self.id)
    }
}

/// `#12`, or an at-uri.
pub(crate) fn short(id: &IssueId) -> String {
    match &id.key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => uri.clone(),
    }
}

/// By repository, then by number.
pub(crate) fn order(id: &IssueId) -> (String, u64, String) {
    match &id.key {
        PrKey::Number(n) => (id.repo.to_string(), *n, String::new()),
        PrKey::Record(uri) => (id.repo.to_string(), u64::MAX, uri.clone()),
    }
}

/// An issue that a decision names, and the state that it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberState {
    /// What names it.
    pub id: IssueId,
    /// One line.
    pub title: String,
    /// The name of its state; `None` without one.
    pub state: Option<String>,
}

impl MemberState {
    pub(crate) fn of(member: &Member) -> Self {
        Self {
            id: member.id.clone(),
            title: member.title.clone(),
            state: member.state.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use forge_core::RepoId;

    use super::*;

    /// Issue `number` of a repository.
    pub fn id(number: u64) -> IssueId {
        IssueId::number(RepoId::local("/tools"), number)
    }

    #[test]
    fn closed_issue_is_in_the_state_of_its_end() {
        let ralph = Definition::preset("ralph").unwrap();
        for (state, closed, wanted) in [
            ("Done", Some(Terminal::Completed), Some("Done")),
            // A terminal state stands, whatever the reason of the closing.
            ("Canceled", Some(Terminal::Completed), Some("Canceled")),
            ("In Review", Some(Terminal::Completed), Some("Done")),
            ("", Some(Terminal::Abandoned), Some("Canceled")),
            ("Nonsense", None, None),
            ("in review", None, Some("In Review")),
        ] {
            let issue = Member {
                closed,
                ..member(1, state)
            };
            let found = issue.state_in(&ralph).map(|s| s.name.as_str());
            assert_eq!(found, wanted, "{state} {closed:?}");
        }
    }

    /// Issue `number` in a state; `""` is none.
    pub fn member(number: u64, state: &str) -> Member {
        Member {
            id: id(number),
            title: format!("Issue {number}"),
            state: (!state.is_empty()).then(|| state.to_owned()),
            estimate: None,
            priority: None,
            has_children: false,
            closed: None,
        }
    }

    /// Issues from 1 in these states.
    pub fn members(states: &[&str]) -> Vec<Member> {
        (1..)
            .zip(states)
            .map(|(n, state)| member(n, state))
            .collect()
    }

    /// The numbers of issues.
    pub fn numbers<'a>(ids: impl IntoIterator<Item = &'a IssueId>) -> Vec<u64> {
        ids.into_iter().map(|id| order(id).1).collect()
    }
}
