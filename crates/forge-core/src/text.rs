//! Sanitises untrusted text from forges. A title can contain terminal escapes that rewrite the
//! screen, and characters that reorder or hide text.
//!
//! [`neutralise`] makes such characters visible and leaves all other text unchanged:
//!
//! | character | shown as |
//! |---|---|
//! | C0 controls except tab and newline; DEL | their control picture (`␛`, `␇`, `␡`) |
//! | carriage return | unchanged before a newline, else `␍` |
//! | C1 controls | `<U+009B>` |
//! | controls of the writing direction (U+061C, U+200E/F, U+202A–202E, U+2066–2069) | `<U+202E>` |
//! | zero-width characters (U+200B, U+2060–2064, U+FEFF, U+00AD, fillers, …) | `<U+200B>` |
//! | tags (U+E0000–E007F) | `<U+E0041>` |
//! | joiners (U+200C/D), variation selectors | unchanged after a letter or emoji, else `<U+200D>` |
//!
//! [`quote`] marks a text as foreign: each line after a prefix, one line between double quotes, or
//! text of HTML. The quoted text cannot imitate the text around it.
//!
//! [`drop_mention_breaks`] first removes the zero-width spaces by which bots break up mentions.
//!
//! Bytes that are not UTF-8 pass unchanged, because a diff of Latin-1 text must stay valid. A UTF-8
//! terminal shows them as replacement characters.

use std::{borrow::Cow, io::Write as _};

/// Makes control characters and invisible characters visible, as described for the module.
///
/// Applying the function twice has the same effect as applying it once.
#[must_use]
pub fn neutralise(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_suspect) {
        return Cow::Borrowed(text);
    }
    // `neutralise_all` writes only ASCII and whole characters, so the result is UTF-8.
    match neutralise_all(text.as_bytes()) {
        out if out == text.as_bytes() => Cow::Borrowed(text),
        out => Cow::Owned(String::from_utf8(out).unwrap_or_default()),
    }
}

/// Like [`neutralise`], but returns one line: every run of white space, including line breaks,
/// becomes one space, and the ends are trimmed.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    if joined == text {
        return neutralise(text);
    }
    Cow::Owned(neutralise(&joined).into_owned())
}

/// The form in which [`quote`] writes foreign text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote<'a> {
    /// Each line begins with the prefix and ends with a newline.
    Lines {
        /// The prefix, such as `> `.
        prefix: &'a str,
    },
    /// A line between double quotes. In the text, tabs and line ends become spaces, and double
    /// quotes become single quotes.
    Inline,
    /// Text for an HTML element, or for an attribute between double quotes.
    Html,
}

/// Quotes foreign text: neutralises the text, and writes it so that it cannot end the quote.
///
/// A carriage return without a newline does not end a line; [`Quote::Lines`] shows it as `␍`.
#[must_use]
pub fn quote(text: &str, form: Quote<'_>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    match form {
        Quote::Lines { prefix } => {
            for line in neutralise(text).lines() {
                out.push_str(prefix);
                out.push_str(line);
                out.push('\n');
            }
        }
        Quote::Inline => {
            // `neutralise` would make a carriage return visible, so carriage returns are replaced
            // first.
            let in_line = |c| match c {
                '"' => '\'',
                '\n' | '\r' | '\t' => ' ',
                c => c,
            };
            let line: String = text.chars().map(in_line).collect();
            out.push('"');
            out.push_str(&neutralise(&line));
            out.push('"');
        }
        Quote::Html => {
            for c in neutralise(text).chars() {
                match c {
                    '&' => out.push_str("&amp;"),
                    '<' => out.push_str("&lt;"),
                    '>' => out.push_str("&gt;"),
                    '"' => out.push_str("&quot;"),
                    '\'' => out.push_str("&#39;"),
                    c => out.push(c),
                }
            }
        }
    }
    out
}

