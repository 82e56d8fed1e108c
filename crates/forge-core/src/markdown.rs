//! What the page of a forge hides of a Markdown text.

mod elements;
mod hidden;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, TagEnd};

pub use hidden::{Hidden, hidden};

/// The HTML comments of a Markdown text and what a page hides like them, in order.
///
/// A comment is the bytes from `<!--` to behind `-->` or `--!>`; a browser also makes one of
/// `<? … >`, of any other `<! … >` and of `</` before what is no letter, in HTML.
///
/// What a page shows holds none: code, and prose in which `<!--` begins no HTML; nor does a tag,
/// whatever the values of its attributes are. A comment that its block of HTML leaves open goes on
/// to the next end of one in HTML, and else to the end: in between a page shows nothing, because
/// the `-->` of prose and code is escaped there. The other kinds end with the next tag, so with
/// their block. What is shown nowhere, such as the target of a link, a definition of one, or a cell
/// beyond the last column of a table, is looked through for comments as well. Tables and footnotes
/// are read as GitHub has them.
#[must_use]
pub fn html_comments(text: &str) -> Vec<Range<usize>> {
    if !text.contains('<') {
        return Vec::new();
    }
    let mut html = Html {
        text,
        at: At::Shown,
        found: Vec::new(),
    };
    // What lies before it was looked at.
    let mut done = 0;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let is_comment = || {
            let begins = text.get(range.clone()).unwrap_or_default();
            begins.starts_with("<!") || begins.starts_with("<?")
        };
        match event {
            Event::End(TagEnd::HtmlBlock) => {
                html.leave(done);
                continue;
            }
            // A tag in a line is closed, so without an open comment it is like what is not shown.
            Event::InlineHtml(_) if html.is_open() || is_comment() => {
                html.unseen(done..range.start);
                html.read(done.max(range.start)..range.end);
                html.leave(range.end);
            }
            Event::Html(_) => {
                html.unseen(done..range.start);
                html.read(done.max(range.start)..range.end);
            }
            Event::Text(_) | Event::Code(_) => html.unseen(done..range.start),
            _ => continue,
        }
        done = done.max(range.end);
    }
    match html.at {
        At::Comment(start) => html.found.push(start..text.len()),
        _ => html.unseen(done..text.len()),
    }
    html.found
}

/// What GitHub has beyond `CommonMark`, as far as it decides what is shown.
const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES);

/// Where a browser is that reads the HTML of a text (html.spec.whatwg.org, "Tokenization").
#[derive(Clone, Copy)]
enum At {
    Shown,
    Tag(InTag),
    /// In a comment that begins there.
    Comment(usize),
    /// In what becomes a comment without being written as one, and begins there.
    Bogus(usize),
}

/// Where in a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InTag {
    /// Its name, in which `=` is nothing special.
    Name,
    Between,
    Attribute,
    /// Behind the name of an attribute and a space.
    BehindAttribute,
    /// Behind `=`.
    BeforeValue,
    Value,
    /// A value that ends with this quote, and `>` is part of it.
    Quoted(char),
}

impl InTag {
    /// Where the tag goes on behind `c`, which does not end it.
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

/// The HTML of a text, read part by part.
struct Html<'a> {
    text: &'a str,
    at: At,
    found: Vec<Range<usize>>,
}

