//! Reads settings from git's configuration, and whether the repository or the user set them.

use forge_core::{Error, ErrorKind, Result};

use crate::Git;

/// Maximum size of the settings that are read at once, in bytes.
const MAX_SETTINGS: usize = 4 << 20;

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
    /// The errors of [`Git::read_config`].
    pub async fn settings(&self, pattern: &str) -> Result<Vec<Setting>> {
        Ok(parse(&self.read_config(&["--show-scope"], pattern).await?))
    }

    /// Returns the output of `git config --null --get-regexp`, which is empty if no key matches.
    ///
    /// # Errors
    /// `git` if the configuration cannot be read; `timeout` if that takes too long; `config` if the
    /// output has more than 4 MiB.
    pub async fn read_config(&self, options: &[&str], pattern: &str) -> Result<Vec<u8>> {
        let mut args = vec!["config", "--null"];
        args.extend(options);
        args.extend(["--get-regexp", pattern]);
        let printed = self.run_within(args, MAX_SETTINGS);
        match self.within_limit("config", printed).await? {
            Ok(Some(printed)) => Ok(printed),
            Ok(None) => Err(Error::new(
                ErrorKind::Config,
                format!(
                    "git's configuration is too large: the settings that forge reads have more \
                     than {} MiB",
                    MAX_SETTINGS >> 20
                ),
            )
            .with_hint(
                "look at it with `git config --show-origin --list`, and remove the remotes and \
                 branches that you do not need",
            )),
            // Status 1 means that no key matches.
            Err(e) if matches!(e.kind(), ErrorKind::Git { status: 1 }) => Ok(Vec::new()),
            Err(e) => Err(e),
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
