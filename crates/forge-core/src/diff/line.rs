/// Meaning of one line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// `diff --git a/x b/x`: the start of a file. The value is both names as written.
    File(&'a [u8]),
    /// `diff --cc x` or `diff --combined x`: the start of a file in the diff of a merge commit. The
    /// lines of the file are not parsed.
    Combined(&'a [u8]),
    /// A header line of a file (git-diff(1), "extended header lines").
    Header(HeaderKey, &'a [u8]),
    /// `@@ -1,2 +1,3 @@ fn main`: the start of a hunk.
    Hunk(HunkHeader<'a>),
    /// A line that both sides have.
    Context {
        /// Line number in the old file, from 1.
        old: u64,
        /// Line number in the new file, from 1.
        new: u64,
    },
    /// A line that only the new side has.
    Added {
        /// Line number in the new file, from 1.
        new: u64,
    },
    /// A line that only the old side has.
    Removed {
        /// Line number in the old file, from 1.
        old: u64,
    },
    /// `\ No newline at end of file`, a statement about the previous line.
    NoNewline,
    /// Content that is not parsed into lines: a binary patch or a combined diff.
    Opaque,
    /// A line outside of a diff, such as a line of the message in a mail.
    Other,
}

/// Key of a header line; the rest of the line is the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderKey {
    /// `old mode 100644`
    OldMode,
    /// `new mode 100755`
    NewMode,
    /// `new file mode 100644`
    NewFileMode,
    /// `deleted file mode 100644`
    DeletedFileMode,
    /// `rename from x`
    RenameFrom,
    /// `rename to x`
    RenameTo,
    /// `copy from x`
    CopyFrom,
    /// `copy to x`
    CopyTo,
    /// `similarity index 90%`
    Similarity,
    /// `dissimilarity index 90%`
    Dissimilarity,
    /// `index 1a2b3c..4d5e6f 100644`
    Index,
    /// `--- a/x`
    OldName,
    /// `+++ b/x`
    NewName,
    /// `Binary files a/x and b/x differ`
    BinaryFiles,
    /// `GIT binary patch`: the following lines are opaque.
    BinaryPatch,
    /// `Files a/x and b/x differ`: a text file whose lines are left out, in the format of diff(1).
    LinesLeftOut,
}

const HEADERS: [(&[u8], HeaderKey); 16] = [
    (b"old mode ", HeaderKey::OldMode),
    (b"new mode ", HeaderKey::NewMode),
    (b"new file mode ", HeaderKey::NewFileMode),
    (b"deleted file mode ", HeaderKey::DeletedFileMode),
    (b"rename from ", HeaderKey::RenameFrom),
    (b"rename to ", HeaderKey::RenameTo),
    (b"copy from ", HeaderKey::CopyFrom),
    (b"copy to ", HeaderKey::CopyTo),
    (b"similarity index ", HeaderKey::Similarity),
    (b"dissimilarity index ", HeaderKey::Dissimilarity),
    (b"index ", HeaderKey::Index),
    (b"--- ", HeaderKey::OldName),
    (b"+++ ", HeaderKey::NewName),
    (b"Binary files ", HeaderKey::BinaryFiles),
    (b"GIT binary patch", HeaderKey::BinaryPatch),
    (b"Files ", HeaderKey::LinesLeftOut),
];

/// Position of a hunk in both files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HunkHeader<'a> {
    /// First line in the old file. For an empty range, the line before it.
    pub old_start: u64,
    /// Number of lines of the old file.
    pub old_count: u64,
    /// First line in the new file. For an empty range, the line before it.
    pub new_start: u64,
    /// Number of lines of the new file.
    pub new_count: u64,
    /// Text after the second `@@`, such as the name of the function.
    pub section: &'a [u8],
}

impl<'a> HunkHeader<'a> {
    /// Parses `@@ -1,2 +3,4 @@ section`; a count of 1 may be omitted.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let (old_start, old_count, rest) = range(line.strip_prefix(b"@@ -")?)?;
        let (new_start, new_count, rest) = range(rest.strip_prefix(b" +")?)?;
        let section = rest.strip_prefix(b" @@")?;
        Some(Self {
            old_start,
            old_count,
            new_start,
            new_count,
            section: section.strip_prefix(b" ").unwrap_or(section),
        })
    }
}

/// Parses `12,3…` into first line, count and remaining text.
fn range(text: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        None => Some((start, 1, rest)),
        Some(count) => number(count).map(|(count, rest)| (start, count, rest)),
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(digits)?;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((number, rest))
}

