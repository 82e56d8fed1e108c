//! Cuts a diff to a byte budget: keeps every file with its counts, and the most important hunks.

use forge_core::{
    Hint,
    diff::{self, FileDiff},
    model::{FileChange, FileStatus},
};
use serde::Serialize;

use crate::FileClass;

/// Default byte budget of a packed diff. Only the hunks count.
pub const DEFAULT_DIFF_BYTES: usize = 60_000;
/// Maximum number of lines shown per file.
pub const MAX_FILE_LINES: usize = 400;
/// Maximum number of changed lines of a derived file whose hunks are shown. A derived file is a
/// generated file, a copy of third-party code, or a lock file.
pub const MAX_DERIVED_LINES: u64 = 40;
/// Minimum number of shown lines of a cut hunk. If fewer lines fit the budget, the whole hunk is
/// omitted.
pub(crate) const MIN_CUT_LINES: usize = 5;

/// The diff of a pull request, cut to a byte budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PackedDiff {
    /// The merge base, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_sha: Option<String>,
    /// The head commit, if the forge sends it with the diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<String>,
    /// The number of context lines around changes; `None` if the forge stores finished diffs.
    pub context_lines: Option<u32>,
    /// The number of changed files.
    pub files_total: usize,
    /// Added lines of all files.
    pub additions: u64,
    /// Deleted lines of all files.
    pub deletions: u64,
    /// The byte budget, for which only the hunks count.
    pub max_bytes: usize,
    /// True if something was omitted; each file lists its omitted parts.
    pub truncated: bool,
    /// How to read the whole diff, to see the omitted parts. [`OmissionReason::recovery`] is for
    /// parts that even the whole diff lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Hint>,
    /// Every file: code first, then tests, documentation, and derived files.
    pub files: Vec<PackedFile>,
}

/// A file of a packed diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PackedFile {
    /// The path at the head; for a deleted file the path at the base.
    pub path: String,
    /// The path at the base, for a renamed or copied file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
    /// How the file changed.
    pub status: FileStatus,
    /// The class of the file.
    pub class: FileClass,
    /// Added lines; `None` for a binary file.
    pub additions: Option<u64>,
    /// Deleted lines; `None` for a binary file.
    pub deletions: Option<u64>,
    /// The number of hunks.
    pub hunks_total: usize,
    /// The shown hunks, in order.
    pub hunks: Vec<PackedHunk>,
    /// The omitted parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Omission>,
}

/// A hunk that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PackedHunk {
    /// The `@@` line and the body. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The number of lines cut from the end.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_cut: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// The parts of a file that a packed diff omits for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Omission {
    /// The reason why these parts are omitted.
    pub reason: OmissionReason,
    /// The number of whole hunks that are omitted.
    pub hunks: usize,
    /// The number of omitted lines, including those of cut hunks.
    pub lines: usize,
}

/// Reason of an omission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmissionReason {
    /// Other hunks use up the budget. [`pack`] has the order in which hunks are added.
    Budget,
    /// The file exceeds the maximum number of shown lines.
    FileLines,
    /// The file is derived, and more than [`MAX_DERIVED_LINES`] of its lines changed.
    Generated,
    /// The file is binary.
    Binary,
    /// The forge does not send the lines of a file of this size.
    TooLarge,
    /// The forge lists the file, but its diff lacks it.
    Unavailable,
}

impl Omission {
    /// Returns true if another call can show the lines. A binary file has no lines.
    fn can_be_read(&self) -> bool {
        self.reason != OmissionReason::Binary
    }
}

