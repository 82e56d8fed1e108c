//! Compares two versions of a patch series.

use std::collections::BTreeMap;

use crate::{Warning, model::ChangedCommit, text::one_line};

/// The differences between an older and a newer diff, such as the diffs of two versions of a pull
/// request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffDelta {
    /// The files whose changes differ, with all changes that the newer diff makes to them.
    pub diff: Vec<u8>,
    /// Names of the files that only the older diff changes.
    pub gone: Vec<String>,
    /// Names of the files left out of `diff` because their changed lines are equal in both diffs.
    /// Their base content differs, so the same lines may be at another position in the file.
    pub unplaced: Vec<String>,
}

impl DiffDelta {
    /// Returns a warning that names the files in [`Self::unplaced`].
    #[must_use]
    pub fn unplaced_warning(&self) -> Option<Warning> {
        (!self.unplaced.is_empty()).then(|| {
            Warning::new(format!(
                "files left out, because the pull request changes the same lines in them as before \
                 (the base branch changed these files too, so those lines may have moved): {}",
                self.unplaced.join(", ")
            ))
        })
    }
}

/// Compares two diffs file by file. The positions of changes are compared only if the base content
/// of the file is the same.
#[must_use]
pub fn between(old: &[u8], new: &[u8]) -> DiffDelta {
    compare_files(old, new, compare_sections)
}

/// Compares two diffs file by file, by their results: a file counts as unchanged only if the
/// positions, modes and blob ids of its changes are equal too. For diffs that were written by
/// strangers.
#[must_use]
pub fn between_results(old: &[u8], new: &[u8]) -> DiffDelta {
    compare_files(old, new, |old, new| {
        if have_same_result(old, new) {
            Likeness::Same
        } else {
            Likeness::Changed
        }
    })
}

fn compare_files(
    old: &[u8],
    new: &[u8],
    compare: impl Fn(&[&[u8]], &[&[u8]]) -> Likeness,
) -> DiffDelta {
    let before = sections(old);
    let after = sections(new);
    let mut found = DiffDelta::default();
    for (file, new) in &after {
        let likeness = before
            .get(file)
            .map_or(Likeness::Changed, |old| compare(old, new));
        match likeness {
            Likeness::Same => {}
            Likeness::Unplaced => found.unplaced.push(name(file)),
            Likeness::Changed => found.diff.extend(new.iter().copied().flatten()),
        }
    }
    let gone = before.keys().filter(|file| !after.contains_key(*file));
    found.gone = gone.map(|file| name(file)).collect();
    found
}

/// Groups the sections of a diff by their first line. A section begins at a `diff --git` line and
/// ends before the next one. A file that several commits change has several sections.
fn sections(diff: &[u8]) -> BTreeMap<&[u8], Vec<&[u8]>> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive(|b| *b == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push((line, at));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([at]);
    let mut sections: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for ((first, from), to) in starts.iter().zip(ends) {
        let part = diff.get(*from..to).unwrap_or_default();
        sections.entry(first).or_default().push(part);
    }
    sections
}

enum Likeness {
    Same,
    /// The changed lines are equal, but the base content differs.
    Unplaced,
    Changed,
}

fn compare_sections(old: &[&[u8]], new: &[&[u8]]) -> Likeness {
    if !comparable_lines(old).eq(comparable_lines(new)) {
        return Likeness::Changed;
    }
    let same_base = match (base_blob_id(old), base_blob_id(new)) {
        // Git abbreviates ids to different lengths, so a prefix counts as equal.
        (Some(old), Some(new)) => old.starts_with(new) || new.starts_with(old),
        (old, new) => old == new,
    };
    if !same_base {
        return Likeness::Unplaced;
    }
    match hunk_headers(old).eq(hunk_headers(new)) {
        true => Likeness::Same,
        false => Likeness::Changed,
    }
}

/// Returns true if all lines are equal. Git abbreviates blob ids to different lengths, so a prefix
/// of an id counts as equal.
fn have_same_result(old: &[&[u8]], new: &[&[u8]]) -> bool {
    let (mut old, mut new) = (lines(old), lines(new));
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(old), Some(new)) if old == new || are_same_ids(old, new) => {}
            _ => return false,
        }
    }
}

/// Returns true for two `index` lines with the same ids and the same mode.
fn are_same_ids(old: &[u8], new: &[u8]) -> bool {
    let parts = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?.strip_prefix("index ")?;
        let (ids, mode) = line.split_once(' ').unwrap_or((line, ""));
        let (before, after) = ids.trim_end().split_once("..")?;
        Some([before, after, mode.trim_end()].map(str::to_owned))
    };
    let agree = |a: &str, b: &str| a.starts_with(b) || b.starts_with(a);
    match (parts(old), parts(new)) {
        (Some([a, b, mode]), Some([c, d, other])) => {
            agree(&a, &c) && agree(&b, &d) && mode == other
        }
        _ => false,
    }
}

