//! The Python package `jira`, a client of JIRA by other authors, which reads our doubles.

use std::path::PathBuf;

use anyhow::Result;

use crate::python;

/// The version that `tests/peers/jira.rs` speaks of.
pub const VERSION: &str = "3.10.5";

/// The Python that has the package.
///
/// # Errors
/// As [`python::installed`].
pub fn find() -> Result<PathBuf> {
    let package = format!("jira=={VERSION}");
    let scripts = python::installed(&format!("jira-{VERSION}"), &package, "jirashell")?;
    Ok(scripts.join("python"))
}