/// Like [`neutralise`], for bytes that may be invalid UTF-8, such as a diff. For a stream use
/// [`Neutraliser`].
#[must_use]
pub fn neutralise_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let plain = |b: &u8| matches!(b, b'\t' | b'\n' | b' '..=b'~');
    if bytes.iter().all(plain) {
        return Cow::Borrowed(bytes);
    }
    match neutralise_all(bytes) {
        out if out == bytes => Cow::Borrowed(bytes),
        out => Cow::Owned(out),
    }
}

/// Returns true if bytes contain a terminal escape: ESC, or a C1 control in UTF-8 that begins or
/// ends a control sequence (DCS, SOS, CSI, ST, OSC, PM, APC).
#[must_use]
pub fn has_terminal_escapes(bytes: &[u8]) -> bool {
    let c1 = |pair: &[u8]| matches!(pair, [0xC2, 0x90 | 0x98 | 0x9B | 0x9C | 0x9D | 0x9E | 0x9F]);
    bytes.contains(&0x1B) || bytes.windows(2).any(c1)
}

/// Removes the characters that [`neutralise`] makes visible, and returns how many were removed.
/// Meant for readers such as a language model, because visible markers within words would mislead
/// them. Tabs, line breaks and carriage returns stay.
#[must_use]
pub fn strip_hidden(text: &str) -> (Cow<'_, str>, usize) {
    if !text.chars().any(|c| c != '\r' && is_suspect(c)) {
        return (Cow::Borrowed(text), 0);
    }
    let mut neutraliser = Neutraliser::new();
    let mut hidden = 0;
    let kept: String = text
        .chars()
        .filter(|c| {
            if *c == '\r' {
                neutraliser.before = PreviousChar::Plain;
                return true;
            }
            let (shown, before) = neutraliser.judge(*c);
            // A removed character does not count as the previous character of the one after it.
            if shown {
                neutraliser.before = before;
            } else {
                hidden += 1;
            }
            shown
        })
        .collect();
    (Cow::Owned(kept), hidden)
}

/// Zero-width spaces in Markdown, as a character and as entities.
const MENTION_BREAKS: [&str; 4] = ["\u{200b}", "&#8203;", "&#x200B;", "&ZeroWidthSpace;"];

/// Removes a single zero-width space between `@` or `#` and an ASCII letter or digit. Bots put it
/// there so that their texts notify nobody; it hides nothing. For Markdown only, because in a name
/// every hidden character counts.
#[must_use]
pub fn drop_mention_breaks(markdown: &str) -> Cow<'_, str> {
    if !MENTION_BREAKS.iter().any(|space| markdown.contains(space)) {
        return Cow::Borrowed(markdown);
    }
    let mut out = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some(at) = rest.find(['@', '#']) {
        let (before, after) = rest.split_at_checked(at + 1).unwrap_or((rest, ""));
        out.push_str(before);
        let mut spaces = MENTION_BREAKS.iter();
        let named = spaces.find_map(|space| after.strip_prefix(space));
        let named = named.filter(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric()));
        rest = named.unwrap_or(after);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Removes the sequences that colour a terminal's text or move its cursor (`ESC [ … letter`). Logs
/// contain them. A single ESC stays; [`neutralise`] makes it visible.
#[must_use]
pub fn strip_ansi(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| ('@'..='~').contains(&c));
        out.push_str(end.and_then(|at| part.get(at + 1..)).unwrap_or(part));
    }
    out
}

/// Returns the first `max` characters of a text, and the number of characters left out.
#[must_use]
pub fn truncate_chars(text: &str, max: usize) -> (Cow<'_, str>, usize) {
    match text.char_indices().nth(max) {
        None => (Cow::Borrowed(text), 0),
        Some((at, _)) => {
            let (kept, dropped) = text.split_at_checked(at).unwrap_or((text, ""));
            (Cow::Borrowed(kept), dropped.chars().count())
        }
    }
}

fn neutralise_all(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let mut neutraliser = Neutraliser::new();
    neutraliser.push(bytes, &mut out);
    neutraliser.finish(&mut out);
    out
}