impl Html<'_> {
    /// Whether what comes next is hidden.
    fn is_open(&self) -> bool {
        matches!(self.at, At::Comment(_) | At::Bogus(_))
    }

    /// Goes on with a part that is HTML.
    fn read(&mut self, part: Range<usize>) {
        let mut from = part.start;
        while let Some(rest) = self
            .text
            .get(from..part.end)
            .filter(|rest| !rest.is_empty())
        {
            match self.at {
                At::Shown => {
                    let Some(at) = rest.find('<') else { return };
                    let start = from + at;
                    let behind = rest.get(at + 1..).unwrap_or_default();
                    let closing = behind.strip_prefix('/');
                    let name = closing.unwrap_or(behind);
                    from = start + 1;
                    if behind.starts_with("!--") {
                        self.at = At::Comment(start);
                        // Its hyphens may be those of its end: `<!-->` and `<!--->` are comments.
                        from = start + 2;
                    } else if behind.starts_with(['!', '?'])
                        || closing.is_some()
                            && name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '>')
                    {
                        self.at = At::Bogus(start);
                    } else if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                        self.at = At::Tag(InTag::Name);
                        from += behind.len() - name.len();
                    }
                }
                At::Tag(mut place) => {
                    let end = rest.char_indices().find(|(_, c)| {
                        let ends = *c == '>' && !matches!(place, InTag::Quoted(_));
                        place = place.next(*c);
                        ends
                    });
                    let Some((at, _)) = end else {
                        self.at = At::Tag(place);
                        return;
                    };
                    from += at + 1;
                    self.at = At::Shown;
                }
                At::Comment(start) => {
                    let Some(end) = self.end_of_comment(start, from..part.end) else {
                        return;
                    };
                    from = end;
                    self.close(start..end);
                }
                At::Bogus(start) => {
                    let Some(end) = end_of_bogus(rest) else {
                        return;
                    };
                    from += end;
                    self.close(start..from);
                }
            }
        }
    }

    /// What follows is no HTML until the next block or tag: only a comment stays open.
    fn leave(&mut self, end: usize) {
        match self.at {
            At::Shown | At::Comment(_) => {}
            At::Tag(_) => self.at = At::Shown,
            At::Bogus(start) => {
                let hidden = self.text.get(start..end).unwrap_or_default();
                self.close(start..start + hidden.trim_end().len());
            }
        }
    }

    /// Looks for whole comments in a part that is shown nowhere, unless one is open there.
    fn unseen(&mut self, part: Range<usize>) {
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

    /// Where the comment that begins at `start` ends, if it does in this part.
    fn end_of_comment(&self, start: usize, part: Range<usize>) -> Option<usize> {
        end_of_comment(self.text, start, part)
    }

    fn close(&mut self, hidden: Range<usize>) {
        self.found.push(hidden);
        self.at = At::Shown;
    }
}

/// Where the comment that begins at `start` ends, if it does in this part.
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

/// How long a part is up to its first `>`. In a part of several lines those that begin a line are
/// of a quote around it.
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

    use super::html_comments;

    fn of(text: &str) -> Vec<&str> {
        let comments = html_comments(text).into_iter();
        comments.map(|range| &text[range]).collect()
    }

    #[test]
    fn comments_in_html_and_where_nothing_is_shown() {
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
            // A quote is one around a value alone.
            ("<p title='>' id = \"<!--\">\nx <!-- 1 -->", &["<!-- 1 -->"]),
            ("<p \"><!-- 1 -->\">", &["<!-- 1 -->"]),
            ("<p a=b\"><!-- 1 -->\">", &["<!-- 1 -->"]),
            ("<p a==\"><!-- 1 -->\">", &["<!-- 1 -->"]),
            ("<p a/=\"><!-- 1 -->\">", &["<!-- 1 -->"]),
            // What a browser takes for a comment.
            ("<?1 ?>\nx", &["<?1 ?>"]),
            ("a <?1?> b <!X 2> c", &["<?1?>", "<!X 2>"]),
            ("<!DOCTYPE x>y", &["<!DOCTYPE x>"]),
            ("<![CDATA[ 1 ]]>x", &["<![CDATA[ 1 ]]>"]),
            ("<p>\n</ 1\n2>\n</p>", &["</ 1\n2>"]),
            ("> a <?1\n> 2?> b", &["<?1\n> 2?>"]),
            ("> <?1\n\nb >", &["<?1"]),
            // Each of the three is one comment of the page.
            ("<div>\n<!--\n\nno\n\n<i>\n-->", &["<!--\n\nno\n\n<i>\n-->"]),
            ("> <!-- 1\n\nno `-->`", &["<!-- 1\n\nno `-->`"]),
            ("<!-- 1\n\n~~~\n2", &["<!-- 1\n\n~~~\n2"]),
            // Nothing of these is shown.
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

    proptest! {
        #[test]
        fn in_any_text_they_are_apart_and_in_order(text in "([<>!?=/\"'`|~#:^\\[\\]\\-\\\\ \t\r\né1]|<!--|-->|<p>){0,60}") {
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
