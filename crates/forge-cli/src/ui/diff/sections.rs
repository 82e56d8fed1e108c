use forge_core::{
    PathFilter,
    diff::{DiffLine, FileHeader, LineReader, mail_commit},
    glob,
};

/// Drops the files of a diff that match an excluding glob, or that are not among the selected
/// paths.
#[derive(Debug)]
pub(super) struct SectionFilter {
    exclude: Vec<String>,
    paths: Option<PathFilter>,
    mails: bool,
    state: FilterState,
    reader: LineReader,
}

#[derive(Debug)]
enum FilterState {
    /// Outside of a file's section, or in a file that is shown.
    Keep,
    /// In a file that is left out.
    Drop,
    /// In the header of a file. Its lines are held back, because the file's name is known only
    /// after the header.
    Header(Vec<u8>),
    /// In a mail message, which is not part of a diff.
    Message,
}

impl SectionFilter {
    pub(super) fn new(exclude: Vec<String>, paths: Option<PathFilter>, mails: bool) -> Self {
        Self {
            exclude,
            paths,
            mails,
            state: FilterState::Keep,
            reader: LineReader::default(),
        }
    }

    /// Processes a line. Returns the header that was held back, if it can be shown now, and whether
    /// to show the line.
    pub(super) fn line(&mut self, starts: bool, line: &[u8]) -> (Option<Vec<u8>>, bool) {
        if self.exclude.is_empty() && self.paths.is_none() {
            return (None, true);
        }
        if !starts {
            if let FilterState::Header(held) = &mut self.state {
                held.extend_from_slice(line);
                return (None, false);
            }
            return (None, !matches!(self.state, FilterState::Drop));
        }
        if self.mails && mail_commit(line).is_some() {
            let header = self.finish();
            self.state = FilterState::Message;
            self.reader = LineReader::default();
            return (header, true);
        }
        if matches!(self.state, FilterState::Message) {
            if line.trim_ascii_end() == b"---" {
                self.state = FilterState::Keep;
            }
            return (None, true);
        }
        match (self.reader.read(line), &mut self.state) {
            (DiffLine::File(_) | DiffLine::Combined(_), _) => {
                let header = self.finish();
                self.state = FilterState::Header(line.to_vec());
                (header, false)
            }
            (DiffLine::Header(..), FilterState::Header(held)) => {
                held.extend_from_slice(line);
                (None, false)
            }
            (_, FilterState::Header(_)) => {
                let header = self.finish();
                let keep = header.is_some();
                self.state = if keep {
                    FilterState::Keep
                } else {
                    FilterState::Drop
                };
                (header, keep)
            }
            (_, FilterState::Drop) => (None, false),
            (_, FilterState::Keep | FilterState::Message) => (None, true),
        }
    }

    /// Returns the header that is still held back, if its file is shown.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let FilterState::Header(held) = std::mem::replace(&mut self.state, FilterState::Keep)
        else {
            return None;
        };
        let header = FileHeader::parse(&held);
        let excluded = self.exclude.iter().any(|g| glob::matches(g, header.path()));
        let is_named = self.paths.as_ref().is_none_or(|paths| {
            let previous = header.previous_path();
            paths.matches(header.path()) || previous.is_some_and(|path| paths.matches(path))
        });
        (is_named && !excluded).then_some(held)
    }
}
