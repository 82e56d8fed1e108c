//! The table of `docs/reference/git-processes.md`, which says when a repository's programs may run.

use crate::canaries::Sighting;

/// Why git runs in a repository, which depends on who chose the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An MCP tool or resource, a command in a clone with a path as its remote, or a command that
    /// names a repository from outside.
    Guarded,
    /// A command that reads the repository in which the user works.
    PersonReads,
    /// A command that writes to the repository in which the user works.
    PersonWrites,
}

/// Programs that a lazy fetch starts to get a missing object from a promisor remote.
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

/// Programs that a write starts: filters such as git-crypt and LFS, merge drivers, signing
/// programs, and hooks for changes of refs and of the index.
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

/// Programs that a repository may choose for each purpose. They must not see a token.
const MAY_RUN: &[(Purpose, &[&[&str]])] = &[
    (Purpose::Guarded, &[]),
    (Purpose::PersonReads, &[LAZY_FETCH]),
    (Purpose::PersonWrites, &[LAZY_FETCH, WRITE]),
];

/// Programs that the user chooses, not the repository. They must not see a token either.
const OF_THE_USER: &[&str] = &["ssh", "gpg", "gpgsm", "ssh-keygen"];

/// Returns true if the table allows the program.
pub fn allows(purpose: Purpose, seen: &Sighting) -> bool {
    let rows = MAY_RUN.iter().filter(|(of, _)| *of == purpose);
    let listed = rows
        .flat_map(|(_, groups)| groups.iter().copied().flatten())
        .chain(OF_THE_USER)
        .any(|name| *name == seen.canary);
    listed && seen.tokens.is_empty()
}
