//! Tests that the table of exchanges in `docs/explanation/tangled-world.md` lists exactly the tests
//! of this suite.

use std::{collections::BTreeSet, fs};

use forge_testkit::workspace_root;

/// The source files with tests that are exchanges.
const FILES: [&str; 4] = [
    "made_by_forge",
    "made_by_tang",
    "merged_by_tang",
    "real_pds",
];

#[test]
fn table_rows_and_tests_match() {
    let page =
        fs::read_to_string(workspace_root().join("docs/explanation/tangled-world.md")).unwrap();
    let is_row = |line: &&str| {
        let number = line.strip_prefix("| ");
        number.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
    };
    let rows: Vec<&str> = page.lines().filter(is_row).collect();
    assert!(rows.len() >= 10, "{} rows", rows.len());
    let mut named = BTreeSet::new();
    for (before, row) in rows.iter().enumerate() {
        assert!(row.starts_with(&format!("| {} |", before + 1)), "{row}");
        let test = row.rsplit('|').nth(1).unwrap_or_default();
        let is_new = named.insert(test.trim().trim_matches('`').to_owned());
        assert!(is_new, "{row}");
    }
    let mut there = BTreeSet::new();
    for file in FILES {
        let path = workspace_root().join(format!("tests/tang/{file}.rs"));
        let source = fs::read_to_string(path).unwrap();
        for test in source.split("#[test]\nfn ").skip(1) {
            let name = test.split('(').next().unwrap_or_default();
            there.insert(format!("{file}::{name}"));
        }
    }
    assert_eq!(named, there);
}
