//! The tests of `cargo xtask test --quick`.
//!
//! A change of a crate runs the tests of that crate, the unit tests of all crates that build on it,
//! and the tests of the pages and guards. A change of a face (`forge-cli`, `forge-mcp`) runs the
//! suite of that face, too.

use std::{collections::BTreeSet, process::Command};

use anyhow::{Context, Result, ensure};

use crate::cargo::root;

/// The tests of the pages and the guards, which read files of the whole repository.
const ALWAYS: &str = "binary(guard) + (binary(cli) & test(/^docs::/))";

/// The suites in `tests/` that drive one crate.
const FACES: [(&str, &str); 2] = [("forge-cli", "cli"), ("forge-mcp", "mcp")];

/// Returns the folders below `crates/` and `tests/` that have changed: in the work tree, or in the
/// last commit if the work tree has no change.
pub fn changed_folders() -> Result<BTreeSet<String>> {
    let tracked = git(&["diff", "--name-only", "--no-renames", "-z", "HEAD"])?;
    let new = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let mut paths = tracked + &new;
    if paths.is_empty() {
        paths = git(&[
            "show",
            "--format=",
            "--name-only",
            "--no-renames",
            "-z",
            "HEAD",
        ])?;
    }
    Ok(folders(&paths))
}

fn git(args: &[&str]) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(root()).output();
    let output = output.context("there is no git")?;
    ensure!(output.status.success(), "git {} failed", args.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the folders of paths that end with NUL, such as `crates/forge-core`.
fn folders(paths: &str) -> BTreeSet<String> {
    let folder = |path: &str| {
        let mut parts = path.split('/');
        let (top, name, _file) = (parts.next()?, parts.next()?, parts.next()?);
        matches!(top, "crates" | "tests").then(|| format!("{top}/{name}"))
    };
    paths.split('\0').filter_map(folder).collect()
}

/// Returns the nextest filter for changes in these folders.
pub fn filter(folders: &BTreeSet<String>) -> String {
    let mut parts = vec![ALWAYS.to_owned()];
    for folder in folders {
        if let Some(name) = folder.strip_prefix("crates/") {
            parts.push(format!("package({name})"));
            parts.push(format!("(rdeps({name}) & (kind(lib) + kind(bin)))"));
            let suites = FACES.iter().filter(|(face, _)| *face == name);
            parts.extend(suites.map(|(_, suite)| format!("binary({suite})")));
        } else if let Some(name) = folder.strip_prefix("tests/") {
            // A folder is a suite of `forge-tests`, or a double with a package of its own.
            parts.push(format!("binary(#{})", name.replace('-', "_")));
            parts.push(format!("package(#forge-{name})"));
        }
    }
    parts.join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_select_tests_of_their_crates() {
        let folders = folders("README.md\0crates/forge-cli/src/lib.rs\0tests/Cargo.toml\0");
        assert_eq!(folders, BTreeSet::from(["crates/forge-cli".to_owned()]));
        assert_eq!(
            filter(&folders),
            format!(
                "{ALWAYS} + package(forge-cli) + (rdeps(forge-cli) & (kind(lib) + kind(bin))) \
                 + binary(cli)"
            )
        );
    }
}
