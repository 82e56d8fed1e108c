//! Tests that the generated pages match the code. `cargo xtask docs` writes the pages.

use std::fs;

use forge_testkit::workspace_root;

fn current(page: &str, text: &str) {
    let path = workspace_root().join("docs/reference").join(page);
    if std::env::var_os("FORGE_UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/reference/{page} is not current: run `cargo xtask docs`"
    );
}

#[test]
fn cli_page_is_current() {
    current("cli.md", &forge_cli::cli_docs());
}

#[test]
fn config_page_is_current() {
    current("config.md", &forge::config::docs());
}

#[test]
fn capabilities_page_is_current() {
    current("capabilities.md", &forge::capabilities_docs());
}

#[test]
fn requirements_page_is_current() {
    current("requirements.md", &crate::requirements::page());
}

#[test]
fn context_page_is_current() {
    current("context.md", &forge_cli::context_docs());
}
