//! Compares the version that a caller has read with the current version, before a write.

use std::fmt;

use crate::{Action, Changed, Error, ErrorKind, Hint, Result};

/// Checks that `target` still has the version that the caller read. Passes if the caller expects no
/// version. The error suggests the action `read`, which shows the current version.
///
/// # Errors
/// `conflict` with both versions.
pub fn check_version(
    target: &dyn fmt::Display,
    expected: Option<&str>,
    actual: &str,
    read: Action,
) -> Result<()> {
    match expected {
        Some(expected) if expected != actual => Err(version_moved(target, expected, actual, read)),
        _ => Ok(()),
    }
}

/// Returns the error of [`check_version`] for a changed version.
#[must_use]
pub fn version_moved(
    target: &dyn fmt::Display,
    expected: &str,
    actual: &str,
    read: Action,
) -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::Record,
        expected: expected.to_owned(),
        actual: actual.to_owned(),
    };
    let message = format!("{target} has changed: its version is {actual}, not {expected}");
    Error::new(kind, message)
        .with_hint(Hint::new("read the current version, then repeat the change").with_action(read))
}
