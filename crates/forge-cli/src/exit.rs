//! Exit codes, the same as gh's.

use std::{error::Error as _, io, process::ExitCode};

use forge_core::{Error, ErrorKind};

use crate::ui::Ui;

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: the command succeeded.
    Ok,
    /// 1: any failure, including wrong usage.
    Failure,
    /// 2: the user cancelled.
    Cancelled,
    /// 4: credentials are missing or refused.
    Unauthenticated,
    /// 8: `pr checks` found unfinished checks, or `pr watch` reached its deadline.
    Pending,
}

impl Exit {
    /// Returns the exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Cancelled => 2,
            Self::Unauthenticated => 4,
            Self::Pending => 8,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Returns the exit code for an error.
#[must_use]
pub fn of_error(e: &Error) -> Exit {
    match e.kind() {
        ErrorKind::Cancelled => Exit::Cancelled,
        ErrorKind::Unauthenticated { .. } => Exit::Unauthenticated,
        _ => Exit::Failure,
    }
}

/// Prints an error, and returns its exit code.
///
/// If the result of a write cannot be printed, the message confirms the write, because a script
/// would otherwise repeat the write. As in gh, closing the output early (`forge pr diff | head`) is
/// not a failure, even after a write.
pub fn report(ui: &Ui, e: &Error) -> Exit {
    match (ui.unseen_writes(e), is_broken_pipe(e)) {
        (None, true) => Exit::Ok,
        (None, false) => {
            ui.error(e);
            of_error(e)
        }
        (Some(done), true) => {
            ui.caution(&format!(
                "standard output is closed, so the result was not printed: {done}"
            ));
            Exit::Ok
        }
        (Some(done), false) => {
            let e = Error::new(e.kind().clone(), e.message());
            ui.error(&e.with_hint(format!("do not repeat the command: {done}")));
            Exit::Failure
        }
    }
}

#[must_use]
fn is_broken_pipe(e: &Error) -> bool {
    e.source()
        .and_then(|s| s.downcast_ref::<io::Error>())
        .is_some_and(|s| s.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::io_error;

    #[test]
    fn error_kinds_have_the_exit_codes_of_gh() {
        let code = |kind| of_error(&Error::new(kind, "x")).code();
        assert_eq!(code(ErrorKind::Cancelled), 2);
        assert_eq!(code(ErrorKind::Unauthenticated { host: "h".into() }), 4);
        assert_eq!(code(ErrorKind::Internal), 1);
        assert_eq!(Exit::Pending.code(), 8);
    }

    #[test]
    fn broken_pipe_is_distinguished_from_other_errors() {
        assert!(is_broken_pipe(&io_error(io::ErrorKind::BrokenPipe.into())));
        assert!(!is_broken_pipe(&io_error(
            io::ErrorKind::StorageFull.into()
        )));
        assert!(!is_broken_pipe(&Error::new(ErrorKind::Internal, "x")));
    }
}
