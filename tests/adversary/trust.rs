//! The table of `docs/reference/git-processes.md`: a repository's programs, and who may run them.

use crate::canaries::Sighting;

/// Purpose of git in a repository, and who chose the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A tool or a resource of the MCP server, a command in a clone whose remote is a path, or a
    /// command that reads a repository named from elsewhere.
    Guarded,
    /// A command that reads a repository that a person stands in.
    PersonReads,
    /// A command that writes there.
    PersonWrites,
}

/// A lazy fetch of a missing object from the remotes that promise it.
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

/// Programs that keep a checkout right, as git-crypt and LFS need; that merge files and sign
/// commits; and that git runs around changes of refs and of the index.
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

/// Programs that may run, without a token in sight; no other program of the repository may.
const MAY_RUN: &[(Purpose, &[&[&str]])] = &[
    (Purpose::Guarded, &[]),
    (Purpose::PersonReads, &[LAZY_FETCH]),
    (Purpose::PersonWrites, &[LAZY_FETCH, WRITE]),
];

/// Programs of the user's own, which the repository does not choose; they see no token either.
const OF_THE_USER: &[&str] = &["ssh", "gpg", "gpgsm", "ssh-keygen"];

/// True if the table allows the sighting.
pub fn allows(purpose: Purpose, seen: &Sighting) -> bool {
    let rows = MAY_RUN.iter().filter(|(of, _)| *of == purpose);
    let listed = rows
        .flat_map(|(_, groups)| groups.iter().copied().flatten())
        .chain(OF_THE_USER)
        .any(|name| *name == seen.canary);
    listed && seen.tokens.is_empty()
}
