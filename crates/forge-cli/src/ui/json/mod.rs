//! `--json`, `--jq`, `--template`: fields with gh's names, in gh's format.

mod context;
mod ingestion;
mod issue;
mod pull;
mod thread;

use std::collections::BTreeSet;

use forge::context::ContextSection;
use forge_core::{
    Action, Error, Hint, Param, Result,
    model::{BoardId, IssueFields, PrFields},
    suggest,
};

pub(crate) use context::model_name;
pub use context::{CONTEXT_FIELDS, WATCH_FIELDS};
pub(crate) use ingestion::ingestion;
pub use issue::{EVENT_FIELDS, ISSUE_FIELDS, ShownIssue};
pub use pull::PULL_FIELDS;
use pull::ROW_FIELDS;
pub(crate) use thread::bucket;
pub use thread::{CHECK_FIELDS, THREAD_FIELDS};

pub use super::value::Json;
use super::{Ui, jq, template};
use crate::args::output::JsonArgs;

/// A field of `--json`: gh's name, the parts of the item to read for it, and its value.
pub struct JsonField<T: 'static, N: 'static = ()> {
    /// The name, in camelCase.
    pub name: &'static str,
    /// The optional parts of the item that must be read for the value.
    pub needs: N,
    /// Computes the value.
    pub get: fn(&T) -> Json,
}

/// The selected fields, sorted by name, without duplicates.
pub struct Selection<T: 'static, N: 'static = ()> {
    fields: Vec<&'static JsonField<T, N>>,
    jq: Option<jq::JqFilter>,
    template: Option<template::Template>,
}

/// Parts of a pull request that are read by default: the field that shows the part, and the flag
/// that skips the part if this field is not selected.
const SKIP_UNLESS_SELECTED: &[(&str, PrFields)] = &[
    ("body", PrFields::NO_DESCRIPTION),
    ("labels", PrFields::NO_LABELS),
    ("assignees", PrFields::NO_ASSIGNEES),
    ("milestone", PrFields::NO_MILESTONE),
    ("reviewRequests", PrFields::NO_REVIEW_REQUESTS),
    ("latestReviews", PrFields::NO_LATEST_REVIEWS),
];

impl<T> Selection<T, PrFields> {
    /// Returns the parts of a pull request that the selected fields need. Skips parts that are read
    /// by default, if no selected field needs them.
    #[must_use]
    pub fn sections(&self) -> PrFields {
        let shown = |name: &str| self.fields.iter().any(|f| f.name == name);
        let unlooked = SKIP_UNLESS_SELECTED.iter().filter(|(name, _)| !shown(name));
        let needed = self.fields.iter().map(|f| f.needs);
        needed
            .chain(unlooked.map(|(_, without)| *without))
            .fold(PrFields::NONE, |all, field| all | field)
    }

    /// Returns the parts to read for a list. If the rows of a list already have all selected
    /// fields, these parts are fewer than [`Self::sections`].
    #[must_use]
    pub fn sections_of_rows(&self) -> PrFields {
        if self.fields.iter().all(|f| ROW_FIELDS.contains(&f.name)) {
            return PrFields::ROW;
        }
        self.sections()
    }
}

impl<T> Selection<T, Option<ContextSection>> {
    /// Returns the sections of the context that the selected fields need.
    #[must_use]
    pub fn context_sections(&self) -> BTreeSet<ContextSection> {
        self.fields.iter().filter_map(|f| f.needs).collect()
    }
}

impl<T> Selection<T, IssueFields> {
    /// Returns true if one of these fields is selected.
    #[must_use]
    pub fn shows(&self, names: &[&str]) -> bool {
        self.fields.iter().any(|f| names.contains(&f.name))
    }

    /// Returns true if a list from an index (tangled's appview) may lack one of the selected
    /// fields.
    #[must_use]
    pub fn shows_more_than_rows(&self) -> bool {
        self.shows(&["assignees", "closedAt", "labels"])
    }

