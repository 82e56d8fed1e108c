//! Renders Markdown for a terminal: headings, emphasis, lists, tasks, quotes, code, tables and
//! links, wrapped to the width.

mod wrap;

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use unicode_width::UnicodeWidthStr as _;

use forge_core::{markdown, text};

use self::wrap::{Span, wrap};
use super::{
    color::Palette,
    table::{self, Cell, Column},
};

/// Renders `source` for a terminal of `width` columns. The result ends with a newline, unless it is
/// empty. Terminal escapes in the source are made visible. A text longer than
/// [`markdown::MAX_TEXT`] is truncated, and the last line reports this.
#[must_use]
pub fn render(source: &str, width: usize, palette: Palette) -> String {
    let (read, rest) = markdown::beginning(source);
    let read = text::drop_mention_breaks(read);
    let safe = text::neutralise(&read);
    let mut renderer = TerminalRenderer {
        width: width.clamp(20, 120),
        palette,
        ..TerminalRenderer::default()
    };
    for event in events(&safe) {
        renderer.event(event);
    }
    let mut shown = renderer.finish();
    if rest > 0 {
        shown.push_str(&format!("{}\n", palette.gray(&cut(rest))));
    }
    shown
}

/// Parses a neutralised Markdown text. The text of each event is neutralised again, because the
/// parser converts entities such as `&#27;` to characters.
fn events(safe: &str) -> impl Iterator<Item = Event<'_>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    TextMergeStream::new(Parser::new_ext(safe, options)).map(neutralised_event)
}

fn neutralised_event(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Text(text) => Event::Text(neutralised(text)),
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
            let language = text::one_line(&language).into_owned();
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language.into())))
        }
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: neutralised(dest_url),
            title,
            id,
        }),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Image {
            link_type,
            dest_url: neutralised(dest_url),
            title,
            id,
        }),
        other => other,
    }
}

