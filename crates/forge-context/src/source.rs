//! Shows the text of the changed files at the head commit: the lines around their hunks, within a
//! byte budget.

use forge_core::{
    diff,
    model::{FileChange, FileContent, FileStatus},
};
use serde::Serialize;

use crate::{
    FileClass, MAX_FILE_LINES, Omission, OmissionReason,
    pack::{MIN_CUT_LINES, omit},
};

/// Number of lines shown on each side of a hunk.
pub const SOURCE_LINES: usize = 20;
/// Maximum number of lines of a file that is shown whole.
pub const SMALL_FILE_LINES: usize = 150;
/// Maximum number of files that are read.
pub const MAX_SOURCE_FILES: usize = 40;

/// The changed files at the head commit, cut to a byte budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PackedSource {
    /// The head commit.
    pub head_sha: String,
    /// The number of changed files.
    pub files_total: usize,
    /// The byte budget of the text. It is as large as the byte budget of the diff, but separate
    /// from it.
    pub max_bytes: usize,
    /// True if something was omitted; each file lists its omitted parts.
    pub truncated: bool,
    /// Every changed file, in the order of the diff; deleted files have no text.
    pub files: Vec<SourceFile>,
}

/// A changed file at the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceFile {
    /// The path.
    pub path: String,
    /// How the file changed.
    pub status: FileStatus,
    /// The class of the file.
    pub class: FileClass,
    /// The number of lines; `None` if the file was not read.
    pub lines_total: Option<usize>,
    /// The text around the hunks, in order.
    pub excerpts: Vec<SourceExcerpt>,
    /// The omitted parts. Here, [`Omission::hunks`] is the number of omitted excerpts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Omission>,
    /// The first and last line of each hunk at the head, counted from 1.
    #[serde(skip)]
    hunks: Vec<(usize, usize)>,
}

/// Consecutive lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceExcerpt {
    /// The number of the first line, counted from 1.
    pub line: usize,
    /// The lines. Bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// The changed files, and which of them to read.
#[derive(Clone, Debug)]
pub(crate) struct SourcePlan {
    files: Vec<SourceFile>,
}

impl SourcePlan {
    /// Creates a plan from a diff and the forge's list of files.
    pub fn new(diff: &[u8], listed: &[FileChange]) -> Self {
        let line = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut files = Vec::new();
        for file in diff::files(diff) {
            let hunks = file.hunks.iter().map(|hunk| {
                let (start, count) = (line(hunk.header.new_start), line(hunk.header.new_count));
                (
                    start,
                    start.saturating_add(count).saturating_sub(1).max(start),
                )
            });
            let mut source = SourceFile::new(file.header.path(), file.header.status);
            source.hunks = hunks.collect();
            if file.header.binary {
                omit(&mut source.omitted, OmissionReason::Binary, 0, 0);
            }
            files.push(source);
        }
        let known: std::collections::HashSet<String> =
            files.iter().map(|f: &SourceFile| f.path.clone()).collect();
        let others = listed.iter().filter(|f| !known.contains(&f.path));
        files.extend(others.map(|f| SourceFile::new(&f.path, f.status)));
        files.sort_by_key(|file| file.class);
        let mut readable = 0;
        for file in files.iter_mut().filter(|f| f.status != FileStatus::Deleted) {
            if file.class.is_derived() {
                omit(&mut file.omitted, OmissionReason::Generated, 0, 0);
            } else if file.omitted.is_empty() {
                readable += 1;
                if readable > MAX_SOURCE_FILES {
                    omit(&mut file.omitted, OmissionReason::Budget, 0, 0);
                }
            }
        }
        Self { files }
    }

    /// Returns the paths to read, in order.
    pub fn paths(&self) -> Vec<String> {
        let readable = self.files.iter().filter(|f| f.is_readable());
        readable.map(|f| f.path.clone()).collect()
    }