fn lines<'a>(parts: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    let lines = |part: &&'a [u8]| part.split_inclusive(|b| *b == b'\n');
    parts.iter().flat_map(lines)
}

/// Returns the lines of a file without blob ids and line numbers, which change when the base branch
/// moves. If the content of a binary file is not shown, its blob ids are kept, because nothing else
/// distinguishes two versions of it.
fn comparable_lines<'a>(parts: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    let is_hidden = lines(parts).any(|line| line.starts_with(b"Binary files "));
    lines(parts).map(move |line| {
        if line.starts_with(b"index ") && !is_hidden {
            return &b"index"[..];
        }
        if line.starts_with(b"@@ ") {
            return b"@@";
        }
        line
    })
}

fn hunk_headers<'a>(parts: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    lines(parts).filter(|line| line.starts_with(b"@@ "))
}

/// Returns the blob id of a file before its first change: `1a2b3c` from `index 1a2b3c..4d5e6f`.
fn base_blob_id<'a>(parts: &'a [&'a [u8]]) -> Option<&'a [u8]> {
    let ids = lines(parts).find_map(|line| line.strip_prefix(b"index "))?;
    ids.split(|b| *b == b'.').next()
}

/// Returns the new name of a file: `b/src/lib.rs` from `diff --git a/src/lib.rs b/src/lib.rs`.
fn name(first: &[u8]) -> String {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_end();
    let name = text.rsplit_once(" b/").map_or(text, |(_, name)| name);
    one_line(name).into_owned()
}

/// A commit of a patch series, to be compared with commits of another version of the series.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeriesCommit {
    /// Full object id, hex.
    pub oid: String,
    /// First line of the message.
    pub headline: String,
    /// Value by which a commit is recognised in the other version of the series, such as the
    /// [`changed_lines`] of its diff.
    pub essence: Vec<u8>,
}

impl SeriesCommit {
    /// Builds the commit `oid`. Two commits count as equal if their `essence` is equal.
    pub fn new(oid: impl Into<String>, headline: impl Into<String>, essence: Vec<u8>) -> Self {
        Self {
            oid: oid.into(),
            headline: headline.into(),
            essence,
        }
    }
}

/// Returns the lines of a diff that add or remove content, and its header lines. Leaves out context
/// lines, line numbers, and the blob ids of files whose lines are shown.
#[must_use]
pub fn changed_lines(diff: &[u8]) -> Vec<u8> {
    let lines = diff.split_inclusive(|b| *b == b'\n');
    let is_hidden = lines.clone().any(|line| line.starts_with(b"Binary files "));
    let is_kept = |line: &&[u8]| {
        let is_id = line.starts_with(b"index ") && !is_hidden;
        !is_id && !line.starts_with(b" ") && !line.starts_with(b"@@ ")
    };
    lines.filter(is_kept).flatten().copied().collect()
}

