//! Tests that targets with `test = false` contain no tests, because cargo would not run them.

use std::collections::BTreeSet;

use crate::sources::{files, reach, read};

/// Returns the targets with `test = false` in a manifest. Targets with a custom harness are left
/// out, because they have no test functions.
fn untested(manifest: &str) -> Vec<&str> {
    let targets = manifest.split("\n[");
    targets
        .filter(|target| {
            has_setting(target, "test = false") && !has_setting(target, "harness = false")
        })
        .collect()
}

fn has_setting(target: &str, setting: &str) -> bool {
    target.lines().any(|line| line == setting)
}

/// Returns the first source file of a target, relative to its package.
fn source(target: &str) -> &str {
    let path = target
        .lines()
        .find_map(|line| line.strip_prefix("path = \""));
    path.and_then(|path| path.strip_suffix('"'))
        .unwrap_or("src/lib.rs")
}

fn has_test(code: &str) -> bool {
    ["#[test]", "#[tokio::test", "proptest! {"]
        .iter()
        .any(|mark| code.contains(mark))
}

#[test]
fn targets_excluded_from_testing_have_no_tests() {
    let all: BTreeSet<_> = files().into_iter().collect();
    let mut count = 0;
    for manifest in all.iter().filter(|name| name.ends_with("Cargo.toml")) {
        let package = manifest.parent().expect("a directory");
        let text = read(manifest).unwrap_or_default();
        for target in untested(&text) {
            count += 1;
            let root = package.join(source(target));
            assert!(all.contains(&root), "no {}", root.display());
            // `cargo build --all-targets` also builds benches as tests.
            assert!(
                has_setting(target, "bench = false"),
                "{} is built as a bench",
                root.display()
            );
            let mut reached = BTreeSet::new();
            reach(&root, true, &all, &mut reached);
            for name in reached {
                let code = read(&name).unwrap_or_default();
                assert!(
                    !has_test(&code),
                    "{} has tests that nothing runs",
                    name.display()
                );
            }
        }
    }
    assert!(count >= 5, "only {count} targets");
}
