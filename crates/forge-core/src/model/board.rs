use serde::Serialize;

use crate::Timestamp;

/// A milestone: a goal that issues and pull requests of a repository are collected for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Milestone {
    /// Its title.
    pub title: String,
    /// Its number in the repository, where the forge numbers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_on: Option<Timestamp>,
}

impl Milestone {
    /// A milestone of which only the title is known.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            number: None,
            description: None,
            due_on: None,
        }
    }
}

/// The place of a pull request on a project board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectItem {
    /// The forge's own id of the place.
    pub id: String,
    /// The forge's own id of the board.
    pub project_id: String,
    /// Title of the board.
    pub title: String,
    /// Its column there (the field `Status`), if it is in one.
    pub status: Option<ProjectStatus>,
}

/// A column of a project board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectStatus {
    /// The forge's own id of the option.
    pub id: String,
    /// Its name.
    pub name: String,
}
