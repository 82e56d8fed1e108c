//! The state of an issue as a label: a prefix and the name of the state.

use std::fmt;

use forge_core::{
    Error, ErrorKind, Repo, Result,
    model::{EditIssue, Issue, IssueId, Label, NewLabel, SetChange},
};

use crate::{Definition, State};

/// The states that the labels of an issue name. There should be one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing<'d> {
    states: Vec<&'d State>,
}

impl<'d> Standing<'d> {
    /// In these states.
    #[must_use]
    pub fn of(states: impl IntoIterator<Item = &'d State>) -> Self {
        Self {
            states: states.into_iter().collect(),
        }
    }

    /// The state; `None` where there is none, or more than one.
    #[must_use]
    pub fn state(&self) -> Option<&'d State> {
        match self.states.as_slice() {
            [state] => Some(state),
            _ => None,
        }
    }
}

/// `In Review`, `no state`, or `In Review and Done`.
impl fmt::Display for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.states.iter().map(|s| s.name.as_str()).collect();
        match names.is_empty() {
            true => f.write_str("no state"),
            false => f.write_str(&names.join(" and ")),
        }
    }
}

/// States that are kept as labels.
#[derive(Clone, Debug)]
pub struct LabelStore {
    prefix: String,
}

impl LabelStore {
    /// States whose labels begin with `prefix`, to the letter: `state: ` has a space at its end.
    #[must_use]
    pub fn new(prefix: String) -> Self {
        Self { prefix }
    }

    /// The label of a state.
    #[must_use]
    pub fn label(&self, state: &State) -> String {
        format!("{}{}", self.prefix, state.name)
    }

    /// Where an issue stands. A label with the prefix that names no state of the definition is
    /// somebody else's.
    #[must_use]
    pub fn standing<'d>(&self, definition: &'d Definition, issue: &Issue) -> Standing<'d> {
        let states = definition.states().iter();
        Standing::of(states.filter(|state| issue.labels.iter().any(|l| self.is(l, state))))
    }

    /// Puts an issue into a state, in one edit: its label is added, those of other states go. Gives
    /// `false` where it was there before.
    ///
    /// `issue` is the issue as it is now. A label that the repository does not define is defined.
    ///
    /// # Errors
    /// Those of [`Repo::edit_issue`]; `invalid_input` where the label is not there and cannot be
    /// defined.
    pub async fn set(
        &self,
        repo: &Repo,
        id: &IssueId,
        issue: &Issue,
        definition: &Definition,
        to: &State,
    ) -> Result<bool> {
        let standing = self.standing(definition, issue);
        if standing.state() == Some(to) {
            return Ok(false);
        }
        let label = self.label(to);
        let add = match issue.labels.iter().any(|l| self.is(l, to)) {
            true => Vec::new(),
            false => vec![label.clone()],
        };
        let others = standing.states.iter().filter(|state| **state != to);
        let remove = others.flat_map(|state| {
            let of = issue.labels.iter().filter(move |l| self.is(l, state));
            of.map(|l| l.name.clone())
        });
        let edit = EditIssue {
            labels: SetChange {
                add,
                remove: remove.collect(),
            },
            ..EditIssue::default()
        };
        match repo.edit_issue(id, &edit).await {
            Ok(_) => return Ok(true),
            Err(e) if is_unknown(&e) => define(repo, &label, &e).await?,
            Err(e) => return Err(e),
        }
        repo.edit_issue(id, &edit).await.map(|_| true)
    }

    fn is(&self, label: &Label, state: &State) -> bool {
        label.name.to_lowercase() == self.label(state).to_lowercase()
    }
}

/// Whether an edit failed over its labels: the new one may not be defined.
fn is_unknown(e: &Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::InvalidInput {
            field: Some("labels")
        }
    )
}

/// Defines a label, or says how somebody else can.
async fn define(repo: &Repo, name: &str, missing: &Error) -> Result<()> {
    let new = NewLabel {
        name: name.to_owned(),
        ..NewLabel::default()
    };
    match repo.define_label(&new).await {
        Ok(_) => Ok(()),
        Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists { .. }) => Ok(()),
        Err(e) => Err(Error::new(
            missing.kind().clone(),
            format!(
                "{}, and it could not be defined: {}",
                missing.message(),
                e.message()
            ),
        )
        .with_hint(format!(
            "have somebody who may define the label '{name}' in {}, then try again",
            repo.id()
        ))
        .with_source(e)),
    }
}
