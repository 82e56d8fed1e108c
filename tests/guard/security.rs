//! Tests that every test in SECURITY.md exists.

use std::path::{Path, PathBuf};

use crate::sources::read;

/// Returns the rows of the page's table of threats.
fn threats(page: &str) -> impl Iterator<Item = &str> {
    let (_, table) = page.split_once("\n## Threats\n").expect("the threats");
    let lines = table.lines().filter(|line| line.starts_with("| "));
    // The first row is the header.
    lines.skip(1)
}

/// Returns the tests that the last column of a row names.
fn named_tests(row: &str) -> Vec<&str> {
    let cells = row.trim_end_matches(" |");
    let (_, last) = cells.rsplit_once(" | ").expect("three columns");
    last.split('`').skip(1).step_by(2).collect()
}

/// Returns the directory with the source of a test binary, by the binary's name in nextest. The
/// suites in `tests/` belong to no crate.
fn directory(binary: &str) -> PathBuf {
    match binary.split_once("::") {
        Some((package, test)) => Path::new("crates").join(package).join("tests").join(test),
        None if binary.starts_with("forge") => Path::new("crates").join(binary).join("src"),
        None => Path::new("tests").join(binary),
    }
}

/// Returns true if a reference such as `mcp attacks::foreign_host_header_is_refused` names an
/// existing test.
fn is_test(reference: &str) -> bool {
    let Some((binary, path)) = reference.split_once(' ') else {
        return false;
    };
    let mut modules: Vec<&str> = path.split("::").collect();
    let name = modules.pop().unwrap_or_default();
    let source = |depth: usize| {
        let outer = modules[..depth].iter();
        let path = outer.fold(directory(binary), |path, module| path.join(module));
        let files = ["mod.rs", "main.rs", "lib.rs"].map(|file| path.join(file));
        let mut files = files.into_iter().chain([path.with_extension("rs")]);
        Some((files.find_map(|file| read(&file))?, depth))
    };
    // An inner module without a separate file is in the outer module's file. A macro creates some
    // of these modules.
    let deepest = (0..=modules.len()).rev().find_map(source);
    deepest.is_some_and(|(text, depth)| {
        let mut inline = modules[depth..].iter();
        let has_modules = inline.all(|module| text.contains(&format!("{module} ")));
        has_modules && declares_test(&text, name)
    })
}

/// Returns true if `text` contains a function of this name with a test attribute.
fn declares_test(text: &str, name: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("fn {name}(")) else {
        return false;
    };
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    ["#[test]", "#[tokio::test"]
        .iter()
        .any(|test| attributes.contains(test))
}

#[test]
fn security_page_mentions_only_existing_tests() {
    let page = read(Path::new("SECURITY.md")).expect("the page");
    let mut count = 0;
    for row in threats(&page) {
        let tests = named_tests(row);
        assert!(!tests.is_empty(), "no test holds this: {row}");
        let missing: Vec<_> = tests.iter().filter(|test| !is_test(test)).collect();
        assert!(missing.is_empty(), "no such test: {missing:?} in {row}");
        count += tests.len();
    }
    assert!(count > 100, "only {count} tests are named");
}

#[test]
fn misspelled_test_on_security_page_is_detected() {
    for known in [
        "mcp attacks::foreign_host_header_is_refused",
        "cli tangled::accounts::moved_handle_is_refused_until_the_next_login",
        "adversary runs::submodule::mcp_call_runs_no_planted_program",
        "browser hostile_page_runs_no_script_and_loads_nothing",
        "forge config::keys::tests::only_three_keys_are_allowed_in_repository_file",
        "forge-core::hidden hidden_parts_match_rendered_page",
        "forge-http::it redirects::write_is_not_redirected_to_other_origin",
        "forge-mcp http::tests::silent_connections_do_not_block_clients",
    ] {
        assert!(is_test(known), "{known}");
    }
    for wrong in [
        "attacks::foreign_host_header_is_refused",
        "mpc attacks::foreign_host_header_is_refused",
        "mcp attack::foreign_host_header_is_refused",
        "mcp attacks::foreign_host_headers_is_refused",
        "mcp attacks::foreign_host_header",
        // The name belongs to a helper function, not to a test.
        "mcp attacks::question",
        "adversary runs::submodules::mcp_call_runs_no_planted_program",
        "forge-core secret::test::secret_is_hidden_by_all_formatting",
        "forge-http::it redirects::write_is_not_redirected_to_other",
    ] {
        assert!(!is_test(wrong), "{wrong}");
    }
}
