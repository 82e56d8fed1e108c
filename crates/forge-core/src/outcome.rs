//! The result of a write: the value, and whether it is visible to others.
//!
//! On tangled, a write stores an atproto record on the author's PDS. A separate service, the index
//! (also called appview), reads the record and displays it, often some seconds later. Reading a
//! record is called ingestion.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::{Hint, is_full_oid};

/// Result of a write.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome<T> {
    /// The object after the write.
    pub value: T,
    /// Ingestion state of the object in the index that displays it.
    pub ingestion: Ingestion,
    /// True if the requested state, such as closed, existed before the call. The first warning then
    /// describes this state. Other parts of the request, such as a comment or the deletion of a
    /// branch, may still have been done and are listed in `steps`. For a merge see
    /// [`Merge::already_merged`](crate::model::Merge::already_merged).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// True if the requested state existed before the call and nothing was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Parts of the write, in order. After a partial failure, also the parts that were not done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Warnings about a write that succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl<T> Outcome<T> {
    /// Builds the outcome of a write that is visible at once. It has no warnings.
    pub fn immediate(value: T) -> Self {
        Self {
            value,
            ingestion: Ingestion::Immediate,
            already: false,
            unchanged: false,
            steps: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the outcome of a request that needed no write, because `value` was already current.
    pub fn unchanged(value: T, warning: Warning) -> Self {
        Self {
            already: true,
            unchanged: true,
            ..Self::immediate(value).with_warning(warning)
        }
    }

    /// Adds a warning.
    #[must_use]
    pub fn with_warning(mut self, warning: Warning) -> Self {
        self.warnings.push(warning);
        self
    }

    /// Adds steps. If one of them is done, the write is no longer `unchanged`.
    pub fn add_steps(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.steps.extend(steps);
        self.unchanged &= !self.steps.iter().any(|step| step.done);
    }

    /// Returns the names of the steps that were done although the requested state existed before
    /// the call, separated by commas. Returns `None` if there is no such step.
    pub fn extra_steps(&self) -> Option<String> {
        let done = self.steps.iter().filter(|step| step.done);
        let done: Vec<&str> = done.map(|step| step.name.as_str()).collect();
        (self.already && !done.is_empty()).then(|| done.join(", "))
    }

    /// Replaces the value and keeps the rest.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Outcome<U> {
        Outcome {
            value: f(self.value),
            ingestion: self.ingestion,
            already: self.already,
            unchanged: self.unchanged,
            steps: self.steps,
            warnings: self.warnings,
        }
    }
}

/// Ingestion state of a written record: whether the index displays the record.
///
/// The names of the five states are the same in Rust, JSON, MCP and docs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Ingestion {
    /// The forge itself displays the object; there is no separate index.
    Immediate,
    /// The index displays the object with the written content.
    Confirmed {
        /// Name of the index.
        by: String,
        /// Time until the object appeared in the index, in milliseconds.
        #[serde(rename = "after_ms", serialize_with = "millis")]
        after: Duration,
    },
    /// The index does not display the object yet, but may do so later.
    Pending {
        /// The record's at-uri. `None` if it is unknown whether the record was written. The
        /// completed steps then remain, and a warning says how to finish.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
        /// Time waited so far, in milliseconds.
        #[serde(rename = "waited_ms", serialize_with = "millis")]
        waited: Duration,
        /// A rule of another version of the index that the record breaks, as a sentence. Nothing
        /// shows that this index applies the rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        doubt: Option<String>,
    },
    /// The record is stored or deleted on the PDS, but the appview does not read records of this
    /// kind.
    PdsOnly {
        /// An alternative to waiting.
        instead: String,
    },
    /// The index ignores the record: its list lacks the record, or its version has the rule that the
    /// record breaks.
    Ineffective {
        /// The record's at-uri.
        uri: String,
        /// Why the index ignores the record.
        reason: String,
    },
}

impl Ingestion {
    /// Returns the stable name of the state: `immediate`, `confirmed`, `pending`, `pds_only` or
    /// `ineffective`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Confirmed { .. } => "confirmed",
            Self::Pending { .. } => "pending",
            Self::PdsOnly { .. } => "pds_only",
            Self::Ineffective { .. } => "ineffective",
        }
    }

    /// Combines the ingestion states of two writes that belong together. The less visible state
    /// wins.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        let rank = |ingestion: &Self| match ingestion {
            Self::Immediate => 0,
            Self::Confirmed { .. } => 1,
            Self::Pending { .. } => 2,
            Self::PdsOnly { .. } => 3,
            Self::Ineffective { .. } => 4,
        };
        if rank(&other) > rank(&self) {
            other
        } else {
            self
        }
    }
}

fn millis<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u64(u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// A step of a write that has several steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Step {
    /// Name of the step in a few words: `merge`, `delete head branch`.
    pub name: String,
    /// True if the step was done.
    pub done: bool,
    /// The branch that the step deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_branch: Option<DeletedBranch>,
}

impl Step {
    /// Builds the step `name`.
    pub fn new(name: impl Into<String>, done: bool) -> Self {
        Self {
            name: name.into(),
            done,
            deleted_branch: None,
        }
    }

    /// Builds the step that deletes a head branch; `deleted` is `None` if the branch was kept.
    pub fn delete_head_branch(deleted: Option<DeletedBranch>) -> Self {
        let mut step = Self::new("delete head branch", deleted.is_some());
        step.deleted_branch = deleted;
        step
    }
}

/// A branch that a write deleted. Its commit brings the branch back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DeletedBranch {
    /// Name of the branch.
    pub name: String,
    /// The commit at which the branch was, in full hex. Empty if the host did not name one.
    pub commit: String,
}

