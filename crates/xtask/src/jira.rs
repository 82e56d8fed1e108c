//! Installs the Python package `jira`, an independent JIRA client, to test our JIRA double.

use std::path::PathBuf;

use anyhow::Result;

use crate::python;

/// The version described in `tests/peers/jira.rs`.
pub const VERSION: &str = "3.10.5";

/// Returns the Python with the package.
///
/// # Errors
/// The errors of [`python::installed`].
pub fn find() -> Result<PathBuf> {
    let package = format!("jira=={VERSION}");
    let scripts = python::installed(&format!("jira-{VERSION}"), &package, "jirashell")?;
    Ok(scripts.join("python"))
}
