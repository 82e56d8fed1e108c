//! Storage of an issue's state, estimate and priority.

use std::fmt;

use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Param, Repo, Result,
    model::{BoardId, EditIssue, Issue, IssueField, IssueReason, IssueState, NewLabel},
};
use serde::Serialize;

use crate::{Definition, Member, State, Terminal};

/// Names of the fields for the parent and the blockers of an issue. A forge without project boards
/// stores these relations in fields of the issue, and the fields have to be defined first.
const RELATION_FIELDS: [&str; 2] = ["parent", "blocked-by"];

/// A value of an issue that the workflow uses, other than the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkflowValue {
    /// The estimate.
    Estimate,
    /// The priority.
    Priority,
}

impl WorkflowValue {
    fn field(self, definition: &Definition) -> &str {
        match self {
            Self::Estimate => &definition.field.estimate,
            Self::Priority => &definition.field.priority,
        }
    }

    fn scale(self, definition: &Definition) -> &[String] {
        match self {
            Self::Estimate => &definition.estimate.scale,
            Self::Priority => &definition.priority.scale,
        }
    }
}

/// A field or label that a store needs. [`crate::Workflow::init`] creates those that are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SetupItem {
    /// `field` or `label`.
    pub kind: &'static str,
    /// The name of the field or label.
    pub name: String,
    /// The missing values of a field; empty for a label.
    pub options: Vec<String>,
}

/// Storage of an issue's state, estimate and priority.
///
/// A store reads values from an [`Issue`] and adds changes to an [`EditIssue`]. It sends no request
/// itself, so that the caller can send all changes of a move as one edit.
pub trait Store: fmt::Debug + Send + Sync {
    /// Returns the board whose fields the store uses, if it uses one.
    fn board(&self) -> Option<&BoardId>;

    /// Returns the label by which a list of issues can be filtered for a state, if the store uses
    /// labels.
    fn label_of(&self, state: &State) -> Option<String>;

    /// Returns the names of all states of an issue. There are several if people have set
    /// contradicting states. A name may be missing from the definition.
    fn states(&self, definition: &Definition, issue: &Issue) -> Vec<String>;

    /// Reads the estimate or the priority of an issue.
    fn size(&self, definition: &Definition, issue: &Issue, size: WorkflowValue) -> Option<String>;

    /// Adds to `edit` the changes that move `issue` to `state`.
    fn put_state(
        &self,
        definition: &Definition,
        issue: &Issue,
        state: &State,
        edit: &mut EditIssue,
    );

    /// Adds to `edit` the changes that set an estimate or a priority. `None` removes the value.
    fn put_size(
        &self,
        definition: &Definition,
        issue: Option<&Issue>,
        size: WorkflowValue,
        value: Option<&str>,
        edit: &mut EditIssue,
    );

    /// Returns all fields and labels that the store needs in a repository.
    fn wanted(&self, definition: &Definition) -> Vec<SetupItem>;
}

/// Returns the name of an issue's state, or `None` if the issue has no state. Several names are
/// joined with `and`, which gives a name that no definition has.
pub fn state_name(store: &dyn Store, definition: &Definition, issue: &Issue) -> Option<String> {
    let states = store.states(definition, issue);
    (!states.is_empty()).then(|| states.join(" and "))
}

/// Converts an issue to a [`Member`].
pub fn member_of(store: &dyn Store, definition: &Definition, issue: &Issue) -> Member {
    Member {
        id: issue.id.clone(),
        title: issue.title.clone(),
        state: state_name(store, definition, issue),
        estimate: store.size(definition, issue, WorkflowValue::Estimate),
        priority: store.size(definition, issue, WorkflowValue::Priority),
        has_children: (issue.relations.as_ref()).is_some_and(|r| !r.sub_issues.is_empty()),
        closed: (issue.state == IssueState::Closed).then_some(match issue.state_reason {
            Some(IssueReason::NotPlanned | IssueReason::Duplicate) => Terminal::Abandoned,
            _ => Terminal::Completed,
        }),
    }
}

/// A store in fields: fields of a board on GitHub, fields of the issue itself in a git repository,
/// labels with values on tangled.
#[derive(Clone, Debug)]
pub struct FieldStore {
    board: Option<BoardId>,
}

