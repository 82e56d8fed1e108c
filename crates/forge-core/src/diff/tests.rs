use proptest::prelude::*;

use super::*;
use crate::model::FileStatus;

const DIFF: &[u8] = b"A text.
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,2 +1,3 @@ fn main() {
 one
+diff --git a/x b/x
+two
-gone
@@ -9 +10 @@
-a
+b
\\ No newline at end of file
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
diff --git a/pic.png b/pic.png
new file mode 100644
index 0..1
Binary files /dev/null and b/pic.png differ
diff --git \"a/t\\303\\251\" \"b/t\\303\\251\"
deleted file mode 100755
index 1..0
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/packed b/packed
index 1..2 100644
GIT binary patch
literal 1
IcmZPo000310RR91

diff --cc both
index 1,2..3
--- a/both
+++ b/both
@@@ -1,1 -1,1 +1,1 @@@
- a
 -b
++c
diff --git a/large b/large
Files a/large and b/large differ
";

#[test]
fn every_kind_of_change_is_parsed() {
    let files = files(DIFF);
    let rows: Vec<_> = files
        .iter()
        .map(|f| {
            let header = &f.header;
            let counts = (f.hunks.len(), f.additions, f.deletions);
            (header.path(), header.status, counts, header.binary)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("src/a.rs", FileStatus::Modified, (2, 3, 2), false),
            ("new name", FileStatus::Renamed, (0, 0, 0), false),
            ("pic.png", FileStatus::Added, (0, 0, 0), true),
            ("té", FileStatus::Deleted, (0, 0, 0), false),
            ("run", FileStatus::Modified, (0, 0, 0), false),
            ("packed", FileStatus::Modified, (0, 0, 0), true),
            ("both", FileStatus::Modified, (0, 0, 0), false),
            ("large", FileStatus::Modified, (0, 0, 0), false),
        ]
    );
    let header = |at: usize| &files[at].header;
    assert_eq!(header(1).previous_path(), Some("old name"));
    assert_eq!(header(1).similarity, Some(90));
    assert_eq!(
        (&header(2).old_path, header(2).new_mode),
        (&None, Some(0o100_644))
    );
    assert_eq!(
        (&header(3).new_path, header(3).old_mode),
        (&None, Some(0o100_755))
    );
    assert_eq!(
        (header(4).old_mode, header(4).new_mode),
        (Some(0o100_644), Some(0o100_755))
    );
    assert!(header(7).lines_left_out && !header(7).binary);
    assert!(files[6].head.ends_with(b"++c\n"));
    let hunk = files[0].hunks[0].header;
    assert_eq!((hunk.old_start, hunk.new_count), (1, 3));
    assert_eq!(hunk.section, b"fn main() {");
}

#[test]
fn diff_lines_carry_line_numbers() {
    let mut reader = LineReader::default();
    let lines: Vec<_> = DIFF
        .split_inclusive(|b| *b == b'\n')
        .skip(5)
        .take(9)
        .map(|line| reader.read(line))
        .collect();
    assert!(matches!(lines[0], DiffLine::Hunk(_)));
    assert_eq!(
        lines[1..5],
        [
            DiffLine::Context { old: 1, new: 1 },
            DiffLine::Added { new: 2 },
            DiffLine::Added { new: 3 },
            DiffLine::Removed { old: 2 },
        ]
    );
    assert_eq!(
        lines[6..],
        [
            DiffLine::Removed { old: 9 },
            DiffLine::Added { new: 10 },
            DiffLine::NoNewline,
        ]
    );
}

#[test]
fn incomplete_hunk_ends_at_next_file() {
    let diff = b"diff --git a/x b/x\n@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\n@@ -1 +1 @@\n+b\n";
    let rows: Vec<_> = files(diff)
        .iter()
        .map(|f| (f.header.path().to_owned(), f.additions, f.deletions))
        .collect();
    assert_eq!(rows, [("x".to_owned(), 0, 1), ("y".to_owned(), 1, 0)]);
}

#[test]
fn malformed_hunk_headers_are_not_hunks() {
    for line in [
        "@@ -1 +2,3",
        "-@@ -1 +2 @@",
        "@@ -+1 +2 @@",
        "@@ -1, +2 @@",
        "@@ -1 +99999999999999999999 @@",
        "@@@ -1 -1 +1 @@@",
    ] {
        let kind = LineReader::default().read(line.as_bytes());
        assert_eq!(kind, DiffLine::Other, "{line}");
    }
}

#[test]
fn paths_with_unusual_prefixes_are_parsed() {
    for (diff, path) in [
        ("diff --git x x\nold mode 100644\n", "x"),
        ("diff --git a/x b/y\nold mode 100644\n", "a/x b/y"),
        ("diff --git w/x i/x\n--- w/x\n+++ i/x y\t\n", "i/x y"),
        ("diff --git a/x b/x\r\n--- a/x\r\n+++ b/x\r\n", "x"),
        ("diff --git a/x b/x\n--- a/x\n+++ /dev/null\n", "x"),
    ] {
        assert_eq!(files(diff.as_bytes())[0].header.path(), path, "{diff}");
    }
}

#[test]
fn mail_separator_line_yields_commit_id() {
    let oid = "a".repeat(40);
    let line = format!("From {oid} Mon Sep 17 00:00:00 2001\n");
    assert_eq!(mail_commit(line.as_bytes()), Some(oid.as_str()));
    for other in [
        format!("From {oid} Tue Sep 18 00:00:00 2001"),
        line.replace("From ", "From a"),
        "From ada@example.com Mon Sep 17 00:00:00 2001".to_owned(),
    ] {
        assert_eq!(mail_commit(other.as_bytes()), None, "{other}");
    }
}

/// Generates pieces of diffs, so that random inputs reach every state of the parser.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        proptest::sample::select(DIFF.split_inclusive(|b| *b == b'\n').collect::<Vec<_>>())
            .prop_map(<[u8]>::to_vec),
        proptest::collection::vec(any::<u8>(), 0..30),
        "@@ -[0-9]{1,21}(,[0-9]{1,21})? \\+[0-9]{1,21} @@.{0,3}\n".prop_map(String::into_bytes),
        "(diff --git|rename to|\\+\\+\\+) \"?[ab]/[\\\\0-9\"\tx]{0,8}\"?\n"
            .prop_map(String::into_bytes),
    ];
    proptest::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_parsed_without_loss(diff in hostile()) {
        let files = files(&diff);
        let raw: Vec<u8> = files
            .iter()
            .flat_map(|f| std::iter::once(f.head).chain(f.hunks.iter().map(|h| h.raw)))
            .flatten()
            .copied()
            .collect();
        prop_assert!(diff.ends_with(&raw));
        for file in &files {
            let lines = file.hunks.iter().map(|h| h.raw.split(|b| *b == b'\n').count() as u64);
            prop_assert!(file.additions + file.deletions <= lines.sum());
        }
    }

    #[test]
    fn quoted_path_round_trips(path in "[a/\"\\\\\n\r\u{7}\u{9b}é0-7 ]{1,12}") {
        prop_assert_eq!(unquote_path(quote_path(&path).as_bytes()), path);
    }
}
