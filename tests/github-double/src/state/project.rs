//! Projects, as far as commands for issues and pull requests need them.

use std::collections::BTreeMap;

use super::Id;

/// A project of a user or an organisation.
#[derive(Debug, Clone)]
pub struct Project {
    /// Number of the object, unique in the double.
    pub id: Id,
    /// The account that owns the project.
    pub owner: Id,
    /// Number of the project in its account.
    pub number: u64,
    /// Title of the project.
    pub title: String,
    /// True if the project is closed.
    pub closed: bool,
    /// Fields of the project, with the title first.
    pub fields: Vec<ProjectField>,
    /// Time at which the project was created.
    pub created_at: String,
}

/// A field of a project.
#[derive(Debug, Clone)]
pub struct ProjectField {
    /// Number of the field.
    pub id: Id,
    /// Name of the field.
    pub name: String,
    /// GitHub's name for the type of the field, such as `SINGLE_SELECT` or `TEXT`.
    pub kind: String,
    /// Options of a single-select field.
    pub options: Vec<FieldOption>,
}

/// An option of a single-select field.
#[derive(Debug, Clone)]
pub struct FieldOption {
    /// Id of the option.
    pub id: String,
    /// Name of the option.
    pub name: String,
    /// GitHub's name for the colour of the option.
    pub color: String,
    /// Description of the option.
    pub description: String,
}

impl Project {
    /// Returns the field with this name, ignoring case.
    pub fn field(&self, name: &str) -> Option<&ProjectField> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
    }
}

impl ProjectField {
    /// Creates a single-select field. The ids of its options contain the number of the field.
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
    /// The project that contains the item.
    pub project: Id,
    /// The pull request or issue of the item.
    pub content: Id,
    /// Ids of the selected options, by field number.
    pub values: BTreeMap<Id, String>,
    /// True if the item is archived.
    pub archived: bool,
    /// Time at which the item was added.
    pub created_at: String,
}
