//! Input for a pull request or an issue that could not be created: saved to a file, and restored
//! with `--recover`.

use std::{fs, io::Write as _, path::Path};

use forge_core::{Error, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::ui::{Ui, io_error};

/// The user's input for a pull request that could not be created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PullDraft {
    pub(super) title: String,
    pub(super) body: String,
    pub(super) draft: bool,
    /// Requested reviewers: people and teams.
    pub(super) reviewers: Vec<String>,
    pub(super) assignees: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) projects: Vec<String>,
    pub(super) milestone: Option<String>,
}

impl PullDraft {
    /// Returns true if the draft contains more than text.
    pub(super) fn has_metadata(&self) -> bool {
        let lists = [
            &self.reviewers,
            &self.assignees,
            &self.labels,
            &self.projects,
        ];
        self.milestone.is_some() || lists.iter().any(|list| !list.is_empty())
    }

    /// Saves the input and prints how to restore it; returns the file's path.
    pub(super) fn keep(&self, ui: &Ui) -> Option<String> {
        keep(ui, self, "pr create")
    }

    pub(super) fn load(path: &str) -> Result<Self> {
        load(path, "pr create")
    }
}

/// Saves the input of `command` and prints how to restore it; returns the path of the file.
pub(crate) fn keep<T: Serialize>(ui: &Ui, input: &T, command: &str) -> Option<String> {
    let path = save(input).ok()?;
    let again = format!("`forge {command} --recover {path}`");
    ui.note(&format!(
        "Your text was saved. To continue with it: {again}"
    ));
    Some(path)
}

/// Saves the input and returns the file's path.
fn save<T: Serialize>(input: &T) -> Result<String> {
    let json = serde_json::to_vec(input).unwrap_or_default();
    let mut file = tempfile::Builder::new()
        .prefix("forge-input-")
        .suffix(".json")
        .tempfile()
        .map_err(io_error)?;
    file.write_all(&json).map_err(io_error)?;
    let (_, path) = file.keep().map_err(|e| io_error(e.error))?;
    Ok(path.display().to_string())
}

/// Loads the saved input of `command`.
///
/// # Errors
///
/// `invalid_input` if the file cannot be read.
pub(crate) fn load<T: DeserializeOwned>(path: &str, command: &str) -> Result<T> {
    let refused = |why: String| {
        Error::invalid("recover", format!("'{path}' cannot be recovered: {why}")).with_hint(
            format!("pass the path that the failed `forge {command}` printed"),
        )
    };
    let text = fs::read(Path::new(path)).map_err(|e| refused(e.to_string()).with_source(e))?;
    serde_json::from_slice(&text).map_err(|e| refused(e.to_string()).with_source(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_draft_is_restored() {
        let draft = PullDraft {
            title: "A \"title\"".into(),
            body: "line\nline é".into(),
            draft: true,
            labels: vec!["good, first".into()],
            milestone: Some("v1".into()),
            ..PullDraft::default()
        };
        let path = save(&draft).unwrap();
        assert_eq!(PullDraft::load(&path).unwrap(), draft);
        fs::write(&path, r#"{"title": "Old", "body": "B"}"#).unwrap();
        assert_eq!(PullDraft::load(&path).unwrap().title, "Old");
        fs::write(&path, "{").unwrap();
        assert!(PullDraft::load(&path).is_err());
        fs::remove_file(&path).unwrap();
        assert!(PullDraft::load(&path).is_err());
    }
}
