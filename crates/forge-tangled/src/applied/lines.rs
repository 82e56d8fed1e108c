//! Applies the hunks of a file exactly where a diff shows them.
//!
//! `git apply` searches for another place if the lines are not where a hunk says. A reader of the
//! diff then reviews a place that does not change.

use forge_core::diff::{DiffLine, Hunk, LineReader};

/// Maximum number of lines that are compared for one file, so that a hostile diff of many hunks
/// cannot take minutes.
const MAX_COMPARISONS: usize = 50_000_000;

/// A line without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    text: &'a [u8],
    /// False for the last line of a file that does not end with a line end.
    is_ended: bool,
}

/// Hunks of a file, as a diff shows them.
#[derive(Debug)]
pub(super) struct ShownHunks<'a> {
    hunks: Vec<ShownHunk<'a>>,
}

#[derive(Debug)]
struct ShownHunk<'a> {
    old_start: usize,
    new_start: usize,
    /// Context and removed lines.
    before: Vec<Line<'a>>,
    /// Context and added lines.
    after: Vec<Line<'a>>,
    /// Text after the second `@@`: a line above the hunk.
    section: &'a [u8],
}

impl<'a> ShownHunks<'a> {
    /// Reads hunks. `None` if a hunk has a form that git does not print. With `drops_returns`,
    /// carriage returns at the ends of lines are left out, as `git am` does.
    pub fn read(hunks: &[Hunk<'a>], drops_returns: bool) -> Option<Self> {
        let hunks = hunks.iter().map(|hunk| read_hunk(hunk, drops_returns));
        let hunks = hunks.collect::<Option<Vec<_>>>()?;
        let count = hunks.len();
        let is_whole = |(at, hunk): (usize, &ShownHunk<'_>)| {
            let inner_lines = |lines: &[Line<'_>]| match lines.split_last() {
                Some((last, inner)) => {
                    inner.iter().all(|line| line.is_ended) && (last.is_ended || at + 1 == count)
                }
                None => true,
            };
            inner_lines(&hunk.before) && inner_lines(&hunk.after)
        };
        let is_whole = hunks.iter().enumerate().all(is_whole);
        is_whole.then_some(Self { hunks })
    }

    /// Returns the content that the hunks make of `old` if each is exactly at its place, under a
    /// heading that `old` has above it.
    pub fn apply_exactly(&self, old: &[u8]) -> Option<Vec<u8>> {
        let old = split_lines(old);
        let mut budget = MAX_COMPARISONS;
        self.apply_at(&old, |hunk, cursor, made| {
            let start = match hunk.before.is_empty() {
                true => hunk.old_start,
                false => hunk.old_start.checked_sub(1)?,
            };
            let new_start = made + start.checked_sub(cursor)? + usize::from(!hunk.after.is_empty());
            let above = old.get(..start)?;
            let has_heading = hunk.section.is_empty()
                || (above.iter().rev())
                    .take_while(|_| spend(&mut budget))
                    .any(|line| line.text.trim_ascii_start().starts_with(hunk.section));
            (has_heading && new_start == hunk.new_start).then_some(start)
        })
    }

    /// Returns the content that the hunks make of `old` if there is only one place for each.
    pub fn apply_at_only_place(&self, old: &[u8]) -> Option<Vec<u8>> {
        let old = split_lines(old);
        let mut budget = MAX_COMPARISONS;
        self.apply_at(&old, |hunk, cursor, _| {
            find_only_place(&old, &hunk.before, cursor, &mut budget)
        })
    }

    /// Applies the hunks at the lines that `find_start` returns for a hunk, the first line of `old`
    /// after the previous hunk, and the number of new lines up to there.
    fn apply_at<'l>(
        &'l self,
        old: &'l [Line<'l>],
        mut find_start: impl FnMut(&ShownHunk<'_>, usize, usize) -> Option<usize>,
    ) -> Option<Vec<u8>> {
        let mut made: Vec<Line<'l>> = Vec::new();
        let mut cursor = 0;
        for hunk in &self.hunks {
            let start = find_start(hunk, cursor, made.len())?;
            let end = start.checked_add(hunk.before.len())?;
            if old.get(start..end)? != hunk.before.as_slice() {
                return None;
            }
            made.extend_from_slice(old.get(cursor..start)?);
            made.extend_from_slice(&hunk.after);
            cursor = end;
        }
        made.extend_from_slice(old.get(cursor..)?);
        let mut content = Vec::new();
        for line in made {
            content.extend_from_slice(line.text);
            if line.is_ended {
                content.push(b'\n');
            }
        }
        Some(content)
    }
}

