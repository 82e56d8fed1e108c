//! `cargo xtask api`: compares the public API of the library with its committed snapshots.
//!
//! rustdoc writes JSON only if unstable options are allowed. In a stable toolchain, the variable
//! `RUSTC_BOOTSTRAP=1` allows them. cargo must not see this variable: build scripts read it, so
//! cargo would compile most dependencies again. Therefore cargo starts this program as rustdoc
//! (`RUSTDOC`), and this program sets the variable and starts the real rustdoc.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};

use crate::cargo::{cargo, root, watched};

/// The environment variable that makes this program call [`run_rustdoc`]; its value is the path of
/// rustdoc.
pub const RUSTDOC: &str = "XTASK_RUSTDOC";

/// The packages whose items are in the public API of `forge`, each with the items that `forge`
/// exports. An empty list means all items.
const LIBRARIES: [(&str, &[&str]); 5] = [
    ("forge", &[]),
    ("forge-context", &[]),
    ("forge-core", &[]),
    ("forge-tangled", &["IndexShows", "IngestionReport"]),
    ("forge-workflow", &[]),
];

/// Automatic impls that are left out of the snapshots, because nearly all types have them. A type
/// without `Send` or `Sync` is still visible by a line `impl !core::marker::Send for …`.
const UNLISTED: [&str; 7] = [
    " core::marker::Send for ",
    " core::marker::Sync for ",
    "core::marker::Freeze for ",
    "core::marker::Unpin for ",
    "core::marker::UnsafeUnpin for ",
    "core::panic::unwind_safe::RefUnwindSafe for ",
    "core::panic::unwind_safe::UnwindSafe for ",
];

/// Maximum number of changed lines to print for each package.
const MAX_CHANGES: usize = 60;

/// Compares every snapshot; `false` if any differs.
pub fn run() -> Result<bool> {
    Ok(compare(&program()?)?.iter().all(|(_, current)| *current))
}

/// Compares every snapshot and prints the changes. Returns each package, and whether its snapshot
/// is current. `program` is the result of [`program`].
pub fn compare(program: &Path) -> Result<Vec<(&'static str, bool)>> {
    document(program)?;
    let mut compared = Vec::new();
    for (library, exported) in LIBRARIES {
        let file = snapshot(library);
        let committed = fs::read_to_string(root().join(&file)).unwrap_or_default();
        let changed = changes(&committed, &list(library, exported)?);
        if !changed.is_empty() {
            println!("The public API of {library} differs from {file}:");
            for line in changed.iter().take(MAX_CHANGES) {
                println!("{line}");
            }
            if let Some(more @ 1..) = changed.len().checked_sub(MAX_CHANGES) {
                println!("… and {more} more lines");
            }
            println!("To accept the changes, run `cargo xtask api --update` and commit {file}.");
        }
        compared.push((library, changed.is_empty()));
    }
    Ok(compared)
}

/// Writes every snapshot.
pub fn update() -> Result<bool> {
    document(&program()?)?;
    for (library, exported) in LIBRARIES {
        let path = root().join(snapshot(library));
        let text = list(library, exported)?;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(true)
}

/// Returns the path of this program. Call it before cargo builds the workspace: a build replaces
/// the file, and afterwards Linux reports the path of the deleted file.
pub fn program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find this program")
}

/// Starts the real rustdoc with the arguments of this program.
pub fn run_rustdoc(rustdoc: &OsStr) -> ExitCode {
    let status = Command::new(rustdoc)
        .args(std::env::args_os().skip(1))
        .env_remove(RUSTDOC)
        .env("RUSTC_BOOTSTRAP", "1")
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!(
                "error: cannot start {}: {why}",
                Path::new(rustdoc).display()
            );
            ExitCode::FAILURE
        }
    }
}

