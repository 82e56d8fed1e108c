//! Prints diffs as they arrive: filters files, neutralises or refuses terminal escapes, adds
//! colours. Memory use does not grow with the diff.

mod lines;
mod sections;
mod stat;

use forge_core::{
    Error, ErrorKind, PathFilter, Result,
    diff::{DiffLine, LineReader},
    text,
};

pub use stat::stat_text;

use self::{lines::Lines, sections::SectionFilter};
use super::color::Palette;

/// Handling of terminal escapes in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// Passes escapes through.
    Allow,
    /// Stops at the first escape, for a pipe with an unknown reader.
    Refuse,
    /// Makes escapes visible, for a terminal.
    Neutralise,
}

/// Options for printing a diff.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// Globs of files to leave out.
    pub exclude: Vec<String>,
    /// The files to show; `None` for all.
    pub paths: Option<PathFilter>,
    /// Handling of terminal escapes.
    pub escapes: Escapes,
    /// Colours of the printed lines.
    pub palette: Palette,
    /// True if the diff is a series of mails (`git format-patch`).
    pub mails: bool,
}

/// Converts the bytes of a diff into output, chunk by chunk.
#[derive(Debug)]
pub struct Printer {
    options: DiffOptions,
    /// Splits the diff into lines; `None` if bytes pass unchanged.
    lines: Option<Lines>,
    sections: SectionFilter,
    /// Classifies the shown lines as headers, hunks and content.
    reader: LineReader,
    look: LineContext,
    /// The last byte of a chunk, held back because it may begin an escape sequence.
    held: Option<u8>,
}

/// The context that determines a line's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineContext {
    /// Between `diff --git` and the first hunk.
    Header,
    Hunk,
    Added,
    Removed,
    Plain,
}

impl Printer {
    /// Creates a printer at the start of a diff.
    #[must_use]
    pub fn new(options: DiffOptions) -> Self {
        let by_line = !options.exclude.is_empty()
            || options.paths.is_some()
            || options.palette.on
            || options.escapes == Escapes::Neutralise;
        Self {
            lines: by_line.then(Lines::default),
            sections: SectionFilter::new(
                options.exclude.clone(),
                options.paths.clone(),
                options.mails,
            ),
            reader: LineReader::default(),
            look: LineContext::Plain,
            held: None,
            options,
        }
    }

    /// Processes a chunk, and appends its output to `out`.
    ///
    /// # Errors
    ///
    /// Fails at a refused terminal escape; `out` then has everything before the escape.
    pub fn feed(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Some(mut lines) = self.lines.take() else {
            let mut bytes: Vec<u8> = self.held.take().into_iter().collect();
            bytes.extend_from_slice(chunk);
            if self.options.escapes == Escapes::Refuse && bytes.last() == Some(&0xC2) {
                self.held = bytes.pop();
            }
            return self.emit(&bytes, out);
        };
        let result = lines.feed(chunk, |starts, line| self.line(starts, line, out));
        self.lines = Some(lines);
        result
    }

    /// Appends the output that is still held back to `out`.
    ///
    /// # Errors
    /// The errors of [`Self::feed`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if let Some(byte) = self.held.take() {
            self.emit(&[byte], out)?;
        }
        if let Some(mut lines) = self.lines.take() {
            lines.finish(|starts, line| self.line(starts, line, out))?;
        }
        if let Some(header) = self.sections.finish() {
            self.header(&header, out)?;
        }
        Ok(())
    }

    fn line(&mut self, starts: bool, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (header, keep) = self.sections.line(starts, line);
        if let Some(header) = header {
            self.header(&header, out)?;
        }
        if keep {
            self.shown(starts, line, out)
        } else {
            Ok(())
        }
    }

    /// Processes header lines that were held back until the file name was known.
    fn header(&mut self, header: &[u8], out: &mut Vec<u8>) -> Result<()> {
        header
            .split_inclusive(|b| *b == b'\n')
            .try_for_each(|line| self.shown(true, line, out))
    }

    fn shown(&mut self, starts: bool, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if !self.options.palette.on {
            return self.emit(line, out);
        }
        if starts {
            self.look = next_context(self.look, self.reader.read(line), line);
        }
        let mut plain = Vec::with_capacity(line.len());
        let result = self.emit(line, &mut plain);
        let (text, end) = match plain.split_last() {
            Some((b'\n', text)) => (text, &b"\n"[..]),
            _ => (plain.as_slice(), &b""[..]),
        };
        let (before, after) = match self.look {
            LineContext::Header => ("\x1b[1m", "\x1b[0m"),
            LineContext::Hunk => ("\x1b[36m", "\x1b[0m"),
            LineContext::Added => ("\x1b[32m", "\x1b[0m"),
            LineContext::Removed => ("\x1b[31m", "\x1b[0m"),
            LineContext::Plain => ("", ""),
        };
        for part in [before.as_bytes(), text, after.as_bytes(), end] {
            out.extend_from_slice(part);
        }
        result
    }

    fn emit(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self.options.escapes {
            Escapes::Allow => out.extend_from_slice(bytes),
            Escapes::Neutralise => out.extend_from_slice(&text::neutralise_bytes(bytes)),
            Escapes::Refuse if text::has_terminal_escapes(bytes) => {
                let at = (0..bytes.len())
                    .find(|at| {
                        let pair = bytes.get(at.saturating_sub(1)..=*at);
                        pair.is_some_and(text::has_terminal_escapes)
                    })
                    .unwrap_or(0);
                // For an escape of two bytes, `at` is the position of the second byte, so the
                // output ends before the first.
                let clean = if bytes.get(at) == Some(&0x1B) {
                    at
                } else {
                    at.saturating_sub(1)
                };
                out.extend_from_slice(bytes.get(..clean).unwrap_or_default());
                return Err(Error::new(
                    ErrorKind::InvalidInput { field: None },
                    "the diff contains terminal escape sequences; pass --allow-escape-sequences to output it anyway",
                ));
            }
            Escapes::Refuse => out.extend_from_slice(bytes),
        }
        Ok(())
    }
}

fn next_context(before: LineContext, kind: DiffLine<'_>, line: &[u8]) -> LineContext {
    match (kind, line.first()) {
        (DiffLine::File(_), _) => LineContext::Header,
        (DiffLine::Hunk(_), _) => LineContext::Hunk,
        _ if before == LineContext::Header => LineContext::Header,
        (_, Some(b'+')) => LineContext::Added,
        (_, Some(b'-')) => LineContext::Removed,
        _ => LineContext::Plain,
    }
}

#[cfg(test)]
mod tests;
