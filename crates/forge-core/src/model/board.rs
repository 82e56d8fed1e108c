use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::{Error, Timestamp, text::one_line};

/// A milestone: a goal that groups issues and pull requests of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Milestone {
    /// Title.
    pub title: String,
    /// Number in the repository, if the forge numbers milestones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Purpose of the milestone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Due date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_on: Option<Timestamp>,
}

impl Milestone {
    /// Builds a milestone of which only the title is known.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            number: None,
            description: None,
            due_on: None,
        }
    }
}

/// A pull request or an issue as an item of a project board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProjectItem {
    /// The forge's internal id of the item.
    pub id: String,
    /// The forge's internal id of the board.
    pub project_id: String,
    /// Title of the board.
    pub title: String,
    /// Column of the item on the board (the field `Status`), if set.
    pub status: Option<ProjectStatus>,
}

impl ProjectItem {
    /// Builds the item `id` on a board, without a column.
    pub fn new(
        id: impl Into<String>,
        project_id: impl Into<String>,
        title: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            project_id: project_id.into(),
            title: title.into(),
            status: None,
        }
    }
}

/// A column of a project board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProjectStatus {
    /// The forge's internal id of the column (an option of the field `Status`).
    pub id: String,
    /// Name.
    pub name: String,
}

impl ProjectStatus {
    /// Builds the column `id` with its name.
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
        }
    }
}

/// A project board of an account: `octo/5` is board 5 of the user or organisation `octo`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BoardId {
    /// The login of the user or the organisation.
    pub owner: String,
    /// Number of the board among the boards of the owner.
    pub number: u64,
}

impl fmt::Display for BoardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.number)
    }
}

impl FromStr for BoardId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = text.trim().split_once('/').and_then(|(owner, number)| {
            let is_login = !owner.is_empty()
                && owner
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            let number = number
                .parse()
                .ok()
                .filter(|n| i32::try_from(*n).is_ok() && *n > 0)?;
            is_login.then(|| Self {
                owner: owner.to_owned(),
                number,
            })
        });
        parsed.ok_or_else(|| {
            Error::invalid("board", format!("'{}' names no board", one_line(text)))
                .with_hint("write OWNER/NUMBER, such as octo/5")
        })
    }
}
