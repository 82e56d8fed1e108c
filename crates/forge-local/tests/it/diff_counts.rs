//! Compares the counts of the diff parser with those of git.

use std::{path::Path, process::Command};

use forge_core::diff;
use proptest::prelude::*;

use crate::repo::Repo;

/// Names that git quotes, that git ends with a tab, or that could be misread.
const NAMES: [&str; 6] = ["plain.rs", "a b", "tä\tb", "q\"\\q", "-- x", "dir/b"];

/// Lines that look like parts of a diff.
const LINES: [&str; 7] = [
    "same",
    "other",
    "-- ",
    "++ b/x",
    "@@ -1,2 +1,2 @@",
    "diff --git a/x b/x",
    "",
];

/// A file of a commit: its lines, whether the last line has a line end, and whether the file is
/// executable.
type Content = Option<(Vec<&'static str>, bool, bool)>;

fn content() -> impl Strategy<Value = Content> {
    let lines = proptest::collection::vec(proptest::sample::select(&LINES), 0..12);
    let binary = prop_oneof![9 => Just(false), 1 => Just(true)];
    let text = (lines, binary, any::<bool>(), any::<bool>());
    proptest::option::of(text.prop_map(|(mut lines, binary, end, executable)| {
        lines.extend(binary.then_some("\0"));
        (lines, end, executable)
    }))
}

fn commit(repo: &Repo, files: &[Content]) -> String {
    for (name, content) in NAMES.iter().zip(files) {
        match content {
            Some((lines, has_end, executable)) => {
                let end = if *has_end { "\n" } else { "" };
                repo.write(name, &(lines.join("\n") + end));
                set_executable(&repo.path.join(name), *executable);
            }
            None => {
                let _ = std::fs::remove_file(repo.path.join(name));
            }
        }
    }
    repo.git(&["add", "--all"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
    repo.oid("HEAD")
}

fn set_executable(path: &Path, executable: bool) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn diff_tree(repo: &Repo, form: &[&str], base: &str, head: &str) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(&repo.path)
        .args(forge_git::diff_args(form, base, head))
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

/// A path with the numbers of added and removed lines, which are `None` if git calls the file
/// binary.
type Row = (String, Option<u64>, Option<u64>);

fn numstat(out: &[u8]) -> Vec<Row> {
    let text = String::from_utf8_lossy(out);
    let mut fields = text.split_terminator('\0');
    let mut rows = Vec::new();
    while let Some(field) = fields.next() {
        let parts: Vec<&str> = field.splitn(3, '\t').collect();
        // A rename has two more fields with its paths.
        let path = match parts[2] {
            "" => fields.nth(1).unwrap(),
            path => path,
        };
        rows.push((
            path.to_owned(),
            parts[0].parse().ok(),
            parts[1].parse().ok(),
        ));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn diff_counts_agree_with_numstat(
        before in proptest::collection::vec(content(), 6),
        after in proptest::collection::vec(content(), 6),
    ) {
        let repo = Repo::new();
        let (base, head) = (commit(&repo, &before), commit(&repo, &after));
        let wanted = numstat(&diff_tree(&repo, &["--numstat", "-z"], &base, &head));
        for form in [&["-p"][..], &["-p", "-U0"], &["-p", "--binary"]] {
            let text = diff_tree(&repo, form, &base, &head);
            let rows: Vec<Row> = diff::files(&text)
                .iter()
                .map(|file| {
                    let count = |lines| (!file.header.binary).then_some(lines);
                    let path = file.header.path().to_owned();
                    (path, count(file.additions), count(file.deletions))
                })
                .collect();
            prop_assert_eq!(&rows, &wanted, "{:?}", form);
        }
    }
}