impl FieldStore {
    /// Creates a store in the fields of `board`; `None` if the forge needs no board.
    #[must_use]
    pub fn new(board: Option<BoardId>) -> Self {
        Self { board }
    }
}

impl Store for FieldStore {
    fn board(&self) -> Option<&BoardId> {
        self.board.as_ref()
    }

    fn label_of(&self, _: &State) -> Option<String> {
        None
    }

    fn states(&self, definition: &Definition, issue: &Issue) -> Vec<String> {
        let value = value_of(issue, &definition.field.state);
        let spelled = value.map(|name| match definition.state(&name) {
            Some(state) => state.name.clone(),
            None => name,
        });
        spelled.into_iter().collect()
    }

    fn size(&self, definition: &Definition, issue: &Issue, size: WorkflowValue) -> Option<String> {
        value_of(issue, size.field(definition))
    }

    fn put_state(
        &self,
        definition: &Definition,
        issue: &Issue,
        state: &State,
        edit: &mut EditIssue,
    ) {
        edit.board.clone_from(&self.board);
        let field = field_of(Some(issue), &definition.field.state);
        edit.values.insert(field, Some(state.name.clone()));
        // The built-in status field of the board is also set, because GitHub's views show it. A
        // status that is not an option of this field is skipped, because the owner of the board
        // chooses the options.
        if let (Some(status), Some(_)) = (&state.status, &self.board) {
            let field = definition.field.status.clone();
            edit.values_if_known.insert(field, Some(status.clone()));
        }
    }

    fn put_size(
        &self,
        definition: &Definition,
        issue: Option<&Issue>,
        size: WorkflowValue,
        value: Option<&str>,
        edit: &mut EditIssue,
    ) {
        edit.board.clone_from(&self.board);
        let field = field_of(issue, size.field(definition));
        edit.values.insert(field, value.map(str::to_owned));
    }

    fn wanted(&self, definition: &Definition) -> Vec<SetupItem> {
        let names = definition.states.iter().map(|s| s.name.clone());
        let mut fields = vec![(definition.field.state.clone(), names.collect())];
        for size in [WorkflowValue::Estimate, WorkflowValue::Priority] {
            let scale = size.scale(definition).to_vec();
            fields.push((size.field(definition).to_owned(), scale));
        }
        fields.retain(|(_, options)| !options.is_empty());
        let field = |(name, options)| SetupItem {
            kind: "field",
            name,
            options,
        };
        fields.into_iter().map(field).collect()
    }
}

/// Returns the value of a field. Names of fields match regardless of case.
fn value_of(issue: &Issue, field: &str) -> Option<String> {
    let wanted = field.to_lowercase();
    let mut values = issue.values.iter();
    let found = values.find(|(name, value)| name.to_lowercase() == wanted && !value.is_empty());
    found.map(|(_, value)| value.clone())
}

/// Returns the name of the field as the issue spells it. Otherwise the issue would get a second
/// field whose name differs only in case, and the second field would hide the first.
fn field_of(issue: Option<&Issue>, field: &str) -> String {
    let wanted = field.to_lowercase();
    let mut names = issue.into_iter().flat_map(|issue| issue.values.keys());
    let found = names.find(|name| name.to_lowercase() == wanted);
    found.map_or(field, String::as_str).to_owned()
}

/// A store in labels: a prefix followed by the name of the state, or the name of a field followed
/// by its value.
#[derive(Clone, Debug)]
pub struct LabelStore {
    prefix: String,
}

impl LabelStore {
    /// Creates a store in labels that begin with `prefix`. The prefix includes the separator, for
    /// example `state: ` with the space at its end.
    #[must_use]
    pub fn new(prefix: String) -> Self {
        Self { prefix }
    }

    fn state_label(&self, state: &State) -> String {
        format!("{}{}", self.prefix, state.name)
    }

    fn size_prefix(definition: &Definition, size: WorkflowValue) -> String {
        format!("{}: ", size.field(definition).to_lowercase())
    }
}