/// Like [`neutralise_bytes`], for a stream of chunks.
///
/// The result does not depend on where the chunks are cut. Therefore the start of an incomplete
/// character, or a carriage return at the end of a chunk, is held back until the next chunk.
/// [`Self::finish`] writes what is held back.
#[derive(Debug, Default)]
pub struct Neutraliser {
    /// The first bytes of an incomplete character, at most three.
    held: Vec<u8>,
    /// True if a carriage return is held back until the next byte.
    carriage_return: bool,
    before: PreviousChar,
}

/// The kind of the previous character. It decides whether a joiner or a variation selector may
/// follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PreviousChar {
    /// Neither a joiner nor a selector may follow: ASCII, the start of a line, a character made
    /// visible.
    #[default]
    Plain,
    /// A digit, `#` or `*`. U+FE0F may follow to form a keycap.
    Keycap,
    /// A letter or an emoji. Both a joiner and a selector may follow.
    Letter,
    /// A variation selector. A joiner may follow. A second selector may not, because a row of
    /// selectors can carry hidden text.
    Selector,
    /// A joiner. Neither a joiner nor a selector may follow.
    Joiner,
}

impl Neutraliser {
    /// Creates a neutraliser for the start of a text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes a chunk and appends the output to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let joined;
        let mut rest = if self.held.is_empty() {
            chunk
        } else {
            let mut bytes = std::mem::take(&mut self.held);
            bytes.extend_from_slice(chunk);
            joined = bytes;
            joined.as_slice()
        };
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return self.text(text, out),
                Err(error) => error,
            };
            let (valid, invalid) = rest
                .split_at_checked(error.valid_up_to())
                .unwrap_or((rest, &[]));
            self.text(std::str::from_utf8(valid).unwrap_or_default(), out);
            let Some(length) = error.error_len() else {
                self.held = invalid.to_vec();
                return;
            };
            let (foreign, after) = invalid.split_at_checked(length).unwrap_or((invalid, &[]));
            self.foreign(foreign, out);
            rest = after;
        }
    }

    /// Writes the bytes that are held back, and resets the state.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            self.flush_return(out);
        } else {
            self.foreign(&held, out);
        }
        *self = Self::default();
    }

    /// Handles bytes that are invalid UTF-8.
    fn foreign(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.flush_return(out);
        self.before = PreviousChar::Plain;
        out.extend_from_slice(bytes);
    }

    fn flush_return(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.carriage_return) {
            out.extend_from_slice("␍".as_bytes());
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        let mut buffer = [0; 4];
        for c in text.chars() {
            if self.carriage_return {
                if c == '\n' {
                    self.carriage_return = false;
                    out.push(b'\r');
                } else {
                    self.flush_return(out);
                }
            }
            if c == '\r' {
                self.carriage_return = true;
                self.before = PreviousChar::Plain;
                continue;
            }
            let (shown, before) = self.judge(c);
            self.before = before;
            if shown {
                out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            } else {
                write_visibly(c, out);
            }
        }
    }

    /// Returns whether a character may be written unchanged, and the state after it.
    fn judge(&self, c: char) -> (bool, PreviousChar) {
        match c {
            '0'..='9' | '#' | '*' => (true, PreviousChar::Keycap),
            '\t' | '\n' | ' '..='~' => (true, PreviousChar::Plain),
            '\u{200C}' | '\u{200D}' => match self.before {
                PreviousChar::Letter | PreviousChar::Selector => (true, PreviousChar::Joiner),
                PreviousChar::Plain | PreviousChar::Keycap | PreviousChar::Joiner => {
                    (false, PreviousChar::Plain)
                }
            },
            // Selectors for text or emoji presentation.
            '\u{FE0E}' | '\u{FE0F}' => match self.before {
                PreviousChar::Keycap | PreviousChar::Letter => (true, PreviousChar::Selector),
                PreviousChar::Plain | PreviousChar::Selector | PreviousChar::Joiner => {
                    (false, PreviousChar::Plain)
                }
            },
            '\u{FE00}'..='\u{FE0D}' | '\u{E0100}'..='\u{E01EF}' => match self.before {
                PreviousChar::Letter => (true, PreviousChar::Selector),
                _ => (false, PreviousChar::Plain),
            },
            c if is_suspect(c) => (false, PreviousChar::Plain),
            c if c.is_whitespace() => (true, PreviousChar::Plain),
            _ => (true, PreviousChar::Letter),
        }
    }
}

