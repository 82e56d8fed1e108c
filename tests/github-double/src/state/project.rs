//! Projects, as far as commands for issues and pull requests use them.

use std::collections::BTreeMap;

use super::Id;

/// A project of an account.
#[derive(Debug, Clone)]
pub struct Project {
    /// Number of the object.
    pub id: Id,
    /// The account.
    pub owner: Id,
    /// Number in the account.
    pub number: u64,
    /// Title.
    pub title: String,
    /// True if closed.
    pub closed: bool,
    /// Fields of the project, the title first.
    pub fields: Vec<ProjectField>,
    /// Time of creation.
    pub created_at: String,
}

/// A field of a project.
#[derive(Debug, Clone)]
pub struct ProjectField {
    /// Number of the field.
    pub id: Id,
    /// Name.
    pub name: String,
    /// GitHub's name of the field's type: `SINGLE_SELECT`, `TEXT`, …
    pub kind: String,
    /// Options of a single select field.
    pub options: Vec<FieldOption>,
}

/// An option of a single select field.
#[derive(Debug, Clone)]
pub struct FieldOption {
    /// Id of the option.
    pub id: String,
    /// Name.
    pub name: String,
    /// GitHub's name of the option's colour.
    pub color: String,
    /// Description.
    pub description: String,
}

impl Project {
    /// Returns the field with that name, in any case.
    pub fn field(&self, name: &str) -> Option<&ProjectField> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
    }
}

impl ProjectField {
    /// Creates a single select field; the ids of its options contain the field's number.
    pub(crate) fn single_select(id: Id, name: &str, options: &[&str]) -> Self {
        let options = options.iter().enumerate().map(|(index, name)| FieldOption {
            id: format!("{id:04x}{index:04x}"),
            name: (*name).to_owned(),
            color: "GRAY".to_owned(),
            description: String::new(),
        });
        Self {
            id,
            name: name.to_owned(),
            kind: "SINGLE_SELECT".to_owned(),
            options: options.collect(),
        }
    }
}

/// A pull request or an issue in a project.
#[derive(Debug, Clone)]
pub struct ProjectItem {
    /// Number of the item.
    pub id: Id,
    /// The project.
    pub project: Id,
    /// The pull request or issue.
    pub content: Id,
    /// Ids of the selected options, by field.
    pub values: BTreeMap<Id, String>,
    /// True if archived.
    pub archived: bool,
    /// Time at which the item was added.
    pub created_at: String,
}
