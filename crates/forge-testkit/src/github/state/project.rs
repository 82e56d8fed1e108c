//! Projects, as far as pull request commands ask for them.

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
    /// Whether it is closed.
    pub closed: bool,
    /// Names of the options of its `Status` field.
    pub options: Vec<String>,
    /// When it was made.
    pub created_at: String,
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
    /// Index of the option of the `Status` field.
    pub status: Option<usize>,
    /// When it was added.
    pub created_at: String,
}