impl OmissionReason {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::Budget,
        Self::FileLines,
        Self::Generated,
        Self::Binary,
        Self::TooLarge,
        Self::Unavailable,
    ];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::FileLines => "file_lines",
            Self::Generated => "generated",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns the meaning, for the documentation.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Budget => "hunks of a higher rank use up the budget",
            Self::FileLines => "more than 400 lines of one file",
            Self::Generated => {
                "a generated, lock or vendored file of which more than 40 lines changed"
            }
            Self::Binary => "a binary file",
            Self::TooLarge => "the forge does not send the lines of a file of this size",
            Self::Unavailable => "the forge lists the file, but its diff lacks the file",
        }
    }

    /// Returns true if reading the whole diff shows the omitted part.
    #[must_use]
    pub const fn is_in_whole_diff(self) -> bool {
        matches!(self, Self::Budget | Self::FileLines | Self::Generated)
    }

    /// Returns how to read the omitted part if even the whole diff lacks it.
    #[must_use]
    pub fn recovery(self) -> Option<Hint> {
        let hint = Hint::new(
            "check out the pull request, then open the file or run `git diff BASE...HEAD -- PATH`",
        );
        (!self.is_in_whole_diff()).then_some(hint)
    }
}

/// Packs `diff` into `max_bytes` bytes of hunks. A file in `listed` that the diff lacks gets the
/// omission [`OmissionReason::Unavailable`].
///
/// Hunks are added while they fit, in this order: code, tests, documentation, derived files;
/// additions before pure deletions; then the order of git. A hunk that does not fit is cut to its
/// first lines.
#[must_use]
pub fn pack(diff: &[u8], listed: &[FileChange], max_bytes: usize) -> PackedDiff {
    let parsed = diff::files(diff);
    let mut files: Vec<PackedFile> = parsed.iter().map(packed_file).collect();
    let mut wanted: Vec<(FileClass, bool, usize, usize)> = Vec::new();
    for (n, (file, packed)) in parsed.iter().zip(&mut files).enumerate() {
        let changed = file.additions + file.deletions;
        if packed.class.is_derived() && changed > MAX_DERIVED_LINES {
            for hunk in &file.hunks {
                packed.omit(OmissionReason::Generated, 1, body_lines(hunk.raw));
            }
            continue;
        }
        let of_file = file.hunks.iter().enumerate();
        wanted.extend(of_file.map(|(at, hunk)| (packed.class, !adds(hunk.raw), n, at)));
    }
    wanted.sort_unstable();
    let mut room = max_bytes;
    // For each file: the number of shown lines, and the shown hunks with their positions.
    let mut shown: Vec<(usize, Vec<(usize, PackedHunk)>)> = vec![(0, Vec::new()); files.len()];
    for (_, _, n, at) in wanted {
        let (Some(file), Some(packed), Some((used, shown))) =
            (parsed.get(n), files.get_mut(n), shown.get_mut(n))
        else {
            continue;
        };
        let raw = file.hunks.get(at).map_or(&b""[..], |hunk| hunk.raw);
        let lines_left = MAX_FILE_LINES.saturating_sub(*used);
        let text = String::from_utf8_lossy(raw);
        let total = body_lines(raw);
        let kept = first_lines(&text, room, lines_left);
        let kept_lines = text_lines(kept);
        let reason = match kept_lines >= lines_left {
            true => OmissionReason::FileLines,
            false => OmissionReason::Budget,
        };
        if kept.len() == text.len() || kept_lines >= MIN_CUT_LINES {
            let lines_cut = total - kept_lines;
            if lines_cut > 0 {
                packed.omit(reason, 0, lines_cut);
            }
            room -= kept.len();
            *used += kept_lines;
            let text = kept.to_owned();
            shown.push((at, PackedHunk { text, lines_cut }));
        } else {
            packed.omit(reason, 1, total);
        }
    }
    for (packed, (_, mut hunks)) in files.iter_mut().zip(shown) {
        hunks.sort_by_key(|(at, _)| *at);
        packed.hunks = hunks.into_iter().map(|(_, hunk)| hunk).collect();
    }
    files.extend(missing(&files, listed));
    files.sort_by_key(|file| file.class);
    let sum = |of: fn(&PackedFile) -> Option<u64>| files.iter().filter_map(of).sum();
    PackedDiff {
        base_sha: None,
        head_sha: None,
        context_lines: None,
        files_total: files.len(),
        additions: sum(|file| file.additions),
        deletions: sum(|file| file.deletions),
        max_bytes,
        truncated: files
            .iter()
            .flat_map(|file| &file.omitted)
            .any(Omission::can_be_read),
        recovery: None,
        files,
    }
}

