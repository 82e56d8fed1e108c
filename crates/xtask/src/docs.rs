//! `cargo xtask docs`: writes what `docs/` has from the code.

use anyhow::Result;

use crate::cargo::{cargo, watched};

/// Runs the test that compares the pages, in the mode in which it writes them. So the comparison
/// and the writing can never differ.
pub fn run() -> Result<bool> {
    let mut command = cargo(&[
        "test",
        "--locked",
        "-p",
        "forge-tests",
        "--test",
        "cli",
        "--",
        "docs::",
    ]);
    command.env("FORGE_UPDATE_DOCS", "1");
    let (ok, _) = watched(&mut command)?;
    Ok(ok)
}