impl OpaqueEnd {
    fn after_blank(self) -> Option<Self> {
        match self {
            Self::File => Some(self),
            Self::Blanks(count) => (count > 1).then(|| Self::Blanks(count - 1)),
        }
    }
}

/// Classifies each line of a diff.
///
/// The reader counts the lines of a hunk, so content that looks like a header is still read as
/// content. Only a line that starts with `diff --git` ends a hunk that is incomplete. It cannot be
/// content, because every content line starts with a space, `+`, `-` or `\`.
#[derive(Clone, Debug, Default)]
pub struct LineReader {
    /// Number of the next line on each side.
    old: u64,
    new: u64,
    /// Remaining lines of the hunk on each side.
    old_left: u64,
    new_left: u64,
    /// True if the previous line was content of a hunk.
    in_content: bool,
    opaque: Option<OpaqueEnd>,
}

/// Where opaque lines end. The start of another file ends them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpaqueEnd {
    /// With the file: a combined diff.
    File,
    /// After this number of blank lines. A blank line ends each of the two blocks of a binary
    /// patch.
    Blanks(u8),
}

impl LineReader {
    /// Classifies the next line, with or without its line end.
    pub fn read<'a>(&mut self, line: &'a [u8]) -> DiffLine<'a> {
        if let Some(first) = self.file(line) {
            return first;
        }
        if let Some(end) = self.opaque {
            if without_end(line).is_empty() {
                self.opaque = end.after_blank();
            }
            return DiffLine::Opaque;
        }
        let was_content = std::mem::take(&mut self.in_content);
        let is_in_hunk = self.old_left > 0 || self.new_left > 0;
        if line.first() == Some(&b'\\') && (is_in_hunk || was_content) {
            self.in_content = was_content;
            return DiffLine::NoNewline;
        }
        if is_in_hunk {
            self.in_content = true;
            return self.content(line);
        }
        let line = without_end(line);
        if let Some(hunk) = HunkHeader::parse(line) {
            (self.old, self.new) = (hunk.old_start, hunk.new_start);
            (self.old_left, self.new_left) = (hunk.old_count, hunk.new_count);
            return DiffLine::Hunk(hunk);
        }
        let header = HEADERS.iter().find_map(|(start, key)| {
            let value = line.strip_prefix(*start)?;
            let fits = *key != HeaderKey::LinesLeftOut || value.ends_with(b" differ");
            fits.then_some((*key, value))
        });
        match header {
            Some((key, value)) => {
                self.opaque = (key == HeaderKey::BinaryPatch).then_some(OpaqueEnd::Blanks(2));
                DiffLine::Header(key, value)
            }
            None => DiffLine::Other,
        }
    }

    fn file<'a>(&mut self, line: &'a [u8]) -> Option<DiffLine<'a>> {
        let rest = without_end(line.strip_prefix(b"diff --")?);
        let first = if let Some(names) = rest.strip_prefix(b"git ") {
            DiffLine::File(names)
        } else {
            let name = rest.strip_prefix(b"cc ");
            DiffLine::Combined(name.or_else(|| rest.strip_prefix(b"combined "))?)
        };
        *self = Self {
            opaque: matches!(first, DiffLine::Combined(_)).then_some(OpaqueEnd::File),
            ..Self::default()
        };
        Some(first)
    }

    fn content<'a>(&mut self, line: &[u8]) -> DiffLine<'a> {
        let (old, new) = (self.old, self.new);
        let (is_old, is_new) = match line.first() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            // Mailers strip the space of an empty context line.
            _ => (true, true),
        };
        self.old = old.saturating_add(u64::from(is_old));
        self.new = new.saturating_add(u64::from(is_new));
        self.old_left = self.old_left.saturating_sub(u64::from(is_old));
        self.new_left = self.new_left.saturating_sub(u64::from(is_new));
        match (is_old, is_new) {
            (true, false) => DiffLine::Removed { old },
            (false, true) => DiffLine::Added { new },
            _ => DiffLine::Context { old, new },
        }
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the full commit id from the first line of a `git format-patch` mail: `From <commit> Mon
/// Sep 17 00:00:00 2001`.
#[must_use]
pub fn mail_commit(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix("From ")?;
    let (oid, rest) = line.split_once(' ')?;
    (crate::is_full_oid(oid) && rest.starts_with("Mon Sep 17 00:00:00 2001")).then_some(oid)
}
