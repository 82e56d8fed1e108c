//! Trust in a repository on this machine, depending on who chose it.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// Origin of the path of a repository on this machine. The origin decides which programs of the
/// repository git may start.
///
/// The configuration of a repository can name programs (hooks, filters, merge drivers,
/// `core.sshCommand` and some thirty more), and the repository may come from a stranger.
/// `docs/reference/git-processes.md` has the table of programs that may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// An agent, a remote or the configuration of another repository named the path. Git starts no
    /// program of the repository and does not open a bare repository.
    Guarded,
    /// Like [`Trust::Guarded`], but a person or the author of a program named exactly this path.
    /// Git may therefore open a bare repository.
    #[default]
    Named,
    /// A person at a shell named the path or works in it. For a write, git starts the same programs
    /// as if the person had called git.
    Person,
}

impl Trust {
    /// Returns true if git may start none of the programs that the configuration of the repository
    /// names.
    #[must_use]
    pub fn is_guarded(self) -> bool {
        self != Self::Person
    }
}

/// Environment variables that contain tokens and passwords. Of all child processes, only a git
/// process that authenticates to a remote gets them.
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

/// Other environment variables that contain tokens. A configuration file names them.
static HIDDEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Hides an environment variable from every child of this process.
pub fn hide_variable(name: &str) {
    // Variables in `SECRET_VARIABLES` are not hidden from every child, because git may need them to
    // authenticate.
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
