//! Installs Python packages, each in its own environment below `target/peers`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::cargo::root;

/// Returns the directory with the programs of `package`. Installs the package into
/// `target/peers/<name>` if `program` is missing.
///
/// # Errors
/// Fails if python3, its venv or pip is missing, or the package cannot be downloaded.
pub fn installed(name: &str, package: &str, program: &str) -> Result<PathBuf> {
    let dir = root().join("target/peers").join(name);
    let scripts = dir.join(if cfg!(windows) { "Scripts" } else { "bin" });
    if !scripts.join(program).is_file() {
        println!("\n== {package}");
        let venv = ["-m", "venv", &dir.to_string_lossy()];
        run(Path::new("python3"), &venv)?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            package,
        ];
        run(&scripts.join("python"), &pip)?;
    }
    ensure!(
        scripts.join(program).is_file(),
        "the package has no program {program}"
    );
    Ok(scripts)
}

fn run(program: &Path, args: &[&str]) -> Result<()> {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("there is no {} to install it with", program.display()))?;
    ensure!(status.success(), "python3 {} failed", args.join(" "));
    Ok(())
}
