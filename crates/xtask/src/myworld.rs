//! `myworld`, another author's GitHub, which the double is compared with. It is installed and run,
//! and never copied.

use std::path::PathBuf;

use anyhow::Result;

use crate::python;

/// The version that the table of `docs/github-double.md` speaks of.
pub const VERSION: &str = "0.2.1";

/// The program, which is installed below `target/peers` when it is not there.
///
/// # Errors
/// As [`python::installed`].
pub fn find() -> Result<PathBuf> {
    let package = format!("myworld[gateway]=={VERSION}");
    let scripts = python::installed(&format!("myworld-{VERSION}"), &package, "myworld")?;
    Ok(scripts.join("myworld"))
}
