//! Runs cargo.

use std::{
    io::{BufRead, BufReader, IsTerminal, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context, Result};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Returns true in CI, where no lane may be skipped.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false")
}

/// Returns the command `cargo` with `args`, in the root of the workspace.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    // The outer cargo sets these variables for this package. The build script of `ring` runs again if
    // they change, and the crates above it would be compiled again.
    for (key, _) in std::env::vars_os() {
        let name = key.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&key);
        }
    }
    if std::io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command
}

/// Returns true if `cargo <args>` succeeds.
pub fn has(args: &[&str]) -> bool {
    cargo(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Runs `command` and passes its output through. Returns true if it succeeded, and its output
/// without colours.
pub fn watched(command: &mut Command) -> Result<(bool, String)> {
    println!("$ {}", line(command));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", line(command)))?;
    let out = child
        .stdout
        .take()
        .map(|pipe| thread::spawn(|| tee(pipe, std::io::stdout())));
    let err = child
        .stderr
        .take()
        .map(|pipe| thread::spawn(|| tee(pipe, std::io::stderr())));
    let status = child.wait().context("lost the process")?;
    let mut text = String::new();
    for reader in [out, err].into_iter().flatten() {
        text.push_str(&reader.join().unwrap_or_default());
    }
    Ok((status.success(), plain(&text)))
}

fn tee(from: impl Read, mut to: impl Write) -> String {
    let mut all = Vec::new();
    let mut reader = BufReader::new(from);
    loop {
        let begun = all.len();
        match reader.read_until(b'\n', &mut all) {
            Ok(1..) => {}
            _ => break,
        }
        // A failure is ignored, so that the tests continue if the output is closed.
        let _ = all.get(begun..).map(|new| to.write_all(new));
    }
    let _ = to.flush();
    String::from_utf8_lossy(&all).into_owned()
}

/// Removes colours from a text.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            for c in rest.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn line(command: &Command) -> String {
    let name = Path::new(command.get_program())
        .file_stem()
        .unwrap_or_default();
    let args = command.get_args().map(|a| a.to_string_lossy());
    std::iter::once(name.to_string_lossy())
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_from_output() {
        assert_eq!(plain("\u{1b}[32;1m1 passed\u{1b}[0m, x"), "1 passed, x");
    }
}
