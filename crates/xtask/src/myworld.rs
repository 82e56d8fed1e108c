//! `myworld`, another author's GitHub, which the double is compared with. It is installed and run,
//! and never copied.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::cargo::root;

/// The version that the table of `docs/github-double.md` speaks of.
pub const VERSION: &str = "0.2.1";

/// The program, which is installed below `target/peers` when it is not there.
///
/// # Errors
/// When python3, its venv or pip is missing, or the package cannot be had.
pub fn find() -> Result<PathBuf> {
    let dir = root()
        .join("target/peers")
        .join(format!("myworld-{VERSION}"));
    let scripts = if cfg!(windows) { "Scripts" } else { "bin" };
    let (python, program) = (
        dir.join(scripts).join("python"),
        dir.join(scripts).join("myworld"),
    );
    if !program.is_file() {
        println!("\n== myworld {VERSION}");
        run(
            Path::new("python3"),
            &["-m", "venv", &dir.to_string_lossy()],
        )?;
        let package = format!("myworld[gateway]=={VERSION}");
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        run(&python, &[&pip[..], &[&package]].concat())?;
    }
    ensure!(program.is_file(), "the package has no program myworld");
    Ok(program)
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