/// Returns the commits that differ between two versions of a series. Commits with equal essence are
/// left out. An old and a new commit with the same headline are reported as one changed commit. All
/// remaining commits are reported as new or dropped: first the new commits in their order, then the
/// dropped commits.
#[must_use]
pub fn changed_commits(old: &[SeriesCommit], new: &[SeriesCommit]) -> Vec<ChangedCommit> {
    let mut left: Vec<&SeriesCommit> = old.iter().collect();
    let mut take = |is_it: &dyn Fn(&SeriesCommit) -> bool| {
        let at = left.iter().position(|commit| is_it(commit))?;
        Some(left.remove(at))
    };
    let mut unknown = Vec::new();
    for commit in new {
        if take(&|known| known.essence == commit.essence).is_none() {
            unknown.push(commit);
        }
    }
    let mut changed: Vec<ChangedCommit> = Vec::new();
    for commit in unknown {
        let before = take(&|known| known.headline == commit.headline);
        changed.push(ChangedCommit {
            old: before.map(|known| known.oid.clone()),
            new: Some(commit.oid.clone()),
            headline: commit.headline.clone(),
        });
    }
    changed.extend(left.into_iter().map(|commit| ChangedCommit {
        old: Some(commit.oid.clone()),
        new: None,
        headline: commit.headline.clone(),
    }));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, index: &str, at: u32, line: &str) -> String {
        format!(
            "diff --git a/{name} b/{name}\nindex {index}\n--- a/{name}\n+++ b/{name}\n@@ -{at} +{at} @@\n-old\n+{line}\n"
        )
    }

    #[test]
    fn delta_lists_dropped_and_possibly_moved_files() {
        let old =
            file("a", "1..2", 1, "one") + &file("b", "3..4", 1, "two") + &file("c", "5..6", 1, "x");
        let new =
            file("a", "7..8", 9, "one") + &file("b", "3..9", 1, "TWO") + &file("d", "1..1", 1, "y");
        let found = between(old.as_bytes(), new.as_bytes());
        let wanted = file("b", "3..9", 1, "TWO") + &file("d", "1..1", 1, "y");
        assert_eq!(String::from_utf8(found.diff).unwrap(), wanted);
        assert_eq!(found.gone, ["c"]);
        assert_eq!(found.unplaced, ["a"]);
    }

    #[test]
    fn equal_lines_with_another_result_are_in_delta() {
        let old = file("a", "1a2b3c..4d5e6f 100644", 1, "one");
        for (new, is_same) in [
            (file("a", "1a2b3c..4d5e6f 100644", 1, "one"), true),
            (file("a", "1a2b3c4d..4d5e6f7a 100644", 1, "one"), true),
            (file("a", "1a2b3c..4d5e60 100644", 1, "one"), false),
            (file("a", "1a2b3d..4d5e6f 100644", 1, "one"), false),
            (file("a", "1a2b3c..4d5e6f 100755", 1, "one"), false),
            (file("a", "1a2b3c..4d5e6f 100644", 9, "one"), false),
            (old.replace("@@\n", "@@ fn other() {\n"), false),
            (
                old.replace("index", "old mode 100644\nnew mode 100755\nindex"),
                false,
            ),
        ] {
            let found = between_results(old.as_bytes(), new.as_bytes());
            let shown = if is_same { "" } else { &new };
            assert_eq!(String::from_utf8(found.diff).unwrap(), shown);
            assert!(found.unplaced.is_empty() && found.gone.is_empty());
        }
    }

    #[test]
    fn change_moved_within_same_base_is_in_delta() {
        // Git abbreviates the id of one blob to different lengths.
        for base in ["1a2b", "1a2b3c"] {
            let old = file("a", "1a2b3c..2", 1, "one");
            let moved = file("a", &format!("{base}..3"), 9, "one");
            let found = between(old.as_bytes(), moved.as_bytes());
            assert_eq!(String::from_utf8(found.diff).unwrap(), moved);
            assert_eq!(found.unplaced, Vec::<String>::new());
            let same = file("a", &format!("{base}..2"), 1, "one");
            let found = between(old.as_bytes(), same.as_bytes());
            assert_eq!(found, DiffDelta::default());
        }
    }

    #[test]
    fn replaced_binary_file_is_in_delta() {
        let binary = |name: &str, index: &str| {
            format!(
                "diff --git a/{name} b/{name}\nindex {index} 100644\nBinary files a/{name} and b/{name} differ\n"
            )
        };
        let same = binary("a", "1..2");
        let old = same.clone() + &binary("b", "3..4");
        let new = same + &binary("b", "3..5");
        let found = between(old.as_bytes(), new.as_bytes());
        let wanted = binary("b", "3..5");
        assert_eq!(String::from_utf8(found.diff).unwrap(), wanted);
    }

    fn commit(oid: &str, headline: &str, essence: &str) -> SeriesCommit {
        SeriesCommit {
            oid: oid.to_owned(),
            headline: headline.to_owned(),
            essence: essence.into(),
        }
    }

    #[test]
    fn rebased_series_has_no_changed_commits() {
        let old = [commit("1", "one", "+a"), commit("2", "two", "+b")];
        let new = [commit("8", "one", "+a"), commit("9", "two!", "+b")];
        assert_eq!(changed_commits(&old, &new), []);
    }

    #[test]
    fn changed_commits_are_paired_by_headline() {
        let old = [commit("1", "one", "+a"), commit("2", "two", "+b")];
        let new = [commit("8", "one", "+A"), commit("9", "three", "+c")];
        let found = changed_commits(&old, &new);
        let pairs = found.iter().map(|c| (c.old.as_deref(), c.new.as_deref()));
        let wanted = [(Some("1"), Some("8")), (None, Some("9")), (Some("2"), None)];
        assert_eq!(pairs.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn changed_lines_ignore_positions_and_ids() {
        let old = file("a", "1..2", 1, "one");
        let new = file("a", "7..8", 9, "one");
        assert_eq!(changed_lines(old.as_bytes()), changed_lines(new.as_bytes()));
        let other = file("a", "7..8", 9, "two");
        assert_ne!(
            changed_lines(old.as_bytes()),
            changed_lines(other.as_bytes())
        );
    }
}
