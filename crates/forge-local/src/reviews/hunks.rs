//! Which lines stand in the diff of one file.

use forge_core::{
    Result,
    model::{ByteStream, Side},
};
use futures::StreamExt;

/// The most of a hunk that is kept with a comment, in bytes.
const KEPT: usize = 4 * 1024;
/// The most of one line that is looked at, in bytes.
const LINE: usize = 2 * 1024;
/// How many ranges an error names.
const NAMED: usize = 8;

/// A line, or a range of lines, on one side.
pub(super) struct Position {
    pub line: u64,
    pub start: Option<u64>,
    pub side: Side,
}

/// A hunk header: first lines and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    left: (u64, u64),
    right: (u64, u64),
}

impl Hunk {
    /// Reads `@@ -1,2 +3,4 @@ …`; a count of 1 may be left out.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line.get(..line.len().min(100))?).into_owned();
        let mut words = line.strip_prefix("@@ ")?.split(' ');
        let range = |word: &str, sign| {
            let word = word.strip_prefix(sign)?;
            let (first, count) = word.split_once(',').unwrap_or((word, "1"));
            Some((first.parse().ok()?, count.parse().ok()?))
        };
        let left = range(words.next()?, '-')?;
        let right = range(words.next()?, '+')?;
        (words.next()? == "@@").then_some(Self { left, right })
    }

    fn side(&self, side: Side) -> (u64, u64) {
        match side {
            Side::Left => self.left,
            Side::Right => self.right,
        }
    }

    fn has(&self, place: &Position) -> bool {
        let (first, count) = self.side(place.side);
        let inside = |n: u64| n >= first && n - first < count;
        inside(place.line) && place.start.is_none_or(inside)
    }

    /// The hunk of the diff of one file that has `place`, up to its line; else the ranges that the
    /// file's hunks have on that side.
    pub async fn find(
        diff: &mut ByteStream,
        place: &Position,
    ) -> Result<std::result::Result<String, Vec<String>>> {
        let mut finder = Finder::new(place);
        while let Some(chunk) = diff.next().await {
            if let Some(hunk) = finder.push(&chunk?) {
                return Ok(Ok(hunk));
            }
        }
        Ok(Err(finder.ranges))
    }
}

/// Goes through a diff in chunks of any size.
struct Finder<'a> {
    place: &'a Position,
    line: Vec<u8>,
    /// Lines of the present hunk that are still to come, left and right.
    left: u64,
    right: u64,
    /// The number of the next line on the wanted side.
    next: u64,
    /// The hunk that has the place, as far as it was read.
    kept: Option<Vec<u8>>,
    ranges: Vec<String>,
}

impl<'a> Finder<'a> {
    fn new(place: &'a Position) -> Self {
        let (line, ranges) = (Vec::new(), Vec::new());
        Self {
            place,
            line,
            left: 0,
            right: 0,
            next: 0,
            kept: None,
            ranges,
        }
    }

    fn push(&mut self, chunk: &[u8]) -> Option<String> {
        for part in chunk.split_inclusive(|b| *b == b'\n') {
            let room = LINE.saturating_sub(self.line.len());
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
        if self.left == 0 && self.right == 0 {
            self.header(line);
            return None;
        }
        let (on_left, on_right) = match line.first() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            // "\ No newline at end of file"
            Some(b'\\') => (false, false),
            _ => (true, true),
        };
        self.left = self.left.saturating_sub(u64::from(on_left));
        self.right = self.right.saturating_sub(u64::from(on_right));
        let kept = self.kept.as_mut()?;
        kept.push(b'\n');
        kept.extend_from_slice(line);
        if kept.len() > 16 * KEPT {
            *kept = tail(kept).into_bytes();
        }
        let counts = match self.place.side {
            Side::Left => on_left,
            Side::Right => on_right,
        };
        let reached = counts && self.next == self.place.line;
        self.next += u64::from(counts);
        reached.then(|| tail(kept))
    }

    fn header(&mut self, line: &[u8]) {
        self.kept = None;
        let Some(hunk) = Hunk::parse(line) else {
            return;
        };
        (self.left, self.right) = (hunk.left.1, hunk.right.1);
        let (first, count) = hunk.side(self.place.side);
        self.next = first;
        if hunk.has(self.place) {
            self.kept = Some(line.to_vec());
        }
        if count > 0 && self.ranges.len() < NAMED {
            self.ranges.push(format!("{first}-{}", first + count - 1));
        }
    }
}

/// The header and the last lines of a hunk, as far as they are kept.
fn tail(hunk: &[u8]) -> String {
    let text = String::from_utf8_lossy(hunk);
    if text.len() <= KEPT {
        return text.into_owned();
    }
    let header = text.lines().next().unwrap_or_default();
    let mut lines = Vec::new();
    let mut room = KEPT;
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
        let place = Position { line, start, side };
        let mut finder = Finder::new(&place);
        for chunk in DIFF.chunks(size) {
            if let Some(hunk) = finder.push(chunk) {
                return Ok(hunk);
            }
        }
        Err(finder.ranges)
    }

    #[test]
    fn lines_are_found_on_their_side_however_the_diff_arrives() {
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
    fn headers() {
        assert_eq!(
            Hunk::parse(b"@@ -1 +2,3 @@"),
            Some(Hunk {
                left: (1, 1),
                right: (2, 3)
            })
        );
        assert_eq!(Hunk::parse(b"@@ -1 +2,3"), None);
        assert_eq!(Hunk::parse(b"-@@ -1 +2 @@"), None);
    }

    #[test]
    fn long_hunks_are_cut_in_the_middle() {
        let hunk = format!("@@ -1 +1 @@\n{}last", "+line\n".repeat(5000));
        let kept = tail(hunk.as_bytes());
        assert!(kept.len() <= KEPT + 20 && kept.starts_with("@@") && kept.ends_with("last"));
    }
}
