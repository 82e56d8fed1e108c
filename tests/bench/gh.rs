//! Runs the real gh.

use std::path::{Path, PathBuf};

use forge_testkit::Run;

/// Disables gh's update checks and telemetry for `run`.
pub fn quiet(run: Run) -> Run {
    run.env("GH_TELEMETRY", "false")
        .env("GH_NO_UPDATE_NOTIFIER", "1")
}

/// Returns gh's version, such as `2.103.3`.
pub fn version(gh: &Path) -> String {
    let said = quiet(Run::new(PathBuf::from(gh), std::env::temp_dir()))
        .arg("--version")
        .text();
    said.split_whitespace().nth(2).unwrap_or("?").to_owned()
}
