//! Installs `tang`, an independent client of tangled, from crates.io, and finds the desktop keyring
//! that stores its session.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::cargo::{cargo, root};

/// The version that the tests expect.
pub const VERSION: &str = "0.1.0";

/// The programs of a session bus and of a keyring, each with its Debian package.
const DESKTOP: [(&str, &str); 2] = [
    ("dbus-run-session", "dbus"),
    ("gnome-keyring-daemon", "gnome-keyring"),
];

/// Returns the program: `FORGE_TANG`, else `target/peers/tang`. Builds the latter if it is missing.
///
/// # Errors
/// Fails if tang or the keyring is missing, or tang has another version.
pub fn find() -> Result<PathBuf> {
    for (program, package) in DESKTOP {
        read_version(Path::new(program))
            .with_context(|| format!("Debian has it in the package {package}"))?;
    }
    if let Some(named) = std::env::var_os("FORGE_TANG") {
        let named = PathBuf::from(named);
        check(&named).context("FORGE_TANG")?;
        return Ok(named);
    }
    let dir = root().join("target/peers/tang");
    let program = dir.join("bin/tang");
    if !program.is_file() {
        build(&dir)?;
    }
    check(&program)?;
    Ok(program)
}

fn check(program: &Path) -> Result<()> {
    let said = read_version(program)?;
    ensure!(
        said.split_whitespace().nth(1) == Some(VERSION),
        "{} says \"{said}\"",
        program.display()
    );
    Ok(())
}

fn read_version(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Builds the program outside of the workspace, and keeps only the executable.
fn build(dir: &Path) -> Result<()> {
    let objects = dir.join("build");
    let crate_name = format!("tangled-cli@{VERSION}");
    let install = ["install", "--quiet", "--locked", "--debug", &crate_name];
    let status = cargo(&install)
        .arg("--root")
        .arg(dir)
        .env("CARGO_TARGET_DIR", &objects)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .stdin(Stdio::null())
        .status()
        .context("there is no cargo")?;
    ensure!(status.success(), "cargo install {crate_name} failed");
    fs::remove_dir_all(&objects).context("cannot clean up after the build")
}
