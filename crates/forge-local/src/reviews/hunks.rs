//! Finds the lines of a diff on which a review thread can be opened.

use forge_core::{
    Result,
    diff::{DiffLine, HunkHeader, LineReader},
    model::{ByteStream, Side},
};
use futures::StreamExt;

/// Maximum size of the hunk that is stored with a comment, in bytes.
const MAX_HUNK_BYTES: usize = 4 * 1024;
/// Maximum length of a line of the diff, in bytes. The rest of a longer line is dropped.
const MAX_LINE_BYTES: usize = 2 * 1024;
/// Maximum number of line ranges that an error lists.
const MAX_NAMED_LINES: usize = 8;

/// A line or a range of lines on one side of the diff.
pub(super) struct LinePosition {
    pub line: u64,
    pub start: Option<u64>,
    pub side: Side,
}

impl LinePosition {
    /// Returns true if the range of `count` lines from `first` contains all lines of the position.
    fn is_in(&self, (first, count): (u64, u64)) -> bool {
        let inside = |n: u64| n >= first && n - first < count;
        inside(self.line) && self.start.is_none_or(inside)
    }
}

/// Returns the hunk of a file's diff that contains `place`, cut after the last line of `place`. If
/// no hunk contains `place`, the inner `Err` lists the line ranges of the hunks on that side.
pub(super) async fn find_hunk(
    diff: &mut ByteStream,
    place: &LinePosition,
) -> Result<std::result::Result<String, Vec<String>>> {
    let mut finder = HunkFinder::new(place);
    while let Some(chunk) = diff.next().await {
        if let Some(hunk) = finder.push(&chunk?) {
            return Ok(Ok(hunk));
        }
    }
    Ok(Err(finder.ranges))
}

/// Scans a diff in chunks of any size.
struct HunkFinder<'a> {
    place: &'a LinePosition,
    line: Vec<u8>,
    reader: LineReader,
    /// The part of the matching hunk that was read so far.
    kept: Option<Vec<u8>>,
    ranges: Vec<String>,
}

impl<'a> HunkFinder<'a> {
    fn new(place: &'a LinePosition) -> Self {
        Self {
            place,
            line: Vec::new(),
            reader: LineReader::default(),
            kept: None,
            ranges: Vec::new(),
        }
    }

    fn push(&mut self, chunk: &[u8]) -> Option<String> {
        for part in chunk.split_inclusive(|b| *b == b'\n') {
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
            self.line
                .extend(part.iter().take(room).filter(|b| **b != b'\n'));
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                if let Some(found) = self.line(&line) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn line(&mut self, line: &[u8]) -> Option<String> {
        let (old, new) = match self.reader.read(line) {
            DiffLine::Hunk(hunk) => {
                self.begin(&hunk, line);
                return None;
            }
            DiffLine::Context { old, new } => (Some(old), Some(new)),
            DiffLine::Added { new } => (None, Some(new)),
            DiffLine::Removed { old } => (Some(old), None),
            DiffLine::NoNewline => (None, None),
            _ => return None,
        };
        let kept = self.kept.as_mut()?;
        kept.push(b'\n');
        kept.extend_from_slice(line);
        if kept.len() > 16 * MAX_HUNK_BYTES {
            *kept = tail(kept).into_bytes();
        }
        let number = match self.place.side {
            Side::Left => old,
            Side::Right => new,
        };
        (number == Some(self.place.line)).then(|| tail(kept))
    }

    fn begin(&mut self, hunk: &HunkHeader<'_>, line: &[u8]) {
        let (first, count) = match self.place.side {
            Side::Left => (hunk.old_start, hunk.old_count),
            Side::Right => (hunk.new_start, hunk.new_count),
        };
        self.kept = self.place.is_in((first, count)).then(|| line.to_vec());
        if count > 0 && self.ranges.len() < MAX_NAMED_LINES {
            self.ranges
                .push(format!("{first}-{}", first.saturating_add(count - 1)));
        }
    }
}

/// Returns the header and the last lines of a hunk, at most [`MAX_HUNK_BYTES`].
fn tail(hunk: &[u8]) -> String {
    let text = String::from_utf8_lossy(hunk);
    if text.len() <= MAX_HUNK_BYTES {
        return text.into_owned();
    }
    let header = text.lines().next().unwrap_or_default();
    let mut lines = Vec::new();
    let mut room = MAX_HUNK_BYTES;
    for line in text.lines().skip(1).collect::<Vec<_>>().into_iter().rev() {
        let Some(left) = room.checked_sub(line.len() + 1) else {
            break;
        };
        room = left;
        lines.push(line);
    }
    lines.push(header);
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &[u8] = b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@ fn\n a\n-b\n+B\n+@@ -9,9 +9,9 @@\n c\n@@ -20 +21,0 @@\n-x\n\\ No newline at end of file\n";

    fn find(line: u64, start: Option<u64>, side: Side, size: usize) -> Result<String, Vec<String>> {
        let place = LinePosition { line, start, side };
        let mut finder = HunkFinder::new(&place);
        for chunk in DIFF.chunks(size) {
            if let Some(hunk) = finder.push(chunk) {
                return Ok(hunk);
            }
        }
        Err(finder.ranges)
    }

    #[test]
    fn diff_lines_are_found_across_chunks() {
        for size in [1, 2, 7, 4096] {
            let hunk = find(3, None, Side::Right, size).unwrap();
            assert_eq!(hunk, "@@ -1,3 +1,4 @@ fn\n a\n-b\n+B\n+@@ -9,9 +9,9 @@");
            assert_eq!(
                find(20, None, Side::Left, size).unwrap(),
                "@@ -20 +21,0 @@\n-x"
            );
            assert!(find(4, Some(2), Side::Right, size).is_ok());
            assert_eq!(
                find(9, None, Side::Right, size),
                Err(vec!["1-4".to_owned()])
            );
            assert!(find(21, None, Side::Right, size).is_err());
            assert!(find(20, Some(1), Side::Left, size).is_err());
            assert_eq!(
                find(4, None, Side::Left, size).unwrap_err(),
                ["1-3", "20-20"]
            );
        }
    }

    #[test]
    fn long_hunks_are_cut_in_middle() {
        let hunk = format!("@@ -1 +1 @@\n{}last", "+line\n".repeat(5000));
        let kept = tail(hunk.as_bytes());
        assert!(
            kept.len() <= MAX_HUNK_BYTES + 20 && kept.starts_with("@@") && kept.ends_with("last")
        );
    }
}
