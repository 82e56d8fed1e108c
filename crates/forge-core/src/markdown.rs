//! Finds the parts of a Markdown text that the page of a forge hides.

mod elements;
mod hidden;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, TagEnd};

pub(crate) use elements::is_block;
pub use hidden::{Hidden, hidden};

/// Maximum length of a text that is parsed as Markdown, in bytes. Texts of forges have at most
/// 65,536 characters of at most four bytes. There is a limit because the parser's tree takes fifty
/// times the memory of the text.
pub const MAX_TEXT: usize = 4 * 65_536;

/// Base limit for the empty cells that a parser may add to the tables of a text. A Markdown parser
/// fills the short rows of a table with empty cells. Each byte of the text raises the limit by
/// [`ADDED_CELLS_PER_BYTE`].
const MAX_ADDED_CELLS: usize = 1_024;
const ADDED_CELLS_PER_BYTE: usize = 2;

/// Returns the part at the beginning of a text that is parsed as Markdown, and the number of bytes
/// after this part.
#[must_use]
pub fn beginning(text: &str) -> (&str, usize) {
    let end = text.floor_char_boundary(MAX_TEXT);
    let read = text.get(..end).unwrap_or(text);
    let end = padded_table(read).unwrap_or(end);
    let (read, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (read, rest.len())
}

/// Returns the start of the widest table if its short rows could make a parser add too many cells.
/// A parser fills every row up to the number of cells in the header, so three thousand bytes can
/// make 260,000 cells.
fn padded_table(text: &str) -> Option<usize> {
    let (mut columns, mut added, mut widest) = (0, 0, 0);
    let (mut at, mut header) = (0, 0);
    for line in text.split_inclusive('\n') {
        let pipes = line.bytes().filter(|byte| *byte == b'|').count();
        // The row of dashes may be in a quote or a list, whose markers then precede it.
        let is_rule = pipes > 0
            && line.contains('-')
            && (line.bytes()).all(|b| {
                b"|-: >*+.)".contains(&b) || b.is_ascii_whitespace() || b.is_ascii_digit()
            });
        if is_rule && pipes + 1 > columns {
            (columns, widest) = (pipes + 1, header);
        }
        added += columns.saturating_sub(pipes + 1);
        // The start of the widest table so far is returned, although a wider table may follow.
        if added > MAX_ADDED_CELLS + ADDED_CELLS_PER_BYTE * text.len() {
            return Some(widest);
        }
        (header, at) = (at, at + line.len());
    }
    None
}

/// Returns the HTML comments of a Markdown text and similar hidden parts, in order.
///
/// - A comment spans from `<!--` to `-->` or `--!>`.
/// - In HTML, browsers also hide `<? … >`, any other `<! … >`, and `</` before a non-letter.
///   Without a `>`, such a part ends at the next tag or at the end of its block.
///
/// Visible text is never returned: code, prose in which `<!--` does not begin HTML, and tags with
/// any attribute values.
///
/// If a comment is still open at the end of an HTML block, it extends to the next comment end that
/// is in HTML, or else to the end of the text. A `-->` in prose or code does not end the comment,
/// because the page escapes it.
///
/// Text that a page never shows is searched for comments as well: the target of a link, a link
/// definition, or a table cell beyond the last column. Tables and footnotes are parsed as on
/// GitHub.
#[must_use]
pub fn html_comments(text: &str) -> Vec<Range<usize>> {
    if !text.contains('<') {
        return Vec::new();
    }
    let mut html = HtmlScan {
        text,
        at: HtmlState::Shown,
        found: Vec::new(),
    };
    // Offset up to which the text has been processed.
    let mut done = 0;
    let options = match padded_table(text) {
        Some(_) => OPTIONS - Options::ENABLE_TABLES,
        None => OPTIONS,
    };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let is_comment = || {
            let begins = text.get(range.clone()).unwrap_or_default();
            begins.starts_with("<!") || begins.starts_with("<?")
        };
        match event {
            Event::End(TagEnd::HtmlBlock) => {
                html.leave(done);
                continue;
            }
            // An inline tag is always complete. If no comment is open, the last arm of this `match`
            // skips the tag. The tag is then searched for comments, like other text that the page
            // does not show.
            Event::InlineHtml(_) if html.is_open() || is_comment() => {
                html.scan_hidden_part(done..range.start);
                html.read(done.max(range.start)..range.end);
                html.leave(range.end);
            }
            Event::Html(_) => {
                html.scan_hidden_part(done..range.start);
                html.read(done.max(range.start)..range.end);
            }
            Event::Text(_) | Event::Code(_) => html.scan_hidden_part(done..range.start),
            _ => continue,
        }
        done = done.max(range.end);
    }
    match html.at {
        HtmlState::Comment(start) => html.found.push(start..text.len()),
        _ => html.scan_hidden_part(done..text.len()),
    }
    html.found
}

