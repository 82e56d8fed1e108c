use serde::{Deserialize, Serialize};

/// A label that a repository defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its name; unique without regard to case.
    pub name: String,
    /// Six hex digits, without `#`.
    pub color: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The forge's own id (a node id, an at-uri); empty where it has none beside the name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
}

/// A label to define.
#[derive(Clone, Debug, Default)]
pub struct NewLabel {
    /// Its name.
    pub name: String,
    /// Six hex digits; `None` lets the forge choose.
    pub color: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The values that it takes, one at a time; empty for a label without values. A value is put on
    /// an issue as the label `name:value`.
    pub values: Vec<String>,
    /// Change the label where it exists instead of refusing.
    pub overwrite: bool,
}