/// Returns the labels that begin with `prefix`, each with the text after the prefix.
fn labels_with<'i>(issue: &'i Issue, prefix: &str) -> impl Iterator<Item = (&'i str, &'i str)> {
    // The prefix is measured in characters, because its lower-case form may have another length in
    // bytes.
    let length = prefix.chars().count();
    let prefix = prefix.to_lowercase();
    issue.labels.iter().filter_map(move |label| {
        let name = label.name.as_str();
        let (at, _) = name.char_indices().nth(length)?;
        let (head, rest) = name.split_at(at);
        let rest = rest.trim();
        (head.to_lowercase() == prefix && !rest.is_empty()).then_some((name, rest))
    })
}

/// Adds `wanted` and removes the other labels with `prefix`.
fn swap_label(issue: Option<&Issue>, prefix: &str, wanted: Option<String>, edit: &mut EditIssue) {
    let is =
        |name: &str| (wanted.as_ref()).is_some_and(|w| w.to_lowercase() == name.to_lowercase());
    let mut there = false;
    for (name, _) in issue
        .into_iter()
        .flat_map(|issue| labels_with(issue, prefix))
    {
        match is(name) {
            true => there = true,
            false => edit.labels.remove.push(name.to_owned()),
        }
    }
    if !there {
        edit.labels.add.extend(wanted);
    }
}

impl Store for LabelStore {
    fn board(&self) -> Option<&BoardId> {
        None
    }

    fn label_of(&self, state: &State) -> Option<String> {
        Some(self.state_label(state))
    }

    fn states(&self, definition: &Definition, issue: &Issue) -> Vec<String> {
        let names = labels_with(issue, &self.prefix).map(|(_, rest)| {
            (definition.state(rest)).map_or_else(|| rest.to_owned(), |state| state.name.clone())
        });
        names.collect()
    }

    fn size(&self, definition: &Definition, issue: &Issue, size: WorkflowValue) -> Option<String> {
        let prefix = Self::size_prefix(definition, size);
        let mut found = labels_with(issue, &prefix);
        found.next().map(|(_, value)| value.to_owned())
    }

    fn put_state(&self, _: &Definition, issue: &Issue, state: &State, edit: &mut EditIssue) {
        swap_label(
            Some(issue),
            &self.prefix,
            Some(self.state_label(state)),
            edit,
        );
    }

    fn put_size(
        &self,
        definition: &Definition,
        issue: Option<&Issue>,
        size: WorkflowValue,
        value: Option<&str>,
        edit: &mut EditIssue,
    ) {
        let prefix = Self::size_prefix(definition, size);
        let wanted = value.map(|value| format!("{prefix}{value}"));
        swap_label(issue, &prefix, wanted, edit);
    }

    fn wanted(&self, definition: &Definition) -> Vec<SetupItem> {
        let states = definition.states.iter().map(|s| self.state_label(s));
        let sizes = [WorkflowValue::Estimate, WorkflowValue::Priority]
            .into_iter()
            .flat_map(|size| {
                let prefix = Self::size_prefix(definition, size);
                (size.scale(definition).iter()).map(move |value| format!("{prefix}{value}"))
            });
        let label = |name| SetupItem {
            kind: "label",
            name,
            options: Vec::new(),
        };
        states.chain(sizes).map(label).collect()
    }
}

/// Returns those items of [`Store::wanted`] that the repository does not have.
///
/// # Errors
///
/// Fails if fields or labels cannot be listed.
pub async fn missing(
    store: &dyn Store,
    repo: &Repo,
    definition: &Definition,
) -> Result<Vec<SetupItem>> {
    let mut wanted = store.wanted(definition);
    if wanted.iter().any(|s| s.kind == "label") {
        let labels = crate::pages::read_all_pages(async |page| repo.labels(page).await).await?;
        let has = |s: &SetupItem| {
            labels
                .iter()
                .any(|l| l.name.to_lowercase() == s.name.to_lowercase())
        };
        wanted.retain(|s| s.kind != "label" || !has(s));
    }
    let keeps_fields = repo.supports(Capability::IssueFieldEdit);
    if keeps_fields
        && repo.supports(Capability::IssueRelations)
        && !repo.supports(Capability::IssueBoard)
    {
        // Groups of issues need the fields for relations in addition to the fields of the store.
        wanted.extend(RELATION_FIELDS.map(|name| SetupItem {
            kind: "field",
            name: name.to_owned(),
            options: Vec::new(),
        }));
    }
    if !keeps_fields {
        wanted.retain(|s| s.kind != "field");
    } else if wanted.iter().any(|s| s.kind == "field") {
        let fields = repo.issue_fields(store.board()).await?;
        wanted.retain_mut(|setup| {
            let is = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
            let mut known = fields.iter().filter(|f| is(&f.name, &setup.name));
            match known.next().filter(|_| setup.kind == "field") {
                Some(field) => {
                    let has = |option: &String| field.options.iter().any(|f| is(f, option));
                    setup.options.retain(|option| !has(option));
                    !setup.options.is_empty()
                }
                None => true,
            }
        });
    }
    Ok(wanted)
}

