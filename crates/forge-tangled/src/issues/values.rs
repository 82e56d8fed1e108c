//! Changes the fields and the relations of an issue. tangled stores both as labels.

use forge_core::{
    Action, AtUri, Error, Hint, Op, PrKey, Result,
    model::{EditIssue, IssueId, NewIssue},
    suggest,
    text::one_line,
};

use crate::{
    Tangled,
    labels::{Change, Definitions, LabelDefinition, Operand, Relation},
    repository::TangledRepository,
};

static DEFINE: Hint = Hint::fixed(
    "define the field first",
    Action::fixed(forge_core::Call::Op(Op::IssueFieldDefine), &[]),
);

/// Changes to the field values and the relations of an issue.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a> {
    /// New value of each named field; `None` clears the field.
    values: Vec<(&'a str, Option<&'a str>)>,
    parent: Option<Option<&'a IssueId>>,
    blocked_by: &'a [IssueId],
    unblocked_by: &'a [IssueId],
}

impl<'a> From<&'a EditIssue> for Wanted<'a> {
    fn from(edit: &'a EditIssue) -> Self {
        let values = edit.values.iter();
        Self {
            values: values.map(|(f, v)| (f.as_str(), v.as_deref())).collect(),
            parent: edit.parent.as_ref().map(Option::as_ref),
            blocked_by: &edit.blocked_by.add,
            unblocked_by: &edit.blocked_by.remove,
        }
    }
}

impl<'a> From<&'a NewIssue> for Wanted<'a> {
    fn from(new: &'a NewIssue) -> Self {
        let values = new.values.iter();
        Self {
            values: values
                .map(|(f, v)| (f.as_str(), Some(v.as_str())))
                .collect(),
            parent: new.parent.as_ref().map(Some),
            blocked_by: &new.blocked_by,
            unblocked_by: &[],
        }
    }
}

impl Wanted<'_> {
    pub fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    pub fn has_relations(&self) -> bool {
        self.parent.is_some() || !self.blocked_by.is_empty() || !self.unblocked_by.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        !self.has_values() && !self.has_relations()
    }

    /// Returns true if `known` defines all labels that the changes need.
    fn is_known(&self, known: &[LabelDefinition], scope: &str) -> bool {
        let values = self.values.iter().all(|(name, value)| {
            field_among(known, name, scope)
                .is_some_and(|d| value.is_none_or(|value| option_of(d, value).is_some()))
        });
        values
            && (!self.has_relations() || {
                let relations = [Relation::Parent, Relation::BlockedBy];
                let has = |relation| relation_among(known, relation, scope).is_some();
                relations.into_iter().all(has)
            })
    }
}

/// Joins names with commas. Of more than 50 names, the first 50 are listed, with the number of the
/// remaining names.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 50;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>();
    let shown = one_line(&shown.join(", ")).into_owned();
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn field_among<'d>(
    known: &'d [LabelDefinition],
    name: &str,
    scope: &str,
) -> Option<&'d LabelDefinition> {
    let mut fields = known.iter().filter(|d| d.is_field() && d.is_for(scope));
    fields.find(|d| d.name.eq_ignore_ascii_case(name) || d.uri == name)
}

fn relation_among<'d>(
    known: &'d [LabelDefinition],
    relation: Relation,
    scope: &str,
) -> Option<&'d LabelDefinition> {
    let mut relations = known.iter().filter(|d| d.is_for(scope));
    relations.find(|d| d.relation() == Some(relation))
}

/// Returns the field's option that equals `value` except for case. For a field without options,
/// returns `value` unless it is blank.
fn option_of<'v>(field: &'v LabelDefinition, value: &'v str) -> Option<&'v str> {
    if field.allowed.is_empty() {
        return Some(value).filter(|value| !value.trim().is_empty());
    }
    let exact = field.allowed.iter().find(|option| *option == value);
    let near = || {
        let mut options = field.allowed.iter();
        options.find(|option| option.to_lowercase() == value.to_lowercase())
    };
    exact.or_else(near).map(String::as_str)
}

/// Finds the field with this name.
///
/// # Errors
/// `invalid_input` if there is no such field. The message lists the existing fields.
fn field<'d>(definitions: &'d Definitions, name: &str, scope: &str) -> Result<&'d LabelDefinition> {
    if let Some(field) = field_among(definitions, name, scope) {
        return Ok(field);
    }
    let shown = one_line(name);
    if Relation::named(name).is_some() {
        let message = format!("'{shown}' is a relation to other issues, and not a field");
        return Err(Error::invalid("values", message).with_hint("pass the issues as a relation"));
    }
    let fields = definitions
        .iter()
        .filter(|d| d.is_field() && d.is_for(scope));
    let names: Vec<&str> = fields.map(|d| d.name.as_str()).collect();
    let mut message = format!("the field '{shown}' is not defined in this repository");
    if !names.is_empty() {
        message = format!("{message}; its fields are {}", listed(&names));
    }
    // The field may be defined in a record that could not be read, so the error also tells about
    // that failure.
    for warning in definitions.warnings().iter().take(1) {
        message = format!("{message}; {}", warning.message);
    }
    let hint = match suggest::near(name, names.iter().copied()).is_empty() {
        true => DEFINE.clone(),
        false => suggest::hint(name, names, "fields").into(),
    };
    Err(Error::invalid("values", message).with_hint(hint))
}

