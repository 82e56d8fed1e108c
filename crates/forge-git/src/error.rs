use std::{ffi::OsStr, io, path::Path, process::ExitStatus, time::Duration};

use forge_core::{Action, Arg, Error, ErrorKind, Hint, Param, text};

/// Maximum length of git's stderr in an error message, in characters.
const MAX_STDERR_CHARS: usize = 2000;

pub(crate) fn failed(subcommand: &str, status: i32, stderr: &[u8]) -> Error {
    let said = tidy(stderr);
    let aborted = status == -1 && is_abort(stderr);
    let message = match (status, said.is_empty()) {
        (-1, _) if aborted => format!("git {subcommand} was ended by a signal: {said}"),
        (-1, _) => format!("git {subcommand} was ended by a signal"),
        (_, true) => format!("git {subcommand} failed with status {status} and no message"),
        (_, false) => format!("git {subcommand} failed: {said}"),
    };
    let e = Error::new(ErrorKind::Git { status }, message);
    match recovery_hint(&String::from_utf8_lossy(stderr)) {
        Some(hint) => e.with_hint(hint),
        None if aborted => e.with_hint("look for damaged objects with `git fsck --full`"),
        None if status == -1 => e.with_hint(
            "raise the limit that stopped git, such as on files or memory (see `ulimit -a`), then \
            try again",
        ),
        None => e,
    }
}

/// Returns a hint for a failure that git's message explains.
fn recovery_hint(stderr: &str) -> Option<Hint> {
    let says = |words: &str| stderr.contains(words);
    if let Some((_, command)) = stderr.split_once("git config --global --add safe.directory ") {
        // Git quotes the directory for a shell.
        let dir = text::one_line(command.lines().next().unwrap_or_default());
        let trust = ["git config --global --add safe.directory", &*dir].join(" ");
        return Some(format!("if you trust its owner: {trust}").into());
    }
    if says("insufficient permission") || says("Permission denied") || says("Read-only file system")
    {
        return Some("work in a copy that you can write to, or ask its owner for access".into());
    }
    if says("No space left on device") || says("Disk quota exceeded") {
        return Some("make room on the disk, then try again".into());
    }
    if says("File too large") {
        return Some("raise the limit on the size of files (ulimit -f), then try again".into());
    }
    if is_out_of_memory(stderr.as_bytes()) {
        return Some("free memory, or raise its limit (ulimit -v), then try again".into());
    }
    if says("promisor remote")
        || (says("transport '") && says("not allowed"))
        || says("lazy fetching")
    {
        return Some(
            "the object is missing from this partial clone, and forge does not fetch objects for \
            a read: if you trust the clone's configuration, run `git fetch --refetch --no-filter` \
            in it, then try again"
                .into(),
        );
    }
    if says("safe.bareRepository is") {
        if is_inside_work_tree(stderr) {
            return Some(
                "change to another directory, or check the configuration of the bare repository \
                and then pass its path: its author may have placed it inside the clone to run \
                programs"
                    .into(),
            );
        }
        return Some(
            Hint::new("name the bare repository itself, by its path")
                .with_action(Action::again(&[(Param::Repo, Arg::Choose)])),
        );
    }
    says("aborted by hook").then(|| {
        "the repository's reference-transaction hook refused the change: git changed no ref in \
        this step"
            .into()
    })
}

/// Returns true if stderr shows that git aborted, for example because it could not read a tree.
fn is_abort(stderr: &[u8]) -> bool {
    let said = String::from_utf8_lossy(stderr);
    ["fatal: ", "BUG: ", "Assertion "]
        .iter()
        .any(|words| said.contains(words))
}

pub(crate) fn is_out_of_memory(stderr: &[u8]) -> bool {
    let said = String::from_utf8_lossy(stderr);
    let says = |words: &str| said.contains(words);
    says("Out of memory") || says("out of memory") || says("Cannot allocate memory")
}

/// Returns true if git refused a bare repository because it is inside the work tree of another
/// repository.
fn is_inside_work_tree(stderr: &str) -> bool {
    let path = stderr
        .split_once("bare repository '")
        .and_then(|(_, rest)| rest.rsplit_once("' (safe.bareRepository"));
    path.is_some_and(|(path, _)| {
        let mut above = Path::new(path).ancestors().skip(1);
        above.any(|dir| dir.join(".git").exists())
    })
}