/// GitHub's extensions of `CommonMark` that affect which text is shown.
const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES);

/// State of the HTML tokenizer, modelled after a browser's (html.spec.whatwg.org, "Tokenization").
#[derive(Clone, Copy)]
enum HtmlState {
    Shown,
    Tag(InTag),
    /// Inside a comment that begins at this offset.
    Comment(usize),
    /// Inside a bogus comment that begins at this offset: markup, such as `<? … >`, that a browser
    /// handles like a comment.
    Bogus(usize),
}

/// State inside a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InTag {
    /// In the name of the tag, where `=` has no meaning.
    Name,
    Between,
    Attribute,
    /// After the name of an attribute and a space.
    BehindAttribute,
    /// After `=`, before the value.
    BeforeValue,
    Value,
    /// In a value that ends with this quote. A `>` is part of the value.
    Quoted(char),
}

impl InTag {
    /// Returns the state after the character `c`, which must not end the tag.
    fn next(self, c: char) -> Self {
        let space = c.is_ascii_whitespace();
        match self {
            Self::Quoted(quote) if c == quote => Self::Between,
            Self::Quoted(_) => self,
            Self::BeforeValue if space => self,
            Self::BeforeValue if c == '"' || c == '\'' => Self::Quoted(c),
            Self::BeforeValue => Self::Value,
            Self::Value if space => Self::Between,
            Self::Value => self,
            _ if c == '/' => Self::Between,
            Self::Name if space => Self::Between,
            Self::Name => self,
            Self::Between if space => self,
            Self::Attribute | Self::BehindAttribute if space => Self::BehindAttribute,
            Self::Attribute | Self::BehindAttribute if c == '=' => Self::BeforeValue,
            Self::Between | Self::Attribute | Self::BehindAttribute => Self::Attribute,
        }
    }
}

/// Tokenizes the HTML of a text, part by part.
struct HtmlScan<'a> {
    text: &'a str,
    at: HtmlState,
    found: Vec<Range<usize>>,
}

