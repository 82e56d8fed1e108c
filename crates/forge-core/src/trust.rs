//! Who chose a repository on this machine.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// Who chose a repository on this machine, and so whose programs git may start in it.
///
/// A repository's own configuration can name programs (hooks, filters, merge drivers, `core.sshCommand`
/// and some thirty more), and a repository can be a stranger's work. The table of what runs is in
/// `docs/git-processes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// An agent, a remote or another repository's configuration named the path. Git starts no program
    /// of the repository, and a bare repository is not opened.
    Guarded,
    /// As [`Trust::Guarded`], but a person or a program's author named exactly this path, so a bare
    /// repository opens.
    #[default]
    Named,
    /// A person at a shell named the path or stands in it: a write runs what git would run.
    Person,
}

impl Trust {
    /// Whether git starts no program that the repository's own configuration names.
    #[must_use]
    pub fn is_guarded(self) -> bool {
        self != Self::Person
    }
}

/// The environment variables that hold tokens and passwords. No child process gets them, except a
/// git process that authenticates to a remote.
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

/// Variables that hold tokens because a configuration says so.
static HIDDEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Keeps one more environment variable from every child of this process.
pub fn hide_variable(name: &str) {
    // The others have rules of their own.
    if !SECRET_VARIABLES.contains(&name) {
        let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
        hidden.insert(name.to_owned());
    }
}

/// The variables that [`hide_variable`] was told.
#[must_use]
pub fn hidden_variables() -> BTreeSet<String> {
    let hidden = HIDDEN.lock();
    hidden.unwrap_or_else(PoisonError::into_inner).clone()
}