    /// Packs `contents` into `max_bytes` bytes of text. They are the contents of [`Self::paths`],
    /// in the same order.
    pub fn pack(
        mut self,
        head_sha: String,
        contents: Vec<FileContent>,
        max_bytes: usize,
    ) -> PackedSource {
        let mut room = max_bytes;
        let mut contents = contents.into_iter();
        for file in self.files.iter_mut().filter(|f| f.is_readable()) {
            match contents.next().unwrap_or(FileContent::Missing) {
                FileContent::Text(text) => file.fill(&text, &mut room),
                FileContent::Binary => omit(&mut file.omitted, OmissionReason::Binary, 0, 0),
                FileContent::TooLarge => omit(&mut file.omitted, OmissionReason::TooLarge, 0, 0),
                FileContent::Missing => {
                    omit(&mut file.omitted, OmissionReason::Unavailable, 0, 0);
                }
            }
        }
        PackedSource {
            head_sha,
            files_total: self.files.len(),
            max_bytes,
            truncated: self.files.iter().any(|file| !file.omitted.is_empty()),
            files: self.files,
        }
    }
}

impl SourceFile {
    fn new(path: &str, status: FileStatus) -> Self {
        Self {
            path: path.to_owned(),
            status,
            class: FileClass::of(path),
            lines_total: None,
            excerpts: Vec::new(),
            omitted: Vec::new(),
            hunks: Vec::new(),
        }
    }

    fn is_readable(&self) -> bool {
        self.status != FileStatus::Deleted && self.omitted.is_empty()
    }

