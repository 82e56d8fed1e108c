//! `cargo xtask docs`: regenerates the generated parts of `docs/`.

use anyhow::Result;

use crate::cargo::{cargo, watched};

/// Runs the tests that compare the pages, in a mode in which they write the pages. Therefore
/// comparison and generation use the same code.
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