/// Creates one item of [`missing`].
///
/// # Errors
///
/// Fails if the label or field cannot be defined.
pub async fn define(store: &dyn Store, repo: &Repo, setup: &SetupItem) -> Result<()> {
    if setup.kind == "field" {
        let field = IssueField::new(&setup.name, setup.options.clone());
        return repo
            .define_issue_field(store.board(), &field)
            .await
            .map(|_| ());
    }
    let label = NewLabel::new(setup.name.clone());
    match repo.define_label(&label).await {
        Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists { .. }) => Ok(()),
        done => done.map(|_| ()),
    }
}

/// Checks the estimate and the priority in `edit`, and replaces them by the fields or labels of
/// `store`. `issue` is the issue to edit, if it exists.
///
/// # Errors
///
/// Fails as [`check_size`] does.
pub fn put_sizes(
    store: &dyn Store,
    definition: &Definition,
    issue: Option<&Issue>,
    edit: &mut EditIssue,
) -> Result<()> {
    for size in [WorkflowValue::Estimate, WorkflowValue::Priority] {
        let field = size.field(definition).to_lowercase();
        let named = edit.values.keys().filter(|n| n.to_lowercase() == field);
        for name in named.cloned().collect::<Vec<_>>() {
            let value = edit.values.remove(&name).flatten();
            let value = value.map(|value| check_size(definition, size, &value));
            store.put_size(definition, issue, size, value.transpose()?, edit);
        }
    }
    Ok(())
}

/// Checks an estimate or a priority against its scale.
///
/// # Errors
///
/// Fails with `invalid_input` (field `estimate` or `priority`), which lists the scale.
pub fn check_size<'d>(
    definition: &'d Definition,
    size: WorkflowValue,
    value: &str,
) -> Result<&'d str> {
    let scale = size.scale(definition);
    let wanted = value.trim().to_lowercase();
    if let Some(found) = scale.iter().find(|v| v.to_lowercase() == wanted) {
        return Ok(found);
    }
    let (field, param) = match size {
        WorkflowValue::Estimate => ("estimate", Param::Estimate),
        WorkflowValue::Priority => ("priority", Param::Priority),
    };
    let all = scale.join(", ");
    let value = forge_core::text::one_line(value);
    Err(Error::invalid(
        field,
        format!("unknown {field} '{value}': the scale is {all}"),
    )
    .with_hint(
        Hint::from(format!("retry with one of: {all}"))
            .with_action(Action::again(&[]).choose(param)),
    ))
}

#[cfg(test)]
mod tests {
    use forge_core::model::{IssueRelations, RelatedIssue};

    use super::*;
    use crate::trail::tests::issue;

    #[test]
    fn member_with_sub_issues_has_children() {
        let definition = Definition::preset("ralph").unwrap();
        let has_children = |issue: &Issue| {
            let member = member_of(&FieldStore::new(None), &definition, issue);
            member.has_children
        };
        let mut parent = issue(&[]);
        assert!(!has_children(&parent));
        parent.relations = Some(IssueRelations::default());
        assert!(!has_children(&parent));
        let part = RelatedIssue::new(parent.id.clone(), "Part", IssueState::Open, "");
        let mut relations = IssueRelations::default();
        relations.sub_issues = vec![part];
        parent.relations = Some(relations);
        assert!(has_children(&parent));
    }
}
