//! The table of `docs/reference/git-processes.md`: which programs of a repository may run, and
//! when.

use crate::canaries::Sighting;

/// Purpose for which git runs in a repository, depending on who chose the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A tool or resource of the MCP server, a command in a clone whose remote is a path, or a
    /// command that reads a repository named from outside.
    Guarded,
    /// A command that reads the repository in which the user is.
    PersonReads,
    /// A command that writes to the repository in which the user is.
    PersonWrites,
}

/// Programs of a lazy fetch, which gets a missing object from a promisor remote.
const LAZY_FETCH: &[&str] = &[
    "remote.local.uploadpack",
    "remote.ext.url",
    "url.ext.insteadOf",
    "git-remote-canary-vcs",
    "core.sshCommand",
    "core.gitProxy",
    "http.proxy",
    "credential.helper",
    "users-credential.helper",
    "core.askPass",
];

/// Programs of a write: filters such as git-crypt and LFS, merge drivers, signing programs, and
/// hooks of changes to refs and to the index.
const WRITE: &[&str] = &[
    "filter.canary.clean",
    "filter.canary.smudge",
    "filter.canary-process.process",
    "merge.canary.driver",
    "merge.odd.driver",
    "hooks/reference-transaction",
    "hooks/post-index-change",
    "core.hooksPath/reference-transaction",
    "core.hooksPath/post-index-change",
    "hook.canary.command",
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
];

/// Programs of a repository that may run, without access to a token.
const MAY_RUN: &[(Purpose, &[&[&str]])] = &[
    (Purpose::Guarded, &[]),
    (Purpose::PersonReads, &[LAZY_FETCH]),
    (Purpose::PersonWrites, &[LAZY_FETCH, WRITE]),
];

/// The user's own programs, which the repository does not choose; they see no token either.
const OF_THE_USER: &[&str] = &["ssh", "gpg", "gpgsm", "ssh-keygen"];

/// Whether the table allows the program.
pub fn allows(purpose: Purpose, seen: &Sighting) -> bool {
    let rows = MAY_RUN.iter().filter(|(of, _)| *of == purpose);
    let listed = rows
        .flat_map(|(_, groups)| groups.iter().copied().flatten())
        .chain(OF_THE_USER)
        .any(|name| *name == seen.canary);
    listed && seen.tokens.is_empty()
}
