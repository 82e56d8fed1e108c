//! Finds Chromium, which shows the page of `forge pr context --html`.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Result, bail};

/// Names of the program in distributions; the first is Debian's.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Returns the program: `FORGE_CHROMIUM`, else the first program of `NAMES` that starts.
///
/// # Errors
/// Fails if no Chromium starts.
pub fn find() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("FORGE_CHROMIUM") {
        let named = PathBuf::from(named);
        if starts(&named) {
            return Ok(named);
        }
        bail!("FORGE_CHROMIUM: {} does not start", named.display());
    }
    let mut names = NAMES.map(PathBuf::from).into_iter();
    match names.find(starts) {
        Some(program) => Ok(program),
        None => bail!("no Chromium; Debian has it in the package chromium"),
    }
}

fn starts(program: &PathBuf) -> bool {
    let mut command = Command::new(program);
    let quiet = command.arg("--version").stdin(Stdio::null());
    let quiet = quiet.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