/// Returns the only line from `cursor` on at which `old` has the lines `wanted`. `None` if there is
/// none, or more than one, or if the budget does not suffice to tell.
fn find_only_place(
    old: &[Line<'_>],
    wanted: &[Line<'_>],
    cursor: usize,
    budget: &mut usize,
) -> Option<usize> {
    let last = old.len().checked_sub(wanted.len())?;
    let mut found = None;
    for start in cursor..=last {
        if !spend(budget) {
            return None;
        }
        let mut pairs = old.get(start..)?.iter().zip(wanted);
        if pairs.all(|(line, wanted)| line == wanted && spend(budget)) {
            if found.is_some() {
                return None;
            }
            found = Some(start);
        }
    }
    found.filter(|_| !wanted.is_empty())
}

/// Takes one comparison from a budget. Returns false if there is none left.
fn spend(budget: &mut usize) -> bool {
    *budget = budget.saturating_sub(1);
    *budget > 0
}

fn read_hunk<'a>(hunk: &Hunk<'a>, drops_returns: bool) -> Option<ShownHunk<'a>> {
    let mut shown = ShownHunk {
        old_start: usize::try_from(hunk.header.old_start).ok()?,
        new_start: usize::try_from(hunk.header.new_start).ok()?,
        before: Vec::new(),
        after: Vec::new(),
        section: hunk.header.section.trim_ascii(),
    };
    let mut reader = LineReader::default();
    // The sides that the last line is on.
    let mut sides = (false, false);
    for raw in hunk.raw.split_inclusive(|b| *b == b'\n') {
        sides = match reader.read(raw) {
            DiffLine::Hunk(_) => continue,
            DiffLine::Context { .. } => (true, true),
            DiffLine::Removed { .. } => (true, false),
            DiffLine::Added { .. } => (false, true),
            DiffLine::NoNewline => {
                let before = shown.before.last_mut().filter(|_| sides.0);
                let after = shown.after.last_mut().filter(|_| sides.1);
                for line in before.into_iter().chain(after) {
                    line.is_ended = false;
                }
                continue;
            }
            DiffLine::Other if raw.trim_ascii().is_empty() => continue,
            _ => return None,
        };
        let line = read_line(raw.strip_prefix(&[*raw.first()?])?, drops_returns);
        let line = match raw {
            // Mailers strip the space of an empty context line.
            b"\n" | b"\r\n" => read_line(raw, drops_returns),
            _ => line,
        };
        if sides.0 {
            shown.before.push(line);
        }
        if sides.1 {
            shown.after.push(line);
        }
    }
    let counts = (shown.before.len() as u64, shown.after.len() as u64);
    (counts == (hunk.header.old_count, hunk.header.new_count)).then_some(shown)
}

fn read_line(raw: &[u8], drops_returns: bool) -> Line<'_> {
    let text = raw.strip_suffix(b"\n").unwrap_or(raw);
    let text = match text.strip_suffix(b"\r") {
        Some(text) if drops_returns => text,
        _ => text,
    };
    Line {
        text,
        is_ended: true,
    }
}

fn split_lines(content: &[u8]) -> Vec<Line<'_>> {
    let lines = content.split_inclusive(|b| *b == b'\n');
    let lines = lines.map(|raw| Line {
        text: raw.strip_suffix(b"\n").unwrap_or(raw),
        is_ended: raw.ends_with(b"\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "fn one() {\n    a\n    b\n    c\n}\nfn two() {\n    a\n    b\n    c\n}\n";

    fn hunks(text: &str) -> Option<(Option<String>, Option<String>)> {
        let diff = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n{text}");
        let files = forge_core::diff::files(diff.as_bytes());
        let shown = ShownHunks::read(&files[0].hunks, true)?;
        let made = |content: Option<Vec<u8>>| content.map(|it| String::from_utf8(it).unwrap());
        Some((
            made(shown.apply_exactly(OLD.as_bytes())),
            made(shown.apply_at_only_place(OLD.as_bytes())),
        ))
    }

    #[test]
    fn hunk_applies_only_at_its_shown_place() {
        let second = OLD.replacen("two() {\n    a\n    b", "two() {\n    a\n    B", 1);
        for (hunk, exact) in [
            (
                "@@ -7,3 +7,3 @@ fn two() {\n     a\n-    b\n+    B\n     c\n",
                true,
            ),
            ("@@ -7,3 +7,3 @@\n     a\n-    b\n+    B\r\n     c\n", true),
            ("@@ -8 +8 @@ fn one() {\n-    b\n+    B\n", true),
            // Another place, another new place, another heading.
            ("@@ -6,3 +6,3 @@\n     a\n-    b\n+    B\n     c\n", false),
            ("@@ -7,3 +8,3 @@\n     a\n-    b\n+    B\n     c\n", false),
            (
                "@@ -7,3 +7,3 @@ fn tests() {\n     a\n-    b\n+    B\n     c\n",
                false,
            ),
        ] {
            let (made, only) = hunks(hunk).unwrap();
            assert_eq!(made, exact.then(|| second.clone()), "{hunk}");
            assert_eq!(only, None, "there are two places: {hunk}");
        }
        let (exact, only) =
            hunks("@@ -1,2 +1,2 @@\n-fn two() {\n+fn second() {\n     a\n").unwrap();
        assert_eq!((exact, only), (None, Some(OLD.replace("two", "second"))));
    }

    #[test]
    fn hunk_with_line_end_missing_inside_is_refused() {
        let mark = "\\ No newline at end of file\n";
        for (hunk, is_read) in [
            (format!("@@ -10 +10 @@\n-}}\n+x\n{mark}"), true),
            (format!("@@ -10 +10,2 @@\n-}}\n+x\n{mark}+y\n"), false),
            (
                format!("@@ -10 +10 @@\n-}}\n{mark}+x\n@@ -11,0 +12 @@\n+y\n"),
                false,
            ),
            ("@@ -10,2 +10 @@\n-}\n+x\n".to_owned(), false),
        ] {
            assert_eq!(hunks(&hunk).is_some(), is_read, "{hunk}");
        }
    }
}
