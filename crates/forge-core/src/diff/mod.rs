//! Parses git's unified diffs, line by line or file by file.
//!
//! Parsing never fails. A line that git would not write is [`DiffLine::Other`], invalid UTF-8 in a
//! path becomes replacement characters, and a line whose number is too large is read as plain text.
//! Results borrow from the input; only the header of a file is copied.

mod between;
mod header;
mod line;
mod path;

pub use between::{
    DiffDelta, SeriesCommit, between, between_results, changed_commits, changed_lines,
};
pub use header::FileHeader;
pub use line::{DiffLine, HeaderKey, HunkHeader, LineReader, mail_commit};
pub use path::{quote_path, shared_path, unquote_path};

/// Maximum number of files and hunks that callers read of one diff.
///
/// There is a limit because a line of a dozen bytes can begin a file or a hunk, which then takes
/// hundreds of bytes of memory.
pub const MAX_PARTS: usize = 65_536;

/// The changes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiff<'a> {
    /// The parsed header.
    pub header: FileHeader,
    /// Raw bytes before the first hunk.
    pub head: &'a [u8],
    /// Hunks in order; empty for a combined diff.
    pub hunks: Vec<Hunk<'a>>,
    /// Number of added lines.
    pub additions: u64,
    /// Number of removed lines.
    pub deletions: u64,
}

/// A hunk of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk<'a> {
    /// The parsed `@@` line.
    pub header: HunkHeader<'a>,
    /// Raw bytes from the `@@` line to the next hunk or file.
    pub raw: &'a [u8],
}

/// Returns the files of a diff. Ignores text before the first `diff --git` line.
#[must_use]
pub fn files(diff: &[u8]) -> Vec<FileDiff<'_>> {
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    let mut reader = LineReader::default();
    let (mut part, mut at) = (0, 0);
    for line in diff.split_inclusive(|b| *b == b'\n') {
        let start = at;
        at += line.len();
        let kind = reader.read(line);
        if matches!(kind, DiffLine::File(_) | DiffLine::Combined(_)) {
            part = start;
            files.push(FileDiff {
                header: FileHeader::default(),
                head: &[],
                hunks: Vec::new(),
                additions: 0,
                deletions: 0,
            });
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        match kind {
            DiffLine::Hunk(header) => {
                part = start;
                file.hunks.push(Hunk { header, raw: &[] });
            }
            DiffLine::Added { .. } => file.additions += 1,
            DiffLine::Removed { .. } => file.deletions += 1,
            _ => {}
        }
        let raw = diff.get(part..at).unwrap_or_default();
        match file.hunks.last_mut() {
            Some(hunk) => hunk.raw = raw,
            None => file.head = raw,
        }
    }
    for file in &mut files {
        file.header = FileHeader::parse(file.head);
    }
    files
}

#[cfg(test)]
mod tests;
