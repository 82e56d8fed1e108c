use std::{ffi::OsStr, io, process::ExitStatus};

use forge_core::{Error, ErrorKind, text};

/// How much of what git wrote to stderr an error keeps, in characters.
const STDERR_MAX: usize = 2000;

/// A git command that ended with a failure.
pub(crate) fn failed(subcommand: &str, status: i32, stderr: &[u8]) -> Error {
    let said = tidy(stderr);
    let message = match (status, said.is_empty()) {
        (-1, _) => format!("git {subcommand} was ended by a signal"),
        (_, true) => format!("git {subcommand} failed with status {status} and said nothing"),
        (_, false) => format!("git {subcommand} failed: {said}"),
    };
    Error::new(ErrorKind::Git { status }, message)
}

/// The git program could not be started, or its pipes broke.
pub(crate) fn not_run(program: &OsStr, dir: &std::path::Path, cause: io::Error) -> Error {
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
            "see whether it can be run by hand".into(),
        )
    };
    Error::new(ErrorKind::Git { status: -1 }, message)
        .with_hint(hint)
        .with_source(cause)
}

/// The exit status as a number; -1 when a signal ended the process.
pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

/// What git said, fit for one line of a message: no escapes, no `fatal: ` in front.
fn tidy(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let said = said.trim();
    let said = said
        .strip_prefix("fatal: ")
        .or(said.strip_prefix("error: "))
        .unwrap_or(said);
    let (said, _) = text::truncate_chars(said, STDERR_MAX);
    text::one_line(&said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_git_said_without_escapes() {
        let e = failed("merge", 128, b"fatal: no \x1b[31msuch\x1b[0m thing\n");
        assert!(e.message().starts_with("git merge failed: no "), "{e}");
        assert!(!e.message().contains('\x1b'));
        assert_eq!(e.kind(), &ErrorKind::Git { status: 128 });
        assert!(failed("gc", 1, b" \n").message().contains("status 1"));
    }
}
