use std::sync::OnceLock;

use clap::{ArgMatches, Command};

/// What a command line is about: hints name it again.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// The names of the subcommands.
    pub path: Vec<String>,
    /// The repository of `-R`.
    pub repo: Option<String>,
    /// The pull request, issue or record.
    pub target: Option<String>,
    /// The repository that the target brings along, once the hosts are known.
    pub repo_of_target: OnceLock<String>,
    /// All commands and flags that there are.
    pub definition: Command,
}

impl Named {
    /// From what clap has read, without the definition.
    #[must_use]
    pub fn of(matches: &ArgMatches) -> Self {
        let mut path = Vec::new();
        let mut last = matches;
        while let Some((name, below)) = last.subcommand() {
            path.push(name.to_owned());
            last = below;
        }
        let text = |id| last.try_get_one::<String>(id).ok().flatten().cloned();
        Self {
            path,
            repo: text("repo"),
            target: text("selector").or_else(|| text("uri")),
            repo_of_target: OnceLock::new(),
            definition: Command::default(),
        }
    }
}
