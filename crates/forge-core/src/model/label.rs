use serde::{Deserialize, Serialize};

/// A label that a repository defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Label {
    /// Name, unique regardless of case.
    pub name: String,
    /// Colour as six hex digits, without `#`.
    pub color: String,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The forge's internal id (a node id, an at-uri). Empty if the name is the only id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
}

impl Label {
    /// Builds a label without a description and internal id.
    pub fn new(name: impl Into<String>, color: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            color: color.into(),
            description: None,
            id: String::new(),
        }
    }
}

/// A request to define a label.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewLabel {
    /// Name.
    pub name: String,
    /// Colour as six hex digits; `None` lets the forge choose.
    pub color: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Allowed values. An issue has at most one of them, stored as the label `name:value`. Empty
    /// for a label without values.
    pub values: Vec<String>,
    /// Change the label if it exists, instead of refusing.
    pub overwrite: bool,
}

impl NewLabel {
    /// Builds a request for a label without values, in a colour that the forge chooses.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}
