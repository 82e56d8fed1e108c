//! Installs `myworld`, an independent GitHub double, for comparison with our double. Tests run the
//! program; none of its code is copied.

use std::path::PathBuf;

use anyhow::Result;

use crate::python;

/// The version described in `docs/explanation/github-double.md`.
pub const VERSION: &str = "0.2.1";

/// Returns the program. Installs it below `target/peers` if it is missing.
///
/// # Errors
/// The errors of [`python::installed`].
pub fn find() -> Result<PathBuf> {
    let package = format!("myworld[gateway]=={VERSION}");
    let scripts = python::installed(&format!("myworld-{VERSION}"), &package, "myworld")?;
    Ok(scripts.join("myworld"))
}