/// Returns the value to write into the field.
///
/// # Errors
/// `invalid_input` if the field has no such option. The message lists the existing options.
fn option<'v>(field: &'v LabelDefinition, value: &'v str) -> Result<&'v str> {
    option_of(field, value).ok_or_else(|| {
        let (name, shown) = (one_line(&field.name), one_line(value));
        let options: Vec<&str> = field.allowed.iter().map(String::as_str).collect();
        let message = match field.allowed.is_empty() {
            true => format!("the field '{name}' takes a text, and none was given"),
            false => format!(
                "the field '{name}' has no option '{shown}'; its options are {}",
                listed(&options)
            ),
        };
        Error::invalid("values", message).with_hint(suggest::hint(value, options, "options"))
    })
}

fn relation<'d>(
    definitions: &'d Definitions,
    relation: Relation,
    scope: &str,
) -> Result<&'d LabelDefinition> {
    relation_among(definitions, relation, scope).ok_or_else(|| {
        let (field, name) = (field_name(relation), relation.name());
        let mut message = format!(
            "the label '{name}', which names related issues, is not defined in this repository"
        );
        for warning in definitions.warnings().iter().take(1) {
            message = format!("{message}; {}", warning.message);
        }
        Error::invalid(field, message).with_hint(&DEFINE)
    })
}

/// Returns the name of the request parameter for a relation.
const fn field_name(relation: Relation) -> &'static str {
    match relation {
        Relation::Parent => "parent",
        Relation::BlockedBy => "blocked_by",
    }
}

impl Tangled {
    /// Checks the values and relations for the issue `own`, and returns the label changes.
    ///
    /// Called before any write. A removal with an empty value removes every value of the label
    /// ([`Change::remaining`]).
    pub(super) async fn field_change(
        &self,
        repository: &TangledRepository,
        own: Option<&AtUri>,
        wanted: &Wanted<'_>,
    ) -> Result<Change> {
        let mut change = Change::default();
        if wanted.is_empty() {
            return Ok(change);
        }
        // tangled's index drops label records of accounts that may not push, so such a write is
        // refused here.
        let why = "labels, which hold fields and relations, count only from accounts that may push";
        self.may_push(repository, "label", why).await?;
        let scope = &self.settings.dialects.sh.issue;
        let definitions = self
            .definitions_with(repository, |known| wanted.is_known(known, scope))
            .await?;
        let operand = |definition: &LabelDefinition, value: &str| Operand {
            key: definition.uri.clone(),
            value: value.to_owned(),
        };
        for (name, value) in &wanted.values {
            let field = field(&definitions, name, scope)?;
            match value {
                Some(value) => change.add.push(operand(field, option(field, value)?)),
                None => change.remove.push(operand(field, "")),
            }
        }
        if let Some(parent) = wanted.parent {
            let definition = relation(&definitions, Relation::Parent, scope)?;
            match parent {
                Some(id) => {
                    let uri = self.related_uri(id, own, Relation::Parent).await?;
                    change.add.push(operand(definition, &uri));
                }
                None => change.remove.push(operand(definition, "")),
            }
        }
        if !wanted.blocked_by.is_empty() || !wanted.unblocked_by.is_empty() {
            let definition = relation(&definitions, Relation::BlockedBy, scope)?;
            for id in wanted.blocked_by {
                let uri = self.related_uri(id, own, Relation::BlockedBy).await?;
                change.add.push(operand(definition, &uri));
            }
            for id in wanted.unblocked_by {
                let uri = match &id.key {
                    // The related issue is not read here, so that a relation to a deleted issue can
                    // be removed.
                    PrKey::Record(uri) => self.with_did(AtUri::parse(uri)?).await?.to_string(),
                    PrKey::Number(_) => self.locate_issue(id).await?.issue.record.uri,
                };
                change.remove.push(operand(definition, &uri));
            }
        }
        Ok(change)
    }

    /// Returns the at-uri of the issue `id`, if `own` may be related to it.
    async fn related_uri(
        &self,
        id: &IssueId,
        own: Option<&AtUri>,
        relation: Relation,
    ) -> Result<String> {
        let issue = self.locate_issue(id).await?.issue;
        let refused = |what: &str| Err(Error::invalid(field_name(relation), what));
        if issue.uri.collection != self.settings.dialects.sh.issue {
            return refused(
                "cannot relate the issues: one is of Tangled 1.0, the other of the protocol \
                 of 2026",
            );
        }
        match (relation, own == Some(&issue.uri)) {
            (_, false) => Ok(issue.uri.to_string()),
            (Relation::Parent, true) => refused("an issue cannot be its own parent"),
            (Relation::BlockedBy, true) => refused("an issue cannot block itself"),
        }
    }
}
