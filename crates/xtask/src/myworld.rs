//! Installs `myworld`, an independent GitHub double, for comparison with ours. The program is run
//! and never copied.

use std::path::PathBuf;

use anyhow::Result;

use crate::python;

/// The version described in `docs/explanation/github-double.md`.
pub const VERSION: &str = "0.2.1";

/// Returns the program, which is installed below `target/peers` if missing.
///
/// # Errors
/// The errors of [`python::installed`].
pub fn find() -> Result<PathBuf> {
    let package = format!("myworld[gateway]=={VERSION}");
    let scripts = python::installed(&format!("myworld-{VERSION}"), &package, "myworld")?;
    Ok(scripts.join("myworld"))
}