impl PackedFile {
    fn omit(&mut self, reason: OmissionReason, hunks: usize, lines: usize) {
        omit(&mut self.omitted, reason, hunks, lines);
    }
}

/// Adds `hunks` and `lines` to the entry of `omitted` that has this reason.
pub(crate) fn omit(
    omitted: &mut Vec<Omission>,
    reason: OmissionReason,
    hunks: usize,
    lines: usize,
) {
    match omitted.iter_mut().find(|o| o.reason == reason) {
        Some(known) => {
            known.hunks += hunks;
            known.lines += lines;
        }
        None => omitted.push(Omission {
            reason,
            hunks,
            lines,
        }),
    }
}

/// Describes a file without its hunks.
fn packed_file(file: &FileDiff<'_>) -> PackedFile {
    let header = &file.header;
    let path = header.path().to_owned();
    let mut packed = PackedFile {
        class: FileClass::of(&path),
        path,
        previous_path: header.previous_path().map(str::to_owned),
        status: header.status,
        additions: (!header.binary).then_some(file.additions),
        deletions: (!header.binary).then_some(file.deletions),
        hunks_total: file.hunks.len(),
        hunks: Vec::new(),
        omitted: Vec::new(),
    };
    if header.binary {
        packed.omit(OmissionReason::Binary, 0, 0);
    } else if header.lines_left_out {
        packed.omit(OmissionReason::TooLarge, 0, 0);
    }
    packed
}

fn missing(files: &[PackedFile], listed: &[FileChange]) -> Vec<PackedFile> {
    let known: std::collections::HashSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let missing = listed.iter().filter(|f| !known.contains(f.path.as_str()));
    let of = |file: &FileChange| {
        let mut packed = PackedFile {
            path: file.path.clone(),
            previous_path: file.previous_path.clone(),
            status: file.status,
            class: FileClass::of(&file.path),
            additions: file.additions,
            deletions: file.deletions,
            hunks_total: 0,
            hunks: Vec::new(),
            omitted: Vec::new(),
        };
        packed.omit(OmissionReason::Unavailable, 0, 0);
        packed
    };
    missing.map(of).collect()
}

/// Returns the length in bytes of the longest prefix of `diff` with at most `max` files and hunks.
pub(crate) fn length_of_parts(diff: &[u8], max: usize) -> usize {
    let (mut parts, mut length) = (0, 0);
    for line in diff.split_inclusive(|b| *b == b'\n') {
        parts += usize::from(line.starts_with(b"diff --") || line.starts_with(b"@@ -"));
        if parts > max {
            break;
        }
        length += line.len();
    }
    length
}

/// Returns the number of lines after the `@@` line.
fn body_lines(raw: &[u8]) -> usize {
    raw.split_inclusive(|b| *b == b'\n')
        .count()
        .saturating_sub(1)
}

fn text_lines(text: &str) -> usize {
    text.split_inclusive('\n').count().saturating_sub(1)
}

fn adds(raw: &[u8]) -> bool {
    let mut lines = raw.split(|b| *b == b'\n').skip(1);
    lines.any(|line| line.first() == Some(&b'+'))
}