/// Returns true if a character is made visible, always or in some positions.
fn is_suspect(c: char) -> bool {
    matches!(c,
        // Control characters.
        '\0'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}'
        // Controls of the writing direction.
        | '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        // Characters of zero width, and a line break that only some programs recognise.
        | '\u{AD}' | '\u{34F}' | '\u{200B}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}'
        // Fillers of Hangul, Khmer and Mongolian, and controls of shorthand and musical notation.
        | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        // Tags, and the reserved characters next to them.
        | '\u{E0000}'..='\u{E0FFF}'
        // Characters that are allowed after certain other characters.
        | '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

fn write_visibly(c: char, out: &mut Vec<u8>) {
    let picture = match c {
        '\0'..='\u{1F}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7F}' => Some('␡'),
        _ => None,
    };
    // Writing to a `Vec` does not fail.
    let _ = match picture {
        Some(picture) => write!(out, "{picture}"),
        None => write!(out, "<U+{:04X}>", u32::from(c)),
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_width_space_of_bots_is_dropped() {
        for (text, wanted) in [
            (
                "Thanks @\u{200b}ada, see #\u{200b}12.",
                "Thanks @ada, see #12.",
            ),
            (
                "[@&#8203;types/node](x) @&#x200B;a #&ZeroWidthSpace;7",
                "[@types/node](x) @a #7",
            ),
            ("plain @ada #12 &#8203;x", "plain @ada #12 &#8203;x"),
        ] {
            assert_eq!(drop_mention_breaks(text), wanted);
        }
        // Anything else stays visible: two spaces, one before the sign, one before no name.
        for kept in [
            "@\u{200b}\u{200b}ada",
            "a\u{200b}@ada",
            "pass\u{200b}word",
            "@\u{200b} ada",
            "@\u{200b}\u{202e}ada",
            "#\u{200b}",
        ] {
            assert_eq!(drop_mention_breaks(kept), kept, "{kept:?}");
        }
    }

    #[test]
    fn ansi_sequences_are_stripped_and_text_stays() {
        let log = "\u{1b}[36;1mrun\u{1b}[0m a[1] \u{1b}[K\u{1b}";
        assert_eq!(strip_ansi(log), "run a[1] \u{1b}");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "",
            "plain\ttext\nwith lines\r\nof both kinds\r\n",
            "Vec<T>, a<b && c>d, &amp; <U+202E> ^X \\x1b",
            "naïve café, e\u{301}, Straße, 日本語, 한국어, ภาษาไทย",
            "שלום עולם, مرحبا",
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "👩\u{200D}👩\u{200D}👧 ❤\u{FE0F}\u{200D}🔥 👍🏽 🇩🇪 1\u{FE0F}\u{20E3} ©\u{FE0F}",
            "葛\u{E0100}",
            "␛[31m is a picture",
        ] {
            assert!(
                matches!(neutralise(text), Cow::Borrowed(t) if t == text),
                "{text:?}"
            );
            let bytes = neutralise_bytes(text.as_bytes());
            assert!(
                matches!(bytes, Cow::Borrowed(b) if b == text.as_bytes()),
                "{text:?}"
            );
        }
    }

    #[test]
    fn hidden_characters_become_visible() {
        for (text, shown) in [
            ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("\x1b]0;title\x07", "␛]0;title␇"),
            ("a\0b\x08c\x7f", "a␀b␈c␡"),
            ("old\rnew", "old␍new"),
            ("end\r", "end␍"),
            ("\r\r\n", "␍\r\n"),
            ("\u{9b}31m \u{85}", "<U+009B>31m <U+0085>"),
            ("\u{202e}evil\u{202c}", "<U+202E>evil<U+202C>"),
            ("a\u{200e}b\u{200f}c\u{61c}", "a<U+200E>b<U+200F>c<U+061C>"),
            ("\u{2066}x\u{2069}", "<U+2066>x<U+2069>"),
            (
                "pass\u{200b}word\u{2060}\u{feff}",
                "pass<U+200B>word<U+2060><U+FEFF>",
            ),
            ("\u{e0041}\u{e007f}", "<U+E0041><U+E007F>"),
            ("soft\u{ad}hyphen", "soft<U+00AD>hyphen"),
            ("pay\u{200d}pal", "pay<U+200D>pal"),
            ("\u{200c}", "<U+200C>"),
            ("👩\u{200d}\u{200d}", "👩\u{200d}<U+200D>"),
            ("a\u{fe0f}", "a<U+FE0F>"),
            ("葛\u{e0100}\u{e0101}", "葛\u{e0100}<U+E0101>"),
            ("\u{3164}\u{115f}", "<U+3164><U+115F>"),
            ("a\u{2028}b", "a<U+2028>b"),
        ] {
            assert_eq!(neutralise(text), shown, "{text:?}");
            assert_eq!(
                neutralise_bytes(text.as_bytes()),
                shown.as_bytes(),
                "{text:?}"
            );
        }
    }

    /// The characters with the property `Default_Ignorable_Code_Point` in Unicode 17.
    #[test]
    fn ignorable_characters_become_visible() {
        let ignorable = [
            '\u{AD}'..='\u{AD}',
            '\u{34F}'..='\u{34F}',
            '\u{61C}'..='\u{61C}',
            '\u{115F}'..='\u{1160}',
            '\u{17B4}'..='\u{17B5}',
            '\u{180B}'..='\u{180F}',
            '\u{200B}'..='\u{200F}',
            '\u{202A}'..='\u{202E}',
            '\u{2060}'..='\u{206F}',
            '\u{3164}'..='\u{3164}',
            '\u{FE00}'..='\u{FE0F}',
            '\u{FEFF}'..='\u{FEFF}',
            '\u{FFA0}'..='\u{FFA0}',
            '\u{FFF0}'..='\u{FFF8}',
            '\u{1BCA0}'..='\u{1BCA3}',
            '\u{1D173}'..='\u{1D17A}',
            '\u{E0000}'..='\u{E0FFF}',
        ];
        for c in ignorable.into_iter().flatten() {
            let (text, shown) = (format!("a{c}"), format!("a<U+{:04X}>", u32::from(c)));
            assert_eq!(neutralise(&text), shown);
            assert_eq!(strip_hidden(&text), ("a".into(), 1), "{shown}");
        }
    }

    #[test]
    fn hidden_characters_are_stripped() {
        for (text, kept, hidden) in [
            (
                "Vec<T> a<b && c\r\n\t👩\u{200d}👧 1\u{fe0f}\u{20e3}",
                None,
                0,
            ),
            ("\u{202e}evil\u{202c}", Some("evil"), 2),
            ("pass\u{200b}word\u{e0041}\u{ad}", Some("password"), 3),
            ("\x1b[31mred", Some("[31mred"), 1),
            ("pay\u{200d}pal", Some("paypal"), 1),
            // A row of selectors can carry a message. Only the first one belongs to the letter.
            ("葛\u{e0100}\u{e0101}\u{e0102}", Some("葛\u{e0100}"), 2),
            ("👩\u{200b}\u{200d}👧", Some("👩\u{200d}👧"), 1),
        ] {
            assert_eq!(
                strip_hidden(text),
                (kept.unwrap_or(text).into(), hidden),
                "{text:?}"
            );
        }
    }

    #[test]
    fn bytes_of_other_encodings_are_unchanged() {
        for bytes in [
            &b"caf\xe9 \x9b \x80\xff"[..],
            b"\xe2\x80",
            b"\xc3",
            b"\xf0\x9f\x91",
            b"\x93quoted\x94",
        ] {
            assert_eq!(neutralise_bytes(bytes), bytes);
        }
        assert_eq!(neutralise_bytes(b"\xff\x1b[m"), &b"\xff\xe2\x90\x9b[m"[..]);
        assert_eq!(neutralise_bytes(b"\xc2\x9b\xc2"), &b"<U+009B>\xc2"[..]);
        assert_eq!(neutralise_bytes(b"\r\xff"), &b"\xe2\x90\x8d\xff"[..]);
    }

    #[test]
    fn title_is_reduced_to_one_line() {
        assert_eq!(
            one_line("a  title\r\n of\u{a0}three\u{2028}lines\u{85} "),
            "a title of three lines"
        );
        assert_eq!(one_line("\x1b[2J\n\tx"), "␛[2J x");
        assert_eq!(one_line(" \n "), "");
        assert!(matches!(one_line("plain title"), Cow::Borrowed(_)));
    }

    #[test]
    fn quoted_lines_begin_with_prefix() {
        let lines = |text| quote(text, Quote::Lines { prefix: "| " });
        assert_eq!(lines("one\n\ntwo\r\n"), "| one\n| \n| two\n");
        assert_eq!(lines("a\rb\u{85}c\u{2028}d"), "| a␍b<U+0085>c<U+2028>d\n");
        assert_eq!(lines("\n"), "| \n");
        assert_eq!(lines(""), "");
    }

    #[test]
    fn inline_quote_has_a_single_line_without_quotes() {
        for (text, shown) in [
            ("Fix\" | 3 approved", "\"Fix' | 3 approved\""),
            ("a\r\nb:\tc", "\"a  b: c\""),
            ("\x1b[m\u{2029}", "\"␛[m<U+2029>\""),
            ("", "\"\""),
        ] {
            assert_eq!(quote(text, Quote::Inline), shown);
        }
    }

    #[test]
    fn html_quote_escapes_markup() {
        let shown = quote("<a href='x'>\"&\u{202e}\n", Quote::Html);
        assert_eq!(
            shown,
            "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&lt;U+202E&gt;\n"
        );
    }

    #[test]
    fn terminal_escapes_are_detected() {
        for bytes in [
            &b"\x1b[m"[..],
            b"x\xc2\x9b",
            b"\xc2\x9d0;",
            b"\xc2\x90",
            b"\xc2\x9f",
        ] {
            assert!(has_terminal_escapes(bytes), "{bytes:?}");
        }
        for bytes in [
            &b""[..],
            b"\xc2",
            b"\x9b",
            b"\xc2\xa9",
            b"\xc2\x85",
            b"\x07\r\n",
            "é\u{202e}".as_bytes(),
        ] {
            assert!(!has_terminal_escapes(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn truncation_counts_characters() {
        assert_eq!(truncate_chars("héllo", 2), ("hé".into(), 3));
        assert_eq!(truncate_chars("héllo", 5), ("héllo".into(), 0));
        assert_eq!(truncate_chars("日本", 0), ("".into(), 2));
        assert_eq!(truncate_chars("", 0), ("".into(), 0));
    }

    #[test]
    fn neutraliser_resets_after_finish() {
        let mut neutraliser = Neutraliser::new();
        let mut out = Vec::new();
        neutraliser.push("é".as_bytes(), &mut out);
        neutraliser.finish(&mut out);
        neutraliser.push("\u{200d}".as_bytes(), &mut out);
        neutraliser.finish(&mut out);
        assert_eq!(out, "é<U+200D>".as_bytes());
    }

    /// Generates characters and bytes at which the code branches.
    fn nasty() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            any::<char>().prop_map(|c| c.to_string().into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..4),
            proptest::sample::select(vec![
                "\x1b",
                "\r",
                "\n",
                "\r\n",
                "\u{9b}",
                "\u{200d}",
                "\u{200c}",
                "\u{fe0f}",
                "\u{fe00}",
                "\u{e0100}",
                "\u{202e}",
                "👩",
                "é",
                "a",
                "1",
                " ",
                "\u{2028}",
                "\u{85}",
                "\u{e0041}",
                "\"",
                "<",
            ])
            .prop_map(|s| s.as_bytes().to_vec()),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn neutralise_removes_escapes_and_is_idempotent(bytes in nasty()) {
            let once = neutralise_bytes(&bytes).into_owned();
            prop_assert!(!has_terminal_escapes(&once));
            prop_assert_eq!(neutralise_bytes(&once).into_owned(), once.clone());

            let text = String::from_utf8_lossy(&bytes).into_owned();
            let once = neutralise(&text).into_owned();
            prop_assert_eq!(neutralise_bytes(text.as_bytes()).into_owned(), once.clone().into_bytes());
            prop_assert_eq!(neutralise(&once).into_owned(), once.clone());
            let (bare, _) = strip_hidden(&text);
            prop_assert_eq!(strip_hidden(&bare), (bare.clone(), 0));
            let on_one_system = text.replace('\r', "");
            let (bare, _) = strip_hidden(&on_one_system);
            prop_assert_eq!(neutralise(&bare).into_owned(), bare.clone().into_owned());
            prop_assert!(!once.replace("\r\n", "").contains(|c: char| c.is_control() && c != '\n' && c != '\t'));

            let line = one_line(&text).into_owned();
            prop_assert!(!line.contains(char::is_control));
            prop_assert!(!line.contains("  "));
            prop_assert_eq!(one_line(&line).into_owned(), line.clone());
        }

        #[test]
        fn quoted_text_stays_within_the_quote(
            bytes in nasty(),
            prefix in proptest::sample::select(vec!["> ", "    │ "]),
        ) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // All characters that some readers treat as the end of a line.
            let is_end = |c: char| {
                matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
            };
            let lines = quote(&text, Quote::Lines { prefix });
            prop_assert!(lines.is_empty() || lines.ends_with('\n'));
            prop_assert!(lines.split_terminator(is_end).all(|line| line.starts_with(prefix)));

            let inline = quote(&text, Quote::Inline);
            let inner = inline.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let inner = inner.unwrap_or("\"");
            prop_assert!(!inner.contains(|c: char| c == '"' || is_end(c)));
            prop_assert_eq!(quote(inner, Quote::Inline), inline.clone());

            let html = quote(&text, Quote::Html);
            prop_assert!(!html.contains(['<', '>', '"', '\'']));
            let entities = ["amp;", "lt;", "gt;", "quot;", "#39;"];
            let mut escaped = html.split('&').skip(1);
            prop_assert!(escaped.all(|rest| entities.iter().any(|name| rest.starts_with(name))));
        }

        #[test]
        fn ascii_text_is_unchanged(text in "[ -~\\t\\n]*") {
            prop_assert!(matches!(neutralise(&text), Cow::Borrowed(_)));
            prop_assert!(matches!(neutralise_bytes(text.as_bytes()), Cow::Borrowed(_)));
        }

        #[test]
        fn neutraliser_output_is_independent_of_chunks(bytes in nasty(), size in 1usize..5) {
            let whole = neutralise_bytes(&bytes).into_owned();
            let mut neutraliser = Neutraliser::new();
            let mut out = Vec::new();
            for chunk in bytes.chunks(size) {
                neutraliser.push(chunk, &mut out);
            }
            neutraliser.finish(&mut out);
            prop_assert_eq!(&out, &whole);

            for at in 0..=bytes.len() {
                let mut out = Vec::new();
                neutraliser.push(&bytes[..at], &mut out);
                neutraliser.push(&bytes[at..], &mut out);
                neutraliser.finish(&mut out);
                prop_assert_eq!(&out, &whole);
            }
        }

        #[test]
        fn truncation_keeps_a_prefix(text in ".*", max in 0usize..20) {
            let (kept, dropped) = truncate_chars(&text, max);
            prop_assert!(text.starts_with(kept.as_ref()));
            prop_assert!(kept.chars().count() <= max);
            prop_assert_eq!(kept.chars().count() + dropped, text.chars().count());
        }
    }
}