/// Returns the error for a git program that could not be started, or whose pipes broke.
pub(crate) fn spawn_error(program: &OsStr, dir: &std::path::Path, cause: io::Error) -> Error {
    let program = text::one_line(&program.to_string_lossy()).into_owned();
    let missing_dir = cause.kind() == io::ErrorKind::NotFound && !dir.is_dir();
    let (message, hint) = if missing_dir {
        let dir = text::one_line(&dir.to_string_lossy()).into_owned();
        (
            format!("the directory {dir} does not exist"),
            "check the path".to_owned(),
        )
    } else if cause.kind() == io::ErrorKind::NotFound {
        (
            format!("the program '{program}' was not found"),
            format!(
                "install git {} or newer, or set FORGE_GIT to its path",
                crate::version::MINIMUM
            ),
        )
    } else {
        (
            format!("could not run '{program}': {cause}"),
            "check that you can run it by hand".into(),
        )
    };
    Error::new(ErrorKind::Git { status: -1 }, message)
        .with_hint(hint)
        .with_source(cause)
}

/// Returns the error for a git process in `dir` that only reads and did not end within `limit`.
pub(crate) fn timeout_error(subcommand: &str, dir: &Path, limit: Duration) -> Error {
    let dir = text::one_line(&dir.to_string_lossy()).into_owned();
    let message = format!(
        "git {subcommand} in {dir} did not end within {} s, and was stopped",
        limit.as_secs_f32()
    );
    Error::new(ErrorKind::Timeout { after: limit }, message).with_hint(
        "look for a pipe or device among the files that the repository's configuration names or \
         includes (`git config --show-origin --list`); if git only needs more time, raise \
         FORGE_TIMEOUT (seconds)",
    )
}

/// Returns the exit status as a number; -1 when a signal ended the process.
pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

/// Turns git's message into one line that is safe to print, without the leading `fatal: ` or
/// `error: `.
fn tidy(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let said = said.trim();
    let said = said
        .strip_prefix("fatal: ")
        .or(said.strip_prefix("error: "))
        .unwrap_or(said);
    let (said, _) = text::truncate_chars(said, MAX_STDERR_CHARS);
    text::one_line(&said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_contains_git_message_without_escapes() {
        let e = failed("merge", 128, b"fatal: no \x1b[31msuch\x1b[0m thing\n");
        assert!(e.message().starts_with("git merge failed: no "), "{e}");
        assert!(!e.message().contains('\x1b'));
        assert_eq!(e.kind(), &ErrorKind::Git { status: 128 });
        assert!(failed("gc", 1, b" \n").message().contains("status 1"));
    }

    #[test]
    fn known_git_failure_has_a_recovery() {
        let hint = |said: &str| {
            failed("x", 128, said.as_bytes())
                .hint()
                .map(|h| h.text().to_owned())
        };
        let owner = "fatal: detected dubious ownership in repository at '/r'\nTo add an exception \
                     for this directory, call:\n\n\tgit config --global --add safe.directory /r\n";
        assert!(hint(owner).is_some_and(|h| h.ends_with("safe.directory /r")));
        let denied = "error: insufficient permission for adding an object to repository database";
        assert!(hint(denied).is_some_and(|h| h.contains("can write")));
        assert!(hint("fatal: ref updates aborted by hook").is_some_and(|h| h.contains("no ref")));
        let full = "error: unable to write loose object file: File too large";
        assert!(hint(full).is_some_and(|h| h.contains("ulimit -f")));
        let left_out = "warning: lazy fetching disabled; some objects may not be available\n\
                        fatal: could not fetch 789 from promisor remote";
        assert!(hint(left_out).is_some_and(|h| h.contains("git fetch --refetch --no-filter")));
        let bare = "fatal: cannot use bare repository '/r.git' (safe.bareRepository is 'explicit')";
        assert!(hint(bare).is_some_and(|h| h.contains("by its path")));
        let full = "fatal: Out of memory, malloc failed (tried to allocate 1048577 bytes)";
        assert!(hint(full).is_some_and(|h| h.contains("ulimit -v")));
        let outer = tempfile::tempdir().unwrap();
        std::fs::create_dir(outer.path().join(".git")).unwrap();
        let inner = bare.replace(
            "/r.git",
            &outer.path().join("d/r.git").display().to_string(),
        );
        let trap = failed("x", 128, inner.as_bytes());
        let trap = trap.hint().unwrap();
        assert!(trap.text().contains("inside the clone to run"), "{trap}");
        assert!(trap.action().is_none());
        assert_eq!(hint("fatal: something else"), None);
        let bug = "BUG: merge-ort.c:1: a name has a slash";
        let aborted = failed("merge-tree", -1, bug.as_bytes());
        assert!(aborted.message().ends_with(bug), "{aborted}");
        assert!(
            aborted
                .hint()
                .is_some_and(|h| h.text().contains("git fsck"))
        );
        let stopped = failed("gc", -1, b"");
        assert!(
            stopped
                .hint()
                .is_some_and(|h| h.text().contains("ulimit -a"))
        );
    }
}
