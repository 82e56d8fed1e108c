use forge_core::text::strip_ansi;
use unicode_width::UnicodeWidthStr as _;

/// A word or a space, with its style.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) plain: String,
    shown: String,
    ends_line: bool,
}

impl Span {
    /// Splits a text into words and spaces. Each word is painted separately, so that a line can end
    /// after any word.
    pub(super) fn split_words(text: &str, paint: impl Fn(&str) -> String) -> Vec<Self> {
        let mut spans: Vec<Self> = Vec::new();
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            if !word.is_empty() {
                spans.push(Self {
                    plain: word.to_owned(),
                    shown: paint(word),
                    ends_line: false,
                });
            }
            if word.len() < piece.len() {
                spans.push(Self {
                    plain: " ".to_owned(),
                    shown: " ".to_owned(),
                    ends_line: false,
                });
            }
        }
        spans
    }

    pub(super) fn line_break() -> Self {
        Self {
            plain: String::new(),
            shown: String::new(),
            ends_line: true,
        }
    }

    fn is_space(&self) -> bool {
        self.plain == " "
    }
}

/// Fills lines of `room` columns. Spans without a space between them stay on one line. An overlong
/// word gets its own line.
pub(super) fn wrap(spans: &[Span], room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for group in
        spans.chunk_by(|a, b| !(a.is_space() || b.is_space() || a.ends_line || b.ends_line))
    {
        let space = group.first().is_some_and(Span::is_space);
        if group.first().is_some_and(|s| s.ends_line) {
            lines.push(std::mem::take(&mut line));
            used = 0;
            continue;
        }
        let width: usize = group.iter().map(|s| s.plain.width()).sum();
        if space && (used == 0 || line.ends_with(' ')) {
            continue;
        }
        if !space && used > 0 && used + width > room {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        line.extend(group.iter().map(|s| s.shown.as_str()));
        used += width;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    for line in &mut lines {
        line.truncate(line.trim_end_matches(' ').len());
    }
    lines
}

/// Returns the width of a text without its colour sequences.
pub(super) fn visible_width(text: &str) -> usize {
    strip_ansi(text).width()
}