/// Returns the first whole lines that fit the limits. The `@@` line does not count for `max_lines`.
fn first_lines(text: &str, max_bytes: usize, max_lines: usize) -> &str {
    let mut end = 0;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        if n > max_lines || end + line.len() > max_bytes {
            break;
        }
        end += line.len();
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::file;

    /// Builds a diff. Each hunk is given as the numbers of its added and deleted lines.
    fn diff_of(files: &[(&str, &[(usize, usize)])]) -> String {
        let mut diff = String::new();
        for (path, hunks) in files {
            diff += &format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
            for (n, (added, deleted)) in hunks.iter().enumerate() {
                let at = n * 1000 + 1;
                diff += &format!("@@ -{at},{deleted} +{at},{added} @@\n");
                diff += &"-old line\n".repeat(*deleted);
                diff += &"+new line\n".repeat(*added);
            }
        }
        diff
    }

    fn shown(packed: &PackedDiff) -> usize {
        let hunks = packed.files.iter().flat_map(|f| &f.hunks);
        hunks.map(|hunk| hunk.text.len()).sum()
    }

    fn reasons(packed: &PackedDiff, path: &str) -> Vec<(&'static str, usize, usize)> {
        let file = packed.files.iter().find(|f| f.path == path).unwrap();
        let of = |o: &Omission| (o.reason.name(), o.hunks, o.lines);
        file.omitted.iter().map(of).collect()
    }

    #[test]
    fn r_002_10_small_budget_shows_code_first() {
        let diff = diff_of(&[
            ("Cargo.lock", &[(30, 9)]),
            ("README.md", &[(30, 0)]),
            ("src/a.rs", &[(40, 0), (20, 0)]),
            ("tests/a.rs", &[(90, 0)]),
        ]);
        let packed = pack(diff.as_bytes(), &[], 1_500);
        let order: Vec<&str> = packed.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(order, ["src/a.rs", "tests/a.rs", "README.md", "Cargo.lock"]);
        assert_eq!(packed.files[0].hunks.len(), 2);
        assert!(packed.files[0].omitted.is_empty());
        assert!(packed.files[1].hunks[0].lines_cut > 0);
        assert_eq!(reasons(&packed, "Cargo.lock"), [("budget", 1, 39)]);
        assert!(packed.truncated);
        assert_eq!((packed.additions, packed.deletions), (210, 9));
        assert!(shown(&packed) <= 1_500);
    }

    #[test]
    fn diff_is_cut_before_a_file_or_hunk() {
        let diff = diff_of(&[("a", &[(1, 1), (2, 0)]), ("b", &[(1, 0)])]);
        let length = |max: usize| length_of_parts(diff.as_bytes(), max);
        assert_eq!(length(5), diff.len());
        assert!(diff[length(4)..].starts_with("@@ -1,0 +1,1 @@\n"), "{diff}");
        assert!(diff[length(3)..].starts_with("diff --git a/b"), "{diff}");
        assert!(diff[length(2)..].starts_with("@@ -1001,0"), "{diff}");
        assert_eq!(length(0), 0);
    }

    /// An empty hunk uses a part of the budget, but shows no line of the file.
    #[test]
    fn many_empty_hunks_stay_within_byte_limit() {
        let hunks = vec![(0, 0); 50_000];
        let diff = diff_of(&[("a.rs", hunks.as_slice())]);
        let packed = pack(diff.as_bytes(), &[], DEFAULT_DIFF_BYTES);
        let [file] = packed.files.as_slice() else {
            panic!("{} files", packed.files.len());
        };
        assert!(file.hunks.len() > 1_000 && file.hunks_total == 50_000);
        assert_eq!(file.omitted[0].hunks, 50_000 - file.hunks.len());
        assert!(shown(&packed) <= DEFAULT_DIFF_BYTES);
    }

    #[test]
    fn packing_prefers_additions_to_deletions() {
        let diff = diff_of(&[("a.rs", &[(0, 30), (30, 0)]), ("b.rs", &[(9, 1)])]);
        let packed = pack(diff.as_bytes(), &[], 460);
        assert_eq!(packed.files[0].hunks.len(), 1);
        assert!(packed.files[0].hunks[0].text.contains("+new line"));
        assert_eq!(packed.files[1].hunks.len(), 1);
        assert_eq!(reasons(&packed, "a.rs"), [("budget", 1, 30)]);
    }

    #[test]
    fn packed_files_have_omission_reasons() {
        let mut diff = diff_of(&[
            ("web/yarn.lock", &[(30, 11)]),
            ("big.rs", &[(900, 0), (3, 0)]),
        ]);
        diff += "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
        diff += "diff --git a/t b/t\nFiles a/t and b/t differ\n";
        let listed = [file("big.rs", 903, 0), file("gone.rs", 7, 1)];
        let packed = pack(diff.as_bytes(), &listed, 60_000);
        assert_eq!(reasons(&packed, "web/yarn.lock"), [("generated", 1, 41)]);
        assert_eq!(reasons(&packed, "big.rs"), [("file_lines", 1, 503)]);
        assert_eq!(reasons(&packed, "p.png"), [("binary", 0, 0)]);
        assert_eq!(reasons(&packed, "t"), [("too_large", 0, 0)]);
        assert_eq!(reasons(&packed, "gone.rs"), [("unavailable", 0, 0)]);
        assert_eq!(packed.files_total, 5);
        assert_eq!(packed.additions, 30 + 903 + 7);
    }

    #[test]
    fn derived_file_of_few_lines_is_shown() {
        for (lines, is_shown) in [(40, true), (41, false)] {
            let diff = diff_of(&[("Cargo.lock", &[(lines, 0)])]);
            let packed = pack(diff.as_bytes(), &[], 60_000);
            assert_eq!(!packed.files[0].hunks.is_empty(), is_shown, "{lines}");
            assert_eq!(packed.truncated, !is_shown, "{lines}");
        }
    }

    #[test]
    fn whole_diff_is_not_truncated() {
        let diff = diff_of(&[("a.rs", &[(3, 1), (0, 2)])]);
        let packed = pack(diff.as_bytes(), &[], 60_000);
        assert!(!packed.truncated);
        let hunks: String = packed.files[0].hunks.iter().map(|h| &*h.text).collect();
        assert!(diff.ends_with(&hunks));
        let none = pack(b"", &[], 60_000);
        assert_eq!((none.files_total, none.truncated), (0, false));
    }

    fn any_files() -> impl Strategy<Value = Vec<(String, Vec<(usize, usize)>)>> {
        let path = prop::sample::select(vec![
            "src/a",
            "tests/b",
            "docs/c.md",
            "go.sum",
            "vendor/d",
            "e.min.js",
            "f",
        ]);
        let hunks = prop::collection::vec((0_usize..600, 0_usize..60), 0..5);
        prop::collection::vec((path, hunks), 0..9).prop_map(|files| {
            let numbered = files.into_iter().enumerate();
            numbered
                .map(|(n, (path, mut hunks))| {
                    hunks.retain(|(added, deleted)| added + deleted > 0);
                    (format!("{n}/{path}"), hunks)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn packing_keeps_the_budget_and_reports_every_file(
            files in any_files(),
            max in 0_usize..20_000,
        ) {
            let named: Vec<(&str, &[(usize, usize)])> =
                files.iter().map(|(path, hunks)| (path.as_str(), hunks.as_slice())).collect();
            let diff = diff_of(&named);
            let packed = pack(diff.as_bytes(), &[], max);
            prop_assert!(shown(&packed) <= max);
            prop_assert_eq!(packed.files.len(), files.len());
            for (path, hunks) in &files {
                let file = packed.files.iter().find(|f| f.path == *path).unwrap();
                let left_out: usize = file.omitted.iter().map(|o| o.hunks).sum();
                prop_assert_eq!(file.hunks.len() + left_out, hunks.len());
                let lines: usize = hunks.iter().map(|(a, d)| a + d).sum();
                let kept: usize = file.hunks.iter().map(|h| text_lines(&h.text)).sum();
                let lost: usize = file.omitted.iter().map(|o| o.lines).sum();
                prop_assert_eq!(kept + lost, lines);
                prop_assert!(kept <= MAX_FILE_LINES);
            }
            prop_assert_eq!(&packed, &pack(diff.as_bytes(), &[], max));
        }

        #[test]
        fn packing_any_bytes_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            max in 0_usize..400,
        ) {
            let mut diff = b"diff --git a/x b/x\n@@ -1 +1 @@\n".to_vec();
            diff.extend(bytes);
            prop_assert!(shown(&pack(&diff, &[], max)) <= max);
        }
    }
}
