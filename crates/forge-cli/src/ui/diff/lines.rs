use forge_core::Result;

/// Maximum length of a line in bytes; a longer line is processed in parts.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Splits a stream into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    /// True if earlier parts of the current line have been processed.
    continued: bool,
}

impl Lines {
    /// Calls `each` with every complete line, including its newline. A long line is passed in
    /// parts, which never end within a UTF-8 character. The boolean is true for the first part of a
    /// line.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(bool, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for piece in chunk.split_inclusive(|b| *b == b'\n') {
            if self.pending.is_empty() && piece.ends_with(b"\n") && piece.len() <= MAX_LINE_BYTES {
                let starts = !std::mem::take(&mut self.continued);
                each(starts, piece)?;
                continue;
            }
            self.pending.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.pending);
                each(!std::mem::take(&mut self.continued), &line)?;
            } else if self.pending.len() > MAX_LINE_BYTES {
                let rest = self.pending.split_off(boundary(&self.pending));
                let part = std::mem::replace(&mut self.pending, rest);
                each(!std::mem::replace(&mut self.continued, true), &part)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the last line if it has no newline.
    pub(super) fn finish(&mut self, mut each: impl FnMut(bool, &[u8]) -> Result<()>) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.pending);
        each(!self.continued, &line)
    }
}

/// Returns the position at which `bytes` can be cut: before an incomplete last character, and
/// before a carriage return that may belong to a newline.
fn boundary(bytes: &[u8]) -> usize {
    let tail = bytes.iter().rev().take(4).position(|b| *b & 0xC0 != 0x80);
    match tail {
        Some(back) => {
            let at = bytes.len() - 1 - back;
            let first = bytes.get(at).copied().unwrap_or(0);
            if first >= 0xC0 || first == b'\r' {
                at
            } else {
                bytes.len()
            }
        }
        None => bytes.len(),
    }
}
