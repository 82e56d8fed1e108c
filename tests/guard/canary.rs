//! Tests that tokens for tests occur only in test sources.

use std::fs;

use forge_testkit::{CANARY, workspace_root};

use crate::sources::files;

/// The only file that spells out the canary word.
const KEPT: &str = "crates/forge-testkit/src/canary.txt";

#[test]
fn snapshots_and_pages_contain_no_token() {
    let mut looked_at = 0;
    for name in files() {
        if name.extension().is_some_and(|e| e == "rs") || name.ends_with(KEPT) {
            continue;
        }
        let bytes = fs::read(workspace_root().join(&name)).expect("a file of the repository");
        looked_at += 1;
        assert!(
            !String::from_utf8_lossy(&bytes).contains(CANARY),
            "{} has a token of a test in it",
            name.display()
        );
    }
    assert!(looked_at > 50, "only {looked_at} files");
}

#[test]
fn canary_is_absent_from_production_code() {
    let inside = |name: &std::path::Path| {
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        parts.first().is_some_and(|p| p == "crates")
            && parts.get(1).is_some_and(|p| p != "forge-testkit")
            && parts.get(2).is_some_and(|p| p == "src")
            && parts.iter().all(|p| p != "tests")
    };
    for name in files().into_iter().filter(|name| inside(name)) {
        let text = fs::read_to_string(workspace_root().join(&name)).unwrap_or_default();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(!code.contains(CANARY), "{}", name.display());
    }
}

#[test]
fn test_tokens_contain_the_canary() {
    let makers = ["FixedToken::new(\"", "Secret::new(\""];
    let of_a_test = |name: &std::path::Path| name.iter().any(|part| part == "tests");
    for name in files().into_iter().filter(|name| of_a_test(name)) {
        let text = fs::read_to_string(workspace_root().join(&name)).unwrap_or_default();
        for maker in makers {
            for token in text.split(maker).skip(1) {
                let token = token.split('"').next().unwrap_or_default();
                assert!(
                    token.contains(CANARY),
                    "{}: {maker}{token}\"",
                    name.display()
                );
            }
        }
    }
}
