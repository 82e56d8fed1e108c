//! An issue from the workflow's point of view.

use forge_core::{
    PrKey, RepoId,
    model::IssueId,
    text::{Quote, quote, truncate_chars},
};
use serde::Serialize;

use crate::{Definition, State, Terminal};

/// An issue of a group with its workflow values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Member {
    /// The issue.
    pub id: IssueId,
    /// The title as one line.
    pub title: String,
    /// The name of the state in the store; `None` if the issue has no state.
    pub state: Option<String>,
    /// The estimate.
    pub estimate: Option<String>,
    /// The priority.
    pub priority: Option<String>,
    /// True if the issue has sub-issues.
    pub has_children: bool,
    /// How the work ended; set for a closed issue.
    pub closed: Option<Terminal>,
}

impl Member {
    /// Returns the state, or `None` if it is missing or the definition does not have it. A closed
    /// issue always has a terminal state, even if the store says otherwise.
    #[must_use]
    pub fn state_in<'d>(&self, definition: &'d Definition) -> Option<&'d State> {
        let named = definition.state(self.state.as_deref().unwrap_or_default());
        match (named, self.closed) {
            (Some(state), Some(_)) if state.terminal.is_some() => Some(state),
            (_, Some(end)) => definition.states.iter().find(|s| s.terminal == Some(end)),
            (named, None) => named,
        }
    }

    /// Returns true if the work has not ended.
    pub(crate) fn is_live(&self, definition: &Definition) -> bool {
        let state = self.state_in(definition);
        self.closed.is_none() && state.is_none_or(|s| s.terminal.is_none())
    }

    /// Returns true if the issue needs a person and is in a state outside the state order.
    pub(crate) fn needs_human(&self, definition: &Definition) -> bool {
        let state = self.state_in(definition);
        state.is_some_and(|s| s.human && s.aside)
    }

    /// Returns `#12`, or an at-uri if the issue is an atproto record.
    #[must_use]
    pub fn short(&self) -> String {
        short(&self.id)
    }
}

/// Maximum length of a state that the definition lacks, in characters.
const MAX_STATE_CHARS: usize = 100;

/// Cuts and quotes a state that the definition lacks, because anybody who can edit the issue
/// chooses this text.
pub(crate) fn quoted_state(name: &str) -> String {
    let (kept, left) = truncate_chars(name, MAX_STATE_CHARS);
    let more = if left > 0 { "…" } else { "" };
    quote(&format!("{kept}{more}"), Quote::Inline)
}

/// Returns `#12`, or an at-uri if the issue is an atproto record.
pub(crate) fn short(id: &IssueId) -> String {
    match &id.key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => uri.clone(),
    }
}

/// Returns `#12` for an issue of `own`, `owner/name#12` for one of another repository on the same
/// host, or an at-uri.
#[must_use]
pub fn name_in(id: &IssueId, own: &RepoId) -> String {
    let repo = &id.repo;
    if repo.comparison_key() == own.comparison_key() {
        return short(id);
    }
    match repo.kind == own.kind && repo.host == own.host {
        true => qualified(id),
        false => id.to_string(),
    }
}

/// Returns `owner/name#12` or an at-uri.
fn qualified(id: &IssueId) -> String {
    match (&id.key, id.repo.owner_and_name()) {
        (PrKey::Number(n), Some((owner, name))) => format!("{owner}/{name}#{n}"),
        _ => id.to_string(),
    }
}

/// Returns the sort key: repository, then number. It is equal for all spellings of one repository.
pub(crate) fn order(id: &IssueId) -> (String, u64, String) {
    let repo = id.repo.comparison_key();
    match &id.key {
        PrKey::Number(n) => (repo, *n, String::new()),
        PrKey::Record(uri) => (repo, u64::MAX, uri.clone()),
    }
}

/// An issue that a decision mentions, with its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemberState {
    /// The issue.
    pub id: IssueId,
    /// The title as one line.
    pub title: String,
    /// The name of the state; `None` if the issue has no state.
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

    /// Returns the id of issue `number`.
    pub fn id(number: u64) -> IssueId {
        IssueId::number(RepoId::local("/tools"), number)
    }

    #[test]
    fn closed_issue_gets_a_terminal_state() {
        let ralph = Definition::preset("ralph").unwrap();
        for (state, closed, wanted) in [
            ("Done", Some(Terminal::Completed), Some("Done")),
            // A terminal state in the store is kept, even if it contradicts the closing reason.
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

    /// Returns issue `number` in a state; `""` means that the issue has no state.
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

    /// Returns issues numbered from 1 in these states.
    pub fn members(states: &[&str]) -> Vec<Member> {
        (1..)
            .zip(states)
            .map(|(n, state)| member(n, state))
            .collect()
    }

    /// Returns the numbers of issues.
    pub fn numbers<'a>(ids: impl IntoIterator<Item = &'a IssueId>) -> Vec<u64> {
        ids.into_iter().map(|id| order(id).1).collect()
    }
}
