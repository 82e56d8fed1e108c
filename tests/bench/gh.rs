//! The real gh.

use std::path::{Path, PathBuf};

use forge_testkit::Run;

/// `run` without what gh does beside its work.
pub fn quiet(run: Run) -> Run {
    run.env("GH_TELEMETRY", "false")
        .env("GH_NO_UPDATE_NOTIFIER", "1")
}

/// Version, like `2.103.3`.
pub fn version(gh: &Path) -> String {
    let said = quiet(Run::new(PathBuf::from(gh), std::env::temp_dir()))
        .arg("--version")
        .text();
    said.split_whitespace().nth(2).unwrap_or("?").to_owned()
}
