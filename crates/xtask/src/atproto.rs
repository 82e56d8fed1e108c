//! Installs the real PDS and the real `did:plc` directory from npm, for comparison with the
//! doubles.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::cargo::root;

/// Files that npm needs.
const MANIFESTS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Scripts to run in the installation.
const SCRIPTS: [&str; 2] = ["serve.mjs", "lexicons.mjs"];

/// Returns the directory of the installation: `FORGE_ATPROTO_WORLD`, else
/// `target/peers/atproto-world`. Reinstalls the latter if it differs from the lock file.
///
/// # Errors
/// Fails if npm is missing, or cannot install the packages.
pub fn find() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("FORGE_ATPROTO_WORLD") {
        let named = PathBuf::from(named);
        ensure!(
            named.join("node_modules").is_dir(),
            "FORGE_ATPROTO_WORLD: nothing is installed there"
        );
        return Ok(named);
    }
    let from = root().join("tests/atproto-world");
    let dir = root().join("target/peers/atproto-world");
    fs::create_dir_all(&dir)?;
    let wanted = fs::read(from.join("package-lock.json")).context("no lock file")?;
    // A copy of the lock file. This file is written last, so it proves that the installation is
    // complete.
    let mark = dir.join("installed");
    if fs::read(&mark).ok().as_ref() != Some(&wanted) {
        for name in MANIFESTS {
            fs::copy(from.join(name), dir.join(name)).with_context(|| format!("no {name}"))?;
        }
        println!("\n== npm ci, of a PDS and a directory");
        let status = Command::new("npm")
            .args(["ci", "--silent"])
            .current_dir(&dir)
            .stdin(Stdio::null())
            .status()
            .context("there is no npm")?;
        ensure!(status.success(), "npm ci failed");
        fs::write(&mark, wanted)?;
    }
    for name in SCRIPTS {
        fs::copy(from.join(name), dir.join(name)).with_context(|| format!("no {name}"))?;
    }
    Ok(dir)
}