    /// Returns the parts of an issue that the selected fields need, including the values of `board`
    /// if a selected field needs them.
    #[must_use]
    pub fn issue_sections(&self, board: Option<BoardId>) -> IssueFields {
        let has_values = self.shows(&["estimate", "priority", "values"]);
        let mut fields = IssueFields::NONE;
        fields.comments = self.fields.iter().any(|f| f.needs.comments);
        fields.relations = self.fields.iter().any(|f| f.needs.relations);
        fields.board = board.filter(|_| has_values);
        fields.details = self.fields.iter().any(|f| f.needs.details);
        fields.projects = self.fields.iter().any(|f| f.needs.projects);
        fields.closing_pulls = self.fields.iter().any(|f| f.needs.closing_pulls);
        fields
    }
}

impl<T, N> Selection<T, N> {
    /// Returns the fields that the flags select; `None` without `--json`. Compiles the expressions
    /// of `--jq` and `--template`, so that mistakes are reported before any request.
    ///
    /// # Errors
    ///
    /// `invalid_input` for an unknown field, `--json` without fields, and an invalid expression.
    pub fn from_args(args: &JsonArgs, table: &'static [JsonField<T, N>]) -> Result<Option<Self>> {
        let Some(names) = &args.json else {
            let without = |flag: &str| {
                Error::invalid(
                    "json",
                    format!("cannot use `{flag}` without specifying `--json`"),
                )
                .with_hint(match args.selects_all {
                    true => "add `--json`",
                    false => "pass `--json` alone to see the fields",
                })
            };
            return match (&args.jq, &args.template) {
                (Some(_), _) => Err(without("--jq")),
                (_, Some(_)) => Err(without("--template")),
                (None, None) => Ok(None),
            };
        };
        let list = || {
            table
                .iter()
                .map(|f| format!("  {}", f.name))
                .collect::<Vec<_>>()
                .join("\n")
        };
        if names.is_empty() {
            return Err(Error::invalid(
                "json",
                format!(
                    "Specify one or more comma-separated fields for `--json`:\n{}",
                    list()
                ),
            ));
        }
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            let Some(field) = table.iter().find(|f| f.name == name) else {
                let e = Error::invalid(
                    "json",
                    format!(
                        "Unknown JSON field: \"{name}\"\nAvailable fields:\n{}",
                        list()
                    ),
                );
                return Err(
                    match suggest::near(name, table.iter().map(|f| f.name)).first() {
                        Some(near) => {
                            e.with_hint(Hint::from(format!("did you mean '{near}'?")).with_action(
                                Action::again(&[]).replace(Param::Include, name, *near),
                            ))
                        }
                        None => e,
                    },
                );
            };
            fields.push(field);
        }
        fields.sort_by_key(|f| f.name);
        fields.dedup_by_key(|f| f.name);
        let jq = args.jq.as_deref().map(jq::JqFilter::new).transpose()?;
        let template = args
            .template
            .as_deref()
            .map(template::Template::new)
            .transpose()?;
        Ok(Some(Self {
            fields,
            jq,
            template,
        }))
    }

    /// Returns the JSON object of an item, with the selected fields.
    pub fn object(&self, item: &T) -> Json {
        Json::Object(
            self.fields
                .iter()
                .map(|f| (f.name, (f.get)(item)))
                .collect(),
        )
    }

    /// Returns the JSON objects of several items.
    pub fn array(&self, items: &[T]) -> Json {
        Json::Array(items.iter().map(|i| self.object(i)).collect())
    }

    /// Prints a value: filtered, formatted, or as JSON (compact on a pipe).
    ///
    /// # Errors
    ///
    /// Fails if the filter or template fails, or stdout cannot be written.
    pub fn print(&self, ui: &Ui, value: &Json) -> Result<()> {
        self.print_value(ui, value).map_err(super::unprinted)
    }

    fn print_value(&self, ui: &Ui, value: &Json) -> Result<()> {
        if let Some(filter) = &self.jq {
            return filter.print(ui, value);
        }
        if let Some(template) = &self.template {
            return template.print(ui, value);
        }
        ui.line(&if ui.palette().on {
            value.pretty(ui.palette())
        } else {
            value.compact()
        })
    }
}