impl HtmlScan<'_> {
    /// Returns true if the text that follows is hidden.
    fn is_open(&self) -> bool {
        matches!(self.at, HtmlState::Comment(_) | HtmlState::Bogus(_))
    }

    /// Tokenizes `part`, the next part of the text that is HTML.
    fn read(&mut self, part: Range<usize>) {
        let mut from = part.start;
        while let Some(rest) = self
            .text
            .get(from..part.end)
            .filter(|rest| !rest.is_empty())
        {
            match self.at {
                HtmlState::Shown => {
                    let Some(at) = rest.find('<') else { return };
                    let start = from + at;
                    let behind = rest.get(at + 1..).unwrap_or_default();
                    let closing = behind.strip_prefix('/');
                    let name = closing.unwrap_or(behind);
                    from = start + 1;
                    if behind.starts_with("!--") {
                        self.at = HtmlState::Comment(start);
                        // The opening hyphens can also close the comment: `<!-->` and `<!--->` are
                        // comments.
                        from = start + 2;
                    } else if behind.starts_with(['!', '?'])
                        || closing.is_some()
                            && name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '>')
                    {
                        self.at = HtmlState::Bogus(start);
                    } else if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                        self.at = HtmlState::Tag(InTag::Name);
                        from += behind.len() - name.len();
                    }
                }
                HtmlState::Tag(mut place) => {
                    let end = rest.char_indices().find(|(_, c)| {
                        let ends = *c == '>' && !matches!(place, InTag::Quoted(_));
                        place = place.next(*c);
                        ends
                    });
                    let Some((at, _)) = end else {
                        self.at = HtmlState::Tag(place);
                        return;
                    };
                    from += at + 1;
                    self.at = HtmlState::Shown;
                }
                HtmlState::Comment(start) => {
                    let Some(end) = self.end_of_comment(start, from..part.end) else {
                        return;
                    };
                    from = end;
                    self.close(start..end);
                }
                HtmlState::Bogus(start) => {
                    let Some(end) = end_of_bogus(rest) else {
                        return;
                    };
                    from += end;
                    self.close(start..from);
                }
            }
        }
    }

    /// Handles the end of a part of the text that is HTML. The text up to the next block or tag is
    /// not HTML, so only an open comment continues there.
    fn leave(&mut self, end: usize) {
        match self.at {
            HtmlState::Shown | HtmlState::Comment(_) => {}
            HtmlState::Tag(_) => self.at = HtmlState::Shown,
            HtmlState::Bogus(start) => {
                let hidden = self.text.get(start..end).unwrap_or_default();
                self.close(start..start + hidden.trim_end().len());
            }
        }
    }

    /// Searches a part that the page does not show for complete comments. Does nothing if a comment
    /// is already open.
    fn scan_hidden_part(&mut self, part: Range<usize>) {
        let mut from = part.start;
        while !self.is_open()
            && let Some(at) = self.text.get(from..part.end).and_then(|t| t.find("<!--"))
        {
            let start = from + at;
            let Some(end) = self.end_of_comment(start, start + 2..part.end) else {
                return;
            };
            self.found.push(start..end);
            from = end;
        }
    }

    /// Returns the end of the comment that begins at `start`, if the comment ends in this part.
    fn end_of_comment(&self, start: usize, part: Range<usize>) -> Option<usize> {
        end_of_comment(self.text, start, part)
    }

    fn close(&mut self, hidden: Range<usize>) {
        self.found.push(hidden);
        self.at = HtmlState::Shown;
    }
}

/// Returns the end of the comment that begins at `start`, if the comment ends in this part.
fn end_of_comment(text: &str, start: usize, part: Range<usize>) -> Option<usize> {
    let rest = text.get(part.clone())?;
    let ends = |at: &usize| {
        let behind = |from: usize, hyphens: &str| {
            let before = text.get(from..*at);
            before.is_some_and(|before| before.ends_with(hyphens))
        };
        behind(part.start, "--") || behind(part.start.max(start + 4), "--!")
    };
    let mut places = rest.match_indices('>').map(|(at, _)| part.start + at);
    places.find(ends).map(|at| at + 1)
}