/// Writes `target/doc/<crate>.json` for each crate, and fails on a warning of rustdoc. Documents
/// the whole workspace, because with fewer packages, cargo would check the dependencies again with
/// other features.
fn document(program: &Path) -> Result<()> {
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--locked", "--quiet"]);
    command
        .env("RUSTDOC", program)
        .env(RUSTDOC, rustdoc)
        // Because these flags differ from a run for HTML, cargo runs rustdoc again even if the HTML
        // is current.
        .env(
            "RUSTDOCFLAGS",
            "-D warnings -Z unstable-options --output-format json",
        )
        .env_remove("CARGO_ENCODED_RUSTDOCFLAGS");
    let (documented, _) = watched(&mut command)?;
    ensure!(documented, "cannot document the library: see above");
    Ok(())
}

/// Lists the public items of a package, one on each line: each type of a module, followed by its
/// fields, methods and impls. Derived impls are listed without their methods.
fn list(library: &str, exported: &[&str]) -> Result<String> {
    let name = crate_name(library);
    let json = root().join("target/doc").join(format!("{name}.json"));
    let items = |only_written: bool| {
        let api = public_api::Builder::from_rustdoc_json(&json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(only_written)
            .omit_auto_derived_impls(only_written)
            .build()
            .with_context(|| {
                format!(
                    "cannot read {}: the version of `public-api` in Cargo.toml must read the JSON \
                     of the toolchain in rust-toolchain.toml",
                    json.display()
                )
            })?;
        anyhow::Ok(api.items().map(ToString::to_string).collect::<Vec<_>>())
    };
    let written: BTreeSet<String> = items(true)?.into_iter().collect();
    let mut lines = items(false)?;
    // A type with several inherent impls has several equal lines, but only one is listed.
    let mut listed = BTreeSet::new();
    lines.retain(|line| {
        (written.contains(line) || is_listed_impl(line))
            && is_exported(line, &name, exported)
            && listed.insert(line.clone())
    });
    ensure!(!lines.is_empty(), "{library} has no public item");
    Ok(lines.join("\n") + "\n")
}

/// Returns true if the line is an impl that is not in [`UNLISTED`].
fn is_listed_impl(line: &str) -> bool {
    line.starts_with("impl") && !UNLISTED.iter().any(|part| line.contains(part))
}

/// Returns true if the first item of crate `name` in the line is one of `exported`.
fn is_exported(line: &str, name: &str, exported: &[&str]) -> bool {
    exported.is_empty()
        || line
            .split_once(&format!("{name}::"))
            .is_some_and(|(_, path)| exported.iter().any(|item| path.starts_with(item)))
}

/// Lists the lines that differ: removed lines with a prefix `-`, then added lines with a prefix
/// `+`.
fn changes(before: &str, after: &str) -> Vec<String> {
    let before: BTreeSet<&str> = before.lines().collect();
    let after: BTreeSet<&str> = after.lines().collect();
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    let new = after.difference(&before).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

/// Returns the snapshot of a package, relative to the root.
fn snapshot(library: &str) -> String {
    format!("docs/reference/api/{library}.txt")
}

fn crate_name(library: &str) -> String {
    library.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_listed_regardless_of_order() {
        assert!(changes("a\nb\n", "b\na\n").is_empty());
        assert_eq!(changes("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
        assert_eq!(changes("", "a\n"), ["+ a"]);
    }

    #[test]
    fn only_negative_send_impls_are_listed() {
        assert!(is_listed_impl("impl core::clone::Clone for forge::Config"));
        assert!(is_listed_impl("impl !core::marker::Send for forge::Config"));
        assert!(!is_listed_impl("impl core::marker::Send for forge::Config"));
        assert!(!is_listed_impl(
            "impl !core::marker::Freeze for forge::Config"
        ));
        assert!(!is_listed_impl("pub fn forge::open()"));
    }

    #[test]
    fn items_outside_the_exports_are_left_out() {
        let exported = |line| is_exported(line, "forge_tangled", &["IndexShows"]);
        assert!(exported("pub enum forge_tangled::IndexShows"));
        assert!(exported(
            "impl core::fmt::Debug for forge_tangled::IndexShows"
        ));
        assert!(!exported(
            "pub fn forge_tangled::Tangled::shows(&self) -> forge_tangled::IndexShows"
        ));
        assert!(is_exported("pub mod forge", "forge", &[]));
    }
}
