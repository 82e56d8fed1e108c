use serde::{Deserialize, Serialize};

/// A label that a repository defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Label {
    /// Name, unique ignoring case.
    pub name: String,
    /// Colour as six hex digits, without `#`.
    pub color: String,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The forge's own id (a node id, an at-uri); empty if only the name identifies the label.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
}

impl Label {
    /// Builds a label without a description and without an id of the forge.
    pub fn new(name: impl Into<String>, color: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            color: color.into(),
            description: None,
            id: String::new(),
        }
    }
}

/// A label to define.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewLabel {
    /// Name.
    pub name: String,
    /// Colour as six hex digits; `None` lets the forge choose.
    pub color: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Allowed values, of which an issue has at most one; empty for a label without values. The
    /// value of an issue is the label `name:value`.
    pub values: Vec<String>,
    /// Change an existing label instead of refusing.
    pub overwrite: bool,
}

impl NewLabel {
    /// Builds a label without values, in the forge's colour.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}