impl DeletedBranch {
    /// Names a deleted branch and the commit at which it was. Text that is no object id is dropped,
    /// because the commit becomes a part of a command.
    pub fn new(name: impl Into<String>, commit: impl Into<String>) -> Self {
        let commit = commit.into();
        Self {
            name: name.into(),
            commit: if is_full_oid(&commit) {
                commit
            } else {
                String::new()
            },
        }
    }
}

/// A warning about a call that succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// The problem and its effect.
    pub message: String,
    /// An action against the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// The field of the model that is incomplete, if the warning is about a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<&'static str>,
}

impl Warning {
    /// Builds a warning without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            section: None,
        }
    }

    /// Sets the field of the model that is incomplete.
    #[must_use]
    pub fn of_section(mut self, section: &'static str) -> Self {
        self.section = Some(section);
        self
    }

    /// Adds a recovery.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Merges the warnings of the rows of a list, so that each warning appears once, in the order
    /// of the rows. `rows` yields the name and the warnings of each row. Leaves out the warnings in
    /// `told`, which the caller reports for the whole list.
    ///
    /// If only some rows have a warning, the names of up to three of these rows are added to its
    /// message. If the hint of a warning differs between rows, the hint is dropped.
    #[must_use]
    pub fn of_rows<'a>(
        rows: impl IntoIterator<Item = (String, &'a [Self])>,
        told: &[Self],
    ) -> Vec<Self> {
        let mut folded: Vec<(Self, Vec<String>)> = Vec::new();
        let mut count = 0;
        for (name, warnings) in rows {
            count += 1;
            for warning in warnings.iter().filter(|w| !told.contains(w)) {
                let same = |known: &Self| {
                    known.message == warning.message && known.section == warning.section
                };
                match folded.iter_mut().find(|(known, _)| same(known)) {
                    Some((known, names)) => {
                        if known.hint != warning.hint {
                            known.hint = None;
                        }
                        if names.last() != Some(&name) {
                            names.push(name.clone());
                        }
                    }
                    None => folded.push((warning.clone(), vec![name.clone()])),
                }
            }
        }
        folded
            .into_iter()
            .map(|(warning, names)| match names.len() {
                all if all == count => warning,
                some => Self {
                    message: format!("{} (of {})", warning.message, join_few(&names, some)),
                    ..warning
                },
            })
            .collect()
    }
}

/// Joins the first three names, and adds the number of further names: `a, b, c and 2 more`.
fn join_few(names: &[String], count: usize) -> String {
    const MAX_NAMES: usize = 3;
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    let shown = shown.join(", ");
    match count.saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_step_turns_unchanged_outcome_into_change() {
        let step = |name: &str, done| Step::new(name, done);
        let mut outcome = Outcome::unchanged((), Warning::new("closed already"));
        outcome.add_steps([step("delete head branch", false)]);
        assert!(outcome.already && outcome.unchanged);
        assert_eq!(outcome.extra_steps(), None);
        outcome.add_steps([step("comment", true), step("another", true)]);
        assert!(outcome.already && !outcome.unchanged);
        let named = outcome.extra_steps();
        assert_eq!(named.as_deref(), Some("comment, another"));
        let mut closed = Outcome::immediate(());
        closed.add_steps([step("comment", true)]);
        assert_eq!(closed.extra_steps(), None);
    }

    #[test]
    fn less_visible_ingestion_state_is_worse() {
        let confirmed = || Ingestion::Confirmed {
            by: "index".into(),
            after: Duration::ZERO,
        };
        let pending = |uri: &str| Ingestion::Pending {
            uri: Some(uri.into()),
            waited: Duration::ZERO,
            doubt: None,
        };
        let pds_only = || Ingestion::PdsOnly {
            instead: "on the web".into(),
        };
        let ineffective = || Ingestion::Ineffective {
            uri: "at://x".into(),
            reason: "no".into(),
        };
        let in_order = [
            Ingestion::Immediate,
            confirmed(),
            pending("at://x"),
            pds_only(),
            ineffective(),
        ];
        for (better, worse) in in_order.iter().zip(in_order.iter().skip(1)) {
            assert_eq!(better.clone().combine(worse.clone()), *worse);
            assert_eq!(worse.clone().combine(better.clone()), *worse);
        }
        // Of two states of equal rank, the first is kept.
        let first = pending("at://x").combine(pending("at://y"));
        assert_eq!(first, pending("at://x"));
    }

    #[test]
    fn same_warning_of_many_rows_is_listed_once() {
        let (all, some, told) = (
            Warning::new("as indexed"),
            Warning::new("no labels").with_hint("try again"),
            Warning::new("told before"),
        );
        let bad = [all.clone(), some.clone(), some.clone(), told.clone()];
        let good = [all.clone()];
        let rows = (1..=5).map(|n| {
            let warnings = if n == 1 { &good[..] } else { &bad[..] };
            (n.to_string(), warnings)
        });
        let of = Warning::of_rows(rows, &[told]);
        let named = Warning::new("no labels (of 2, 3, 4 and 1 more)").with_hint("try again");
        assert_eq!(of, [all.clone(), named]);
        let one = Warning::of_rows([("1".to_owned(), &bad[..2])], &[]);
        assert_eq!(one, [all, some]);
        let own = ["1", "2"].map(|n| [Warning::new("said").with_hint(format!("look at {n}"))]);
        let rows = own.iter().enumerate();
        let rows = rows.map(|(n, warnings)| (n.to_string(), &warnings[..]));
        assert_eq!(Warning::of_rows(rows, &[]), [Warning::new("said")]);
        let none: [(String, &[Warning]); 0] = [];
        assert!(Warning::of_rows(none, &[]).is_empty());
    }
}