/// Returns the length of a part up to its first `>`. A `>` at the start of a later line belongs to
/// an enclosing quote and does not count.
fn end_of_bogus(part: &str) -> Option<usize> {
    let mut done = 0;
    for line in part.split_inclusive(['\r', '\n']) {
        let quote = match done {
            0 => 0,
            _ => line.len() - line.trim_start_matches([' ', '\t', '>']).len(),
        };
        let at = line.get(quote..).and_then(|line| line.find('>'));
        if let Some(at) = at {
            return Some(done + quote + at + 1);
        }
        done += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{beginning, html_comments};

    fn of(text: &str) -> Vec<&str> {
        let comments = html_comments(text).into_iter();
        comments.map(|range| &text[range]).collect()
    }

    #[test]
    fn comments_in_html_and_unshown_text_are_found() {
        for (text, comments) in [
            (
                "a <!-- 1 --> b <!-- 2\n3 -->",
                &["<!-- 1 -->", "<!-- 2\n3 -->"][..],
            ),
            ("<!-->a<!--->b <!---->", &["<!-->", "<!--->", "<!---->"]),
            ("> <!-- 1\r\n> 2 -->\r\n> x", &["<!-- 1\r\n> 2 -->"]),
            ("<pre>\n<!-- 1 -->\n</pre>", &["<!-- 1 -->"]),
            ("<details>\n\n`a` <!-- 1 -->\n\n</details>", &["<!-- 1 -->"]),
            ("a <!-- 1 --!> 2 -->", &["<!-- 1 --!>"]),
            ("<!-- 1 --!>2\n-->", &["<!-- 1 --!>"]),
            ("<!--!>1-->", &["<!--!>1-->"]),
            // Quotes have a meaning only around a value.
            ("<p title='>' id = \"<!--\">\nx <!-- 1 -->", &["<!-- 1 -->"]),
            ("<p \"><!-- 1 -->\">", &["<!-- 1 -->"]),
            ("<p a=b\"><!-- 1 -->\">", &["<!-- 1 -->"]),
            ("<p a==\"><!-- 1 -->\">", &["<!-- 1 -->"]),
            ("<p a/=\"><!-- 1 -->\">", &["<!-- 1 -->"]),
            // Browsers treat these parts like comments.
            ("<?1 ?>\nx", &["<?1 ?>"]),
            ("a <?1?> b <!X 2> c", &["<?1?>", "<!X 2>"]),
            ("<!DOCTYPE x>y", &["<!DOCTYPE x>"]),
            ("<![CDATA[ 1 ]]>x", &["<![CDATA[ 1 ]]>"]),
            ("<p>\n</ 1\n2>\n</p>", &["</ 1\n2>"]),
            ("> a <?1\n> 2?> b", &["<?1\n> 2?>"]),
            ("> <?1\n\nb >", &["<?1"]),
            // Each of these three texts is one comment on the page.
            ("<div>\n<!--\n\nno\n\n<i>\n-->", &["<!--\n\nno\n\n<i>\n-->"]),
            ("> <!-- 1\n\nno `-->`", &["<!-- 1\n\nno `-->`"]),
            ("<!-- 1\n\n~~~\n2", &["<!-- 1\n\n~~~\n2"]),
            // The page shows none of these comments.
            ("[a]: <!-- 1 --> \"2\"\n\n[a]", &["<!-- 1 -->"]),
            ("[a](<!-- 1 -->)", &["<!-- 1 -->"]),
            ("|a|\n|-|\n|b|<!-- 1 -->|", &["<!-- 1 -->"]),
            ("|a|b|\n|-|-|\n|`c|<!-- 1 -->`|", &["<!-- 1 -->"]),
            ("[^a]: x\n\n    <!-- 1 -->\n\n[^a]", &["<!-- 1 -->"]),
        ] {
            assert_eq!(of(text), comments, "{text}");
        }
        for shown in [
            "x <!-- 1",
            "\\<!-- 1 -->",
            "`<!-- 1 -->`",
            "    <!-- 1 -->",
            "> ```\n> <!-- 1 -->",
            "1. a\n\n       <!-- 1 -->",
            "x `<!--` -->",
            "<div title=\"<!--\">\nx\n</div>",
            "<div\ntitle='<?1'\n>\nx -->\n</div>",
            "x <! 1 > </ 2> <?3",
            "`<?1?>`",
            "``` <!--\n-->\n```",
        ] {
            assert_eq!(of(shown), [""; 0], "{shown}");
        }
    }

    #[test]
    fn table_with_many_missing_cells_is_cut() {
        let table = |columns: usize, row: &str, rows: usize| {
            let (names, rule) = ("|a".repeat(columns), "|-".repeat(columns));
            format!("Text.\n\n{names}\n{rule}\n{}", row.repeat(rows))
        };
        for bomb in [
            table(362, "a\n", 724),
            table(362, "a\n", 724).replace('\n', "\n> "),
            table(2_000, "a\n", 60_000),
            format!("{}\n{}", table(362, "a\n", 724), table(400, "", 0)),
        ] {
            let (read, rest) = beginning(&bomb);
            assert!(read.starts_with("Text.\n") && read.len() < 12, "{read}");
            assert_eq!(read.len() + rest, bomb.len());
        }
        let full = format!("{}\n", "|a".repeat(300));
        for text in [
            table(300, &full, 300),
            table(12, "|a\n", 100),
            format!("{}{}", table(10, "", 0), "A line of prose.\n".repeat(5_000)),
        ] {
            assert_eq!(beginning(&text), (text.as_str(), 0));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_yields_ordered_disjoint_comments(text in "([<>!?=/\"'`|~#:^\\[\\]\\-\\\\ \t\r\né1]|<!--|-->|<p>){0,60}") {
            let mut end = 0;
            for comment in html_comments(&text) {
                prop_assert!(end <= comment.start);
                let begins = &text[comment.clone()];
                let known = ["<!", "<?", "</"].iter().any(|begin| begins.starts_with(begin));
                prop_assert!(known, "{begins}");
                end = comment.end;
            }
        }
    }
}
