//! Settings in git's configuration, with their scope.

use forge_core::Result;

use crate::Git;

/// A setting in git's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Key as git prints it, with the section and the last part in lower case.
    pub key: String,
    /// Value; `None` for a key without a value, which means `true`.
    pub value: Option<String>,
    /// True if the setting comes from the configuration of the repository, not of the user or the
    /// system.
    pub of_repository: bool,
}

impl Git {
    /// Returns the settings whose keys match the regular expression. A later setting takes
    /// precedence.
    ///
    /// # Errors
    /// `git` if the configuration cannot be read.
    pub async fn settings(&self, pattern: &str) -> Result<Vec<Setting>> {
        let args = ["config", "--null", "--show-scope", "--get-regexp", pattern];
        let output = self.run(args).await?;
        match output.status {
            0 => Ok(parse(&output.stdout)),
            // Status 1 means that no key matches.
            1 => Ok(Vec::new()),
            _ => Err(output.error("config")),
        }
    }
}

/// Parses the output of `git config --null --show-scope --get-regexp`: scope, NUL, key, newline,
/// value, NUL.
fn parse(output: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(output);
    let mut fields = text.split('\0');
    let mut settings = Vec::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = match entry.split_once('\n') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (entry, None),
        };
        settings.push(Setting {
            key: key.to_owned(),
            value,
            of_repository: matches!(scope, "local" | "worktree"),
        });
    }
    settings
}
