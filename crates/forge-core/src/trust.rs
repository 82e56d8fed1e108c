//! Trust in a repository on this machine, by who chose it.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// Who chose a repository on this machine. This decides whose programs git may start there.
///
/// A repository's own configuration can name programs (hooks, filters, merge drivers,
/// `core.sshCommand` and some thirty more), and the repository may come from a stranger. The table
/// of programs that may run is in `docs/reference/git-processes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// An agent, a remote or another repository's configuration named the path. Git starts no program
    /// of the repository, and a bare repository is not opened.
    Guarded,
    /// Like [`Trust::Guarded`], but a person or a program's author named exactly this path, so a
    /// bare repository is opened.
    #[default]
    Named,
    /// A person at a shell named the path or works there: a write runs the same programs as git.
    Person,
}

impl Trust {
    /// Returns true if git starts none of the programs that the repository's configuration names.
    #[must_use]
    pub fn is_guarded(self) -> bool {
        self != Self::Person
    }
}

/// The environment variables with tokens and passwords. Only a git process that authenticates to a
/// remote gets them; no other child process does.
pub const SECRET_VARIABLES: [&str; 8] = [
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_PROJECT_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "TANGLED_PASSWORD",
    "FORGE_MCP_TOKEN",
    "JIRA_TOKEN",
];

/// Further variables that a configuration declares as tokens.
static HIDDEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Hides another environment variable from every child of this process.
pub fn hide_variable(name: &str) {
    // `SECRET_VARIABLES` have their own rules.
    if !SECRET_VARIABLES.contains(&name) {
        let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
        hidden.insert(name.to_owned());
    }
}

/// Returns the variables passed to [`hide_variable`].
#[must_use]
pub fn hidden_variables() -> BTreeSet<String> {
    let hidden = HIDDEN.lock();
    hidden.unwrap_or_else(PoisonError::into_inner).clone()
}
