use std::collections::BTreeSet;

use crate::metadata::Metadata;

/// Our crates, lowest layer first. A crate may depend only on lower layers, so that no backend
/// depends on another.
const LAYERS: &[&[&str]] = &[
    &["forge-core"],
    &["forge-git", "forge-http"],
    &["forge-local", "forge-github", "forge-tangled"],
    &["forge-context", "forge-workflow"],
    &["forge"],
    &["forge-mcp"],
    &["forge-cli"],
];

/// Crates outside the layers, each with those of our crates that it may use.
const ASIDE: &[(&str, &[&str])] = &[
    ("forge-testkit", &["forge-core", "forge"]),
    ("forge-double-wire", &["forge-testkit"]),
    (
        "forge-github-double",
        &["forge-double-wire", "forge-testkit"],
    ),
    ("forge-jira-double", &[]),
    (
        "forge-tangled-world",
        &["forge-double-wire", "forge-testkit"],
    ),
    ("xtask", &[]),
];

/// Crates that the tests of every crate may use.
const TEST_SUPPORT: &[&str] = &[
    "forge-testkit",
    "forge-github-double",
    "forge-tangled-world",
];

/// The package that may use all of our crates.
const TESTS: &str = "forge-tests";

/// Every dependency that `forge-core` may have.
const CORE: &[&str] = &[
    "async-trait",
    "chrono",
    "futures",
    "percent-encoding",
    // Only a Markdown parser can tell references from text in code blocks.
    "pulldown-cmark",
    "serde",
    "serde_json",
    // Computes the edit distance of misspelt names.
    "strsim",
    "thiserror",
    "tokio",
    "tracing",
];

const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    // Mozilla's list of certificate authorities has this licence. The list is data, not code.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// Packages that have a licence file instead of a licence name, each with the name of that licence.
const BY_TEXT: &[(&str, &str)] = &[("jsonpath-rust", "MIT")];

const FORBIDDEN: &[&str] = &[
    "openssl-sys",
    "openssl",
    "native-tls",
    "aws-lc-sys",
    "aws-lc-rs",
];

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

fn is_ours(name: &str) -> bool {
    layer(name).is_some() || name == TESTS || ASIDE.iter().any(|(aside, _)| *aside == name)
}

#[test]
fn dependencies_point_downwards() {
    let metadata = Metadata::read();
    for package in metadata.members() {
        for dependency in package
            .dependencies(None)
            .into_iter()
            .filter(|d| is_ours(d))
        {
            let name = package.name.as_str();
            let fine = if name == TESTS {
                true
            } else if let Some((_, allowed)) = ASIDE.iter().find(|(aside, _)| *aside == name) {
                allowed.contains(&dependency)
            } else {
                layer(name) > layer(dependency) && layer(dependency).is_some()
            };
            assert!(fine, "{name} may not depend on {dependency}");
        }
    }
}

#[test]
fn every_crate_is_in_a_layer() {
    for package in Metadata::read().members() {
        assert!(
            is_ours(&package.name),
            "{} is in no layer of this test",
            package.name
        );
    }
}

#[test]
fn crate_tests_use_lower_layers_and_testkit() {
    let metadata = Metadata::read();
    for package in metadata.members().filter(|p| layer(&p.name).is_some()) {
        for dependency in package
            .dependencies(Some("dev"))
            .into_iter()
            .filter(|d| is_ours(d))
        {
            let below = layer(dependency).is_some() && layer(&package.name) > layer(dependency);
            let fine = TEST_SUPPORT.contains(&dependency) || below;
            assert!(
                fine,
                "the tests of {} may not use {dependency}",
                package.name
            );
        }
    }
}

#[test]
fn core_dependencies_are_on_the_list() {
    let metadata = Metadata::read();
    let core = metadata.member("forge-core");
    let allowed: BTreeSet<_> = CORE.iter().copied().collect();
    let surplus: Vec<_> = core
        .dependencies(None)
        .difference(&allowed)
        .copied()
        .collect();
    assert!(
        surplus.is_empty(),
        "forge-core may not depend on {surplus:?}"
    );
    let (features, defaults) = core.features("tokio");
    assert!(!defaults, "tokio's default features");
    assert!(
        features.is_subset(&BTreeSet::from(["sync", "time"])),
        "{features:?}"
    );
}

#[test]
fn licences_are_on_the_list() {
    for package in Metadata::read().all() {
        let read = BY_TEXT.iter().find(|(name, _)| *name == package.name);
        let licence = match (package.license.as_deref(), read) {
            (Some(named), _) => named,
            (None, Some((_, licence))) => licence,
            (None, None) => "",
        };
        assert!(acceptable(licence), "{}: {licence:?}", package.name);
    }
}

#[test]
fn dependencies_have_no_c_tls_library() {
    for package in Metadata::read().all() {
        assert!(
            !FORBIDDEN.contains(&package.name.as_str()),
            "{} is in the tree",
            package.name
        );
    }
}

/// Returns true if we accept an SPDX expression, or cargo's old form of one with slashes.
fn acceptable(expression: &str) -> bool {
    let expression = expression.replace(['(', ')'], "").replace('/', " OR ");
    !expression.trim().is_empty()
        && expression.split(" AND ").all(|part| {
            part.split(" OR ")
                .any(|licence| LICENCES.contains(&licence.trim()))
        })
}

#[test]
fn licence_expressions_are_evaluated() {
    assert!(acceptable("MIT"));
    assert!(acceptable("GPL-3.0 OR MIT"));
    assert!(acceptable("MIT/Apache-2.0"));
    assert!(acceptable("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!acceptable("GPL-3.0"));
    assert!(!acceptable("MIT AND GPL-3.0"));
    assert!(!acceptable(""));
}
