//! Settings of git's configuration, with where they come from.

use forge_core::Result;

use crate::Git;

/// A setting of git's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key as git prints it: section and last part in lower case.
    pub key: String,
    /// Its value; `None` for a key alone, which is a true one.
    pub value: Option<String>,
    /// Whether the repository's own configuration has it, and not the user's or the system's.
    pub of_repository: bool,
}

impl Git {
    /// The settings whose key the regular expression matches, in the order in which they count.
    ///
    /// # Errors
    /// `git` when the configuration cannot be read.
    pub async fn settings(&self, pattern: &str) -> Result<Vec<Setting>> {
        let args = ["config", "--null", "--show-scope", "--get-regexp", pattern];
        let output = self.run(args).await?;
        match output.status {
            0 => Ok(parse(&output.stdout)),
            // Nothing matches.
            1 => Ok(Vec::new()),
            _ => Err(output.error("config")),
        }
    }
}

/// Reads `git config --null --show-scope --get-regexp`: scope, NUL, key, newline, value, NUL.
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