    /// Returns the ranges of lines (from 1) to show for a file with `total` lines.
    fn wanted(&self, total: usize) -> Vec<(usize, usize)> {
        if total == 0 {
            return Vec::new();
        }
        if total <= SMALL_FILE_LINES {
            return vec![(1, total)];
        }
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for (first, last) in &self.hunks {
            let first = first.saturating_sub(SOURCE_LINES).max(1);
            let last = last.saturating_add(SOURCE_LINES).min(total);
            match wanted.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ if first <= last => wanted.push((first, last)),
                _ => {}
            }
        }
        wanted
    }

    fn fill(&mut self, text: &str, room: &mut usize) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        self.lines_total = Some(lines.len());
        let wanted = self.wanted(lines.len());
        if wanted.is_empty() && !lines.is_empty() {
            // Without hunks there is no excerpt to show.
            omit(
                &mut self.omitted,
                OmissionReason::Unavailable,
                0,
                lines.len(),
            );
        }
        let mut lines_left = MAX_FILE_LINES;
        for (first, last) in wanted {
            let excerpt = lines.get(first - 1..last).unwrap_or_default();
            let mut text = String::new();
            let mut kept = 0;
            for line in excerpt.iter().take(lines_left) {
                if text.len() + line.len() > *room {
                    break;
                }
                text.push_str(line);
                kept += 1;
            }
            let reason = match kept >= lines_left {
                true => OmissionReason::FileLines,
                false => OmissionReason::Budget,
            };
            if kept < excerpt.len() && kept < MIN_CUT_LINES {
                omit(&mut self.omitted, reason, 1, excerpt.len());
                continue;
            }
            if kept < excerpt.len() {
                omit(&mut self.omitted, reason, 0, excerpt.len() - kept);
            }
            *room -= text.len();
            lines_left -= kept;
            self.excerpts.push(SourceExcerpt { line: first, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::file;

    fn diff_of(files: &[(String, Vec<usize>)]) -> String {
        let mut diff = String::new();
        for (path, hunks) in files {
            diff += &format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
            for at in hunks {
                diff += &format!("@@ -{at} +{at} @@\n-old\n+new\n");
            }
        }
        diff
    }

    fn text_of(lines: usize) -> FileContent {
        FileContent::Text((1..=lines).map(|n| format!("line {n}\n")).collect())
    }

    fn reasons(file: &SourceFile) -> Vec<(&'static str, usize, usize)> {
        let of = |o: &Omission| (o.reason.name(), o.hunks, o.lines);
        file.omitted.iter().map(of).collect()
    }

    #[test]
    fn source_shows_hunk_surroundings_and_small_files_whole() {
        let diff = diff_of(&[
            ("src/b.rs".into(), vec![30, 60, 400]),
            ("src/small.rs".into(), vec![2]),
        ]);
        let plan = SourcePlan::new(diff.as_bytes(), &[]);
        assert_eq!(plan.paths(), ["src/b.rs", "src/small.rs"]);
        let packed = plan.pack("h".into(), vec![text_of(500), text_of(9)], 60_000);
        let of = |e: &SourceExcerpt| (e.line, e.text.lines().count());
        let large: Vec<_> = packed.files[0].excerpts.iter().map(of).collect();
        assert_eq!(large, [(10, 71), (380, 41)]);
        let small: Vec<_> = packed.files[1].excerpts.iter().map(of).collect();
        assert_eq!(small, [(1, 9)]);
        assert!(packed.files[0].excerpts[1].text.starts_with("line 380\n"));
        assert_eq!(
            (packed.truncated, packed.files[0].lines_total),
            (false, Some(500))
        );
    }

    #[test]
    fn source_files_have_omission_reasons() {
        let mut diff = diff_of(&[
            ("Cargo.lock".into(), vec![1]),
            ("src/a.rs".into(), vec![1]),
            ("src/huge.rs".into(), vec![1]),
            ("tests/t.rs".into(), vec![1]),
        ]);
        diff += "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
        diff += "diff --git a/gone.rs b/gone.rs\ndeleted file mode 100644\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let listed = [file("src/listed.rs", 1, 0)];
        let plan = SourcePlan::new(diff.as_bytes(), &listed);
        let read = ["src/a.rs", "src/huge.rs", "src/listed.rs", "tests/t.rs"];
        assert_eq!(plan.paths(), read);
        let contents = vec![
            text_of(20),
            FileContent::TooLarge,
            FileContent::Missing,
            text_of(20),
        ];
        let packed = plan.pack("h".into(), contents, 200);
        let said = |path: &str| reasons(packed.files.iter().find(|f| f.path == path).unwrap());
        assert_eq!(said("src/a.rs"), []);
        assert_eq!(said("src/huge.rs"), [("too_large", 0, 0)]);
        assert_eq!(said("src/listed.rs"), [("unavailable", 0, 0)]);
        assert_eq!(said("tests/t.rs"), [("budget", 0, 13)]);
        assert_eq!(said("Cargo.lock"), [("generated", 0, 0)]);
        assert_eq!(said("p.png"), [("binary", 0, 0)]);
        assert_eq!(said("gone.rs"), []);
        assert!(packed.truncated);
    }

    #[test]
    fn short_excerpt_is_omitted_whole() {
        // Each line has seven bytes.
        for (room, shown, omitted) in [
            (4 * 7, 0, [("budget", 1, 9)]),
            (5 * 7, 5, [("budget", 0, 4)]),
            (8 * 7, 8, [("budget", 0, 1)]),
        ] {
            let diff = diff_of(&[("a.rs".into(), vec![1])]);
            let plan = SourcePlan::new(diff.as_bytes(), &[]);
            let packed = plan.pack("h".into(), vec![text_of(9)], room);
            let file = &packed.files[0];
            let lines: usize = file.excerpts.iter().map(|e| e.text.lines().count()).sum();
            assert_eq!((lines, reasons(file)), (shown, omitted.to_vec()), "{room}");
        }
    }

    #[test]
    fn excerpts_of_all_files_share_one_budget() {
        let files = ["a.rs", "b.rs", "c.rs"].map(|path| (path.to_owned(), vec![1]));
        let plan = SourcePlan::new(diff_of(&files).as_bytes(), &[]);
        // Nine lines of seven bytes each, and room for two files.
        let contents = vec![text_of(9), text_of(9), text_of(9)];
        let packed = plan.pack("h".into(), contents, 2 * 9 * 7);
        let shown: Vec<usize> = packed.files.iter().map(|f| f.excerpts.len()).collect();
        assert_eq!(shown, [1, 1, 0]);
        assert_eq!(reasons(&packed.files[2]), [("budget", 1, 9)]);
    }

    #[test]
    fn source_reads_a_bounded_number_of_files() {
        let files: Vec<_> = (0..60).map(|n| (format!("src/{n}.rs"), vec![1])).collect();
        let plan = SourcePlan::new(diff_of(&files).as_bytes(), &[]);
        assert_eq!(plan.paths().len(), MAX_SOURCE_FILES);
        let packed = plan.pack("h".into(), vec![text_of(2); MAX_SOURCE_FILES], 60_000);
        let left = packed.files.iter().filter(|f| !f.omitted.is_empty());
        assert_eq!(left.count(), 20);
    }

    fn any_files() -> impl Strategy<Value = Vec<(String, Vec<usize>, usize, u8)>> {
        let path =
            prop::sample::select(vec!["src/a", "tests/b", "docs/c.md", "go.sum", "e.min.js"]);
        let hunks = prop::collection::btree_set(1_usize..900, 0..5);
        let file = (path, hunks, 0_usize..900, 0_u8..6);
        prop::collection::vec(file, 0..50).prop_map(|files| {
            let numbered = files.into_iter().enumerate();
            numbered
                .map(|(n, (path, hunks, lines, kind))| {
                    (
                        format!("{n}/{path}"),
                        hunks.into_iter().collect(),
                        lines,
                        kind,
                    )
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn source_keeps_the_budget_and_reports_every_file(
            files in any_files(),
            max in 0_usize..20_000,
        ) {
            let named: Vec<_> = files.iter().map(|(p, h, ..)| (p.clone(), h.clone())).collect();
            let plan = SourcePlan::new(diff_of(&named).as_bytes(), &[]);
            let content = |path: &String| {
                let (_, _, lines, kind) = files.iter().find(|(p, ..)| p == path).unwrap();
                match kind {
                    0 => FileContent::Binary,
                    1 => FileContent::TooLarge,
                    2 => FileContent::Missing,
                    _ => text_of(*lines),
                }
            };
            let contents: Vec<_> = plan.paths().iter().map(content).collect();
            let packed = plan.clone().pack("h".into(), contents.clone(), max);
            let shown: usize =
                packed.files.iter().flat_map(|f| &f.excerpts).map(|e| e.text.len()).sum();
            prop_assert!(shown <= max);
            prop_assert_eq!(packed.files.len(), files.len());
            for (path, _, lines, _) in &files {
                let file = packed.files.iter().find(|f| f.path == *path).unwrap();
                let kept: usize = file.excerpts.iter().map(|e| e.text.lines().count()).sum();
                let lost: usize = file.omitted.iter().map(|o| o.lines).sum();
                prop_assert!(kept <= MAX_FILE_LINES);
                // Every file without text has a reason, except an empty file.
                prop_assert!(kept > 0 || !file.omitted.is_empty() || file.lines_total == Some(0));
                if file.lines_total.is_some() {
                    let wanted = file.wanted(*lines);
                    let wanted: usize = wanted.iter().map(|(first, last)| last + 1 - first).sum();
                    let all = if wanted == 0 { *lines } else { wanted };
                    prop_assert_eq!(kept + lost, all);
                }
            }
            prop_assert_eq!(&packed, &plan.pack("h".into(), contents, max));
        }

        #[test]
        fn source_of_any_bytes_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            (start, count) in (any::<u64>(), any::<u64>()),
            lines in 0_usize..9,
        ) {
            let mut diff = format!("diff --git a/x b/x\n@@ -1 +{start},{count} @@\n").into_bytes();
            diff.extend(bytes);
            let plan = SourcePlan::new(&diff, &[]);
            let contents = plan.paths().iter().map(|_| text_of(lines)).collect();
            plan.pack("h".into(), contents, 400);
        }
    }
}