fn neutralised(text: CowStr<'_>) -> CowStr<'_> {
    let changed = match text::neutralise(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    changed.map_or(text, CowStr::from)
}

/// Returns the line that replaces the rest of a truncated text.
pub(super) fn cut(bytes: usize) -> String {
    format!("[{bytes} more bytes are not shown]")
}

/// Maximum depth of indented quotes and items. The depth is limited because every line repeats all
/// indents.
const MAX_DEPTH: usize = 20;

#[derive(Default)]
struct TerminalRenderer {
    width: usize,
    palette: Palette,
    out: String,
    /// The words of the current paragraph, heading or item.
    spans: Vec<Span>,
    bold: usize,
    italic: usize,
    strike: usize,
    heading: bool,
    code_block: bool,
    /// The prefix of each line: quote marks and indents of at most `MAX_DEPTH` blocks.
    prefix: Vec<String>,
    /// Number of nested quotes and list items beyond `MAX_DEPTH`. They are not indented.
    deeper: usize,
    /// The bullet or number that replaces the indent on the first line of a list item.
    bullet: Option<String>,
    /// The lists around the current text, each with its next number if it is numbered.
    lists: Vec<Option<u64>>,
    links: Vec<String>,
    rows: Vec<Vec<String>>,
    html: String,
    /// True if a quote has just begun. Its first block needs no empty line above it.
    fresh: bool,
}

impl TerminalRenderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(t) if self.code_block => self.code_lines(&t),
            Event::Text(t) => self.text(&t),
            Event::Code(t) => {
                let shown = if self.palette.on {
                    t.to_string()
                } else {
                    format!("`{t}`")
                };
                self.push(&shown, |p, t| p.yellow(t));
            }
            Event::InlineHtml(t) => self.text(&t),
            Event::Html(t) => self.html.push_str(&t),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.spans.push(Span::line_break()),
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.width.saturating_sub(self.indent()).min(40));
                let rule = self.palette.gray(&rule);
                self.put(&rule);
            }
            Event::FootnoteReference(t) => self.text(&format!("[^{t}]")),
            Event::InlineMath(t) | Event::DisplayMath(t) => self.text(&t),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.gap();
                self.heading = true;
                self.text(&format!("{} ", "#".repeat(level as usize)));
            }
            Tag::Paragraph => self.gap(),
            Tag::BlockQuote(_) => {
                self.gap();
                let mark = self.palette.gray("│");
                self.indent_by(format!("{mark} "));
                self.fresh = true;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                self.code_block = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let shown = self.palette.gray(&format!("  {language}:"));
                    self.put(&shown);
                }
            }
            Tag::List(first) => {
                self.block();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.indent_by(" ".repeat(bullet.width()));
                self.bullet = Some(bullet);
            }
            Tag::HtmlBlock => self.html.clear(),
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { dest_url, .. } => self.links.push(dest_url.to_string()),
            Tag::Image { dest_url, .. } => {
                self.text("Image: ");
                self.links.push(dest_url.to_string());
            }
            Tag::Table(_) => self.gap(),
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.block();
                self.heading = false;
            }
            TagEnd::Paragraph => self.block(),
            TagEnd::BlockQuote(_) => self.outdent(),
            TagEnd::CodeBlock => self.code_block = false,
            TagEnd::HtmlBlock => {
                // HTML comments are left out, because in templates they are notes to the author.
                let html = std::mem::take(&mut self.html);
                if !html.trim_start().starts_with("<!--") {
                    self.gap();
                    self.code_lines(&html);
                }
            }
            TagEnd::Item => {
                self.block();
                if self.bullet.is_some() {
                    self.put("");
                }
                self.outdent();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.link_target(),
            TagEnd::TableCell => {
                let cell: String = self.spans.drain(..).map(|s| s.plain).collect();
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let (bold, italic, strike) = (
            self.bold > 0 || self.heading,
            self.italic > 0,
            self.strike > 0,
        );
        self.push(text, move |p, t| {
            let mut shown = t.to_owned();
            if strike {
                shown = p.paint(anstyle::Style::new().strikethrough(), &shown);
            }
            if italic {
                shown = p.italic(&shown);
            }
            if bold { p.bold(&shown) } else { shown }
        });
    }

    fn push(&mut self, text: &str, paint: impl Fn(Palette, &str) -> String) {
        let palette = self.palette;
        self.spans
            .extend(Span::split_words(text, |t| paint(palette, t)));
    }

    /// Writes ` (url)` after a link, unless its text is the URL.
    fn link_target(&mut self) {
        let Some(url) = self.links.pop() else { return };
        if !url.is_empty() && !self.ends_with(&url) {
            self.push(&format!(" ({url})"), |p, t| p.blue(t));
        }
    }

    /// Returns true if the text of the current paragraph ends with the non-empty text `end`.
    fn ends_with(&self, end: &str) -> bool {
        let mut left = end;
        for span in self.spans.iter().rev() {
            match left.strip_suffix(span.plain.as_str()) {
                Some("") => return true,
                Some(before) => left = before,
                None => return span.plain.ends_with(left),
            }
        }
        false
    }

    /// Ends the current paragraph.
    fn block(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let room = self.width.saturating_sub(self.indent()).max(10);
        let spans = std::mem::take(&mut self.spans);
        for line in wrap(&spans, room) {
            self.put(&line);
        }
    }

    fn code_lines(&mut self, text: &str) {
        for line in text.lines() {
            let shown = self.palette.yellow(line);
            self.put(&format!("  {shown}"));
        }
    }

    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns = vec![
            Column {
                title: "",
                shrinks: true
            };
            columns
        ];
        let mut cells = rows.into_iter().enumerate().map(|(i, row)| {
            row.into_iter()
                .map(|c| {
                    if i == 0 {
                        Cell::painted(c, Palette::bold)
                    } else {
                        Cell::plain(c)
                    }
                })
                .collect::<Vec<_>>()
        });
        let room = self.width.saturating_sub(self.indent());
        let shown = table::render(
            &columns,
            &cells.by_ref().collect::<Vec<_>>(),
            room,
            self.palette,
        );
        for line in shown.lines() {
            self.put(line);
        }
    }

    fn indent_by(&mut self, prefix: String) {
        match self.prefix.len() < MAX_DEPTH {
            true => self.prefix.push(prefix),
            false => self.deeper += 1,
        }
    }

    fn outdent(&mut self) {
        match self.deeper.checked_sub(1) {
            Some(deeper) => self.deeper = deeper,
            None => {
                self.prefix.pop();
            }
        }
    }

    fn indent(&self) -> usize {
        self.prefix.iter().map(|p| wrap::visible_width(p)).sum()
    }

    /// Writes an empty line between blocks, except at the start of an item and within a list.
    fn gap(&mut self) {
        self.block();
        if std::mem::take(&mut self.fresh) {
            return;
        }
        if !self.out.is_empty() && self.lists.is_empty() {
            let prefix = self.prefix.concat();
            self.out.push_str(prefix.trim_end());
            self.out.push('\n');
        }
    }

    fn put(&mut self, line: &str) {
        let bullet = self.bullet.take();
        let outer = self
            .prefix
            .len()
            .saturating_sub(usize::from(bullet.is_some() && self.deeper == 0));
        let mut shown: String = self.prefix.iter().take(outer).map(String::as_str).collect();
        shown.push_str(bullet.as_deref().unwrap_or(""));
        shown.push_str(line);
        self.out.push_str(shown.trim_end());
        self.out.push('\n');
    }

    fn finish(mut self) -> String {
        self.block();
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(source: &str) -> String {
        render(source, 40, Palette { on: false })
    }

    #[test]
    fn markdown_blocks_are_rendered() {
        assert_eq!(
            plain("# One\n\nText *here*\nand `code`.\n\n> quoted\n> more"),
            "# One\n\nText here and `code`.\n\n│ quoted more\n"
        );
        assert_eq!(
            plain("- a\n- b\n  1. x\n  2. y\n- [x] done\n- [ ] open\n"),
            "• a\n• b\n  1. x\n  2. y\n• [x] done\n• [ ] open\n"
        );
        assert_eq!(
            plain("```rust\nfn main() {}\n```\nafter"),
            "  rust:\n  fn main() {}\n\nafter\n"
        );
        assert_eq!(plain("a\n\n---\n\nb").lines().count(), 5);
        assert_eq!(plain("<!-- note\nmore\n-->\nseen"), "seen\n");
        assert_eq!(plain(""), "");
    }

    #[test]
    fn text_beyond_maximum_length_is_cut() {
        let shown = plain(&"a ".repeat(200_000));
        assert!(shown.ends_with("[137856 more bytes are not shown]\n"));
    }

    #[test]
    fn links_show_the_url() {
        assert_eq!(
            plain("[docs](https://e.org) <https://f.org>"),
            "docs (https://e.org) https://f.org\n"
        );
    }

    #[test]
    fn link_url_repeated_in_text_is_omitted() {
        assert_eq!(
            plain("**a**b [x](b) [*c* d](d) [e*f*](ef) [f](ef)"),
            "ab x (b) c d ef f (ef)\n"
        );
    }

    /// The cost of a link must not grow with the length of its paragraph, nor the cost of a line
    /// with its nesting depth.
    #[test]
    fn many_links_and_deep_blocks_are_rendered() {
        let links = format!("[a]: x\n\n{}", "[a] ".repeat(15_000));
        assert_eq!(plain(&links).matches("(x)").count(), 15_000);
        for (marker, mark) in [("> ", "│"), ("+ ", "•")] {
            let words = "word ".repeat(5_000);
            let shown = plain(&format!("{}{words}", marker.repeat(1_000)));
            assert_eq!(shown.matches("word").count(), 5_000);
            let marks = shown.lines().map(|line| line.matches(mark).count()).max();
            assert!(marks.is_some_and(|marks| marks <= MAX_DEPTH), "{marks:?}");
        }
    }

    #[test]
    fn paragraphs_wrap_to_the_width() {
        let shown = plain(&"漢字 words and more ".repeat(20));
        assert!(shown.lines().all(|l| l.width() <= 40), "{shown}");
        let item = plain(&format!("- {}", "word ".repeat(30)));
        assert!(
            item.lines().skip(1).all(|l| l.starts_with("  word")),
            "{item}"
        );
    }

    #[test]
    fn table_columns_are_aligned() {
        assert_eq!(
            plain("|a|b|\n|-|-|\n|1|two|\n|three|4|"),
            "a      b\n1      two\nthree  4\n"
        );
    }

    #[test]
    fn entities_of_hidden_characters_are_neutralised() {
        for source in [
            "a &#27;[31mb",
            "**&#x1b;]0;t&#7;**",
            "&#x9b;31m and &#x202e;x&#x200b; &zwnj;",
            "[l](<http://e.org/&#27;[1m>)",
            "![l](http://e.org/&#x202e;x)",
            "```a&#27;[1m&#10;b\ncode\n```",
            "|a&#27;|b|\n|-|-|\n|&#x202e;|&#13;c|",
            "# &#27;[2J",
            "- &#8;\n\n> &#27;c",
        ] {
            let shown = plain(source);
            assert_eq!(text::neutralise(&shown), shown, "{source}");
            assert!(!shown.contains('\r'), "{source}: {shown:?}");
        }
        assert_eq!(plain("a &#27;[31mb"), "a ␛[31mb\n");
        // The parser may split an emoji into two events.
        let keycap = "*\u{fe0f}\u{20e3} 👩\u{200d}👧";
        assert_eq!(plain(keycap), format!("{keycap}\n"));
    }

    #[test]
    fn escapes_are_neutralised_and_styles_added() {
        assert!(!plain("a\u{1b}[31mb").contains('\u{1b}'));
        let shown = render("**b** text", 40, Palette { on: true });
        assert_eq!(shown, "\u{1b}[1mb\u{1b}[0m text\n");
    }
}
