use std::sync::OnceLock;

use clap::{ArgMatches, Command};

/// Names that the user typed. Hints repeat these names in suggested commands.
#[derive(Clone, Debug, Default)]
pub struct CommandNames {
    /// The typed subcommands, such as `pr` and `view`.
    pub path: Vec<String>,
    /// The repository of `-R`.
    pub repo: Option<String>,
    /// The pull request, issue or atproto record that the command works on.
    pub target: Option<String>,
    /// The typed values of the arguments in `NAMES`, by argument id.
    pub names: Vec<(&'static str, Vec<String>)>,
    /// The repository in the target's locator. The locator is parsed later, because parsing needs
    /// the configured hosts.
    pub repo_of_target: OnceLock<String>,
    /// The clap definition of all commands and flags, not yet built.
    pub definition: Command,
    /// The built clap definition, created when a hint first needs it.
    pub built: OnceLock<Command>,
}

/// Ids of the arguments whose values are names. A hint can correct a mistyped name.
const NAMES: &[&str] = &[
    "account",
    "add_assignee",
    "add_label",
    "add_project",
    "add_reviewer",
    "assignee",
    "base",
    "head",
    "include",
    "json",
    "label",
    "milestone",
    "project",
    "remove_label",
    "reviewer",
];

impl CommandNames {
    /// Collects the names from clap's matches. `definition` stays empty.
    #[must_use]
    pub fn of(matches: &ArgMatches) -> Self {
        let mut path = Vec::new();
        let mut last = matches;
        while let Some((name, below)) = last.subcommand() {
            path.push(name.to_owned());
            last = below;
        }
        let typed = |id: &'static str| {
            let values = last.try_get_raw(id).ok().flatten()?;
            let values = values.map(|value| value.to_string_lossy().into_owned());
            Some((id, values.collect()))
        };
        let text = |id| last.try_get_one::<String>(id).ok().flatten().cloned();
        // A hint repeats only the last `-R`. This suffices for commands that take one repository,
        // because they refuse two different ones.
        let repo = last.try_get_many::<String>("repo").ok().flatten();
        Self {
            path,
            repo: repo.and_then(|mut all| all.next_back()).cloned(),
            target: text("selector").or_else(|| text("uri")),
            names: NAMES.iter().filter_map(|id| typed(id)).collect(),
            repo_of_target: OnceLock::new(),
            definition: Command::default(),
            built: OnceLock::new(),
        }
    }

    /// Returns the clap definition after `Command::build`. The build takes time, so it runs only
    /// once.
    pub fn built(&self) -> &Command {
        self.built.get_or_init(|| {
            let mut definition = self.definition.clone();
            definition.build();
            definition
        })
    }
}
