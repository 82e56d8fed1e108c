use std::path::{Path, PathBuf};

/// Returns the `forge` binary under test: `FORGE_BIN`, or the binary in this test's target
/// directory.
///
/// # Panics
///
/// Panics if the binary does not exist: `cargo xtask test` builds it; `cargo test` of only this
/// package does not.
#[must_use]
pub fn forge_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("FORGE_BIN") {
        return PathBuf::from(path);
    }
    beside("forge")
}

/// Returns a runnable example of this workspace, which is built with its tests.
///
/// # Panics
///
/// Panics as [`forge_binary`] does.
#[must_use]
pub fn example_binary(name: &str) -> PathBuf {
    beside(&format!("examples/{name}"))
}

/// Returns a program in the target directory of this test.
fn beside(name: &str) -> PathBuf {
    let me = std::env::current_exe().expect("the path of this test");
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    me.ancestors()
        .skip(1)
        .take(3)
        .map(|dir| dir.join(&name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| {
            panic!(
                "no {name} near {}; build it with: cargo build --workspace --all-targets",
                me.display()
            )
        })
}

/// Returns the root of this workspace.
///
/// # Panics
///
/// Panics if the test kit is outside a workspace.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the test kit is in crates/")
        .to_path_buf()
}
