use std::path::{Path, PathBuf};

/// The `forge` binary under test: `FORGE_BIN`, else the binary beside this test in the target
/// directory.
///
/// # Panics
/// When there is none: `cargo xtask test` builds it; a lone `cargo test` of this package does not.
#[must_use]
pub fn forge_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("FORGE_BIN") {
        return PathBuf::from(path);
    }
    beside("forge")
}

/// A runnable example of this workspace, which is built with its tests.
///
/// # Panics
/// As [`forge_binary`].
#[must_use]
pub fn example_binary(name: &str) -> PathBuf {
    beside(&format!("examples/{name}"))
}

/// A program in the target directory that this test is in.
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

/// The root of this workspace.
///
/// # Panics
/// When the test kit is not inside a workspace.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the test kit is in crates/")
        .to_path_buf()
}
