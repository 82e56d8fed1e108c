//! Renders Markdown as HTML. Embedded HTML becomes text, only web and mail links stay links, and
//! images become links.

use forge_core::{
    markdown::{beginning, html_comments},
    text,
};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Attr, HtmlWriter};
use crate::ui::markdown::cut;

/// Writes `source` in a `div` element, truncated to the same length as on a terminal.
pub(super) fn render(source: &str, html: &mut HtmlWriter) {
    let (read, rest) = beginning(source);
    let read = text::drop_mention_breaks(read);
    let safe = text::neutralise(&read);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    html.open("div", &[Attr::Class("md"), Attr::Dir("auto")]);
    let mut renderer = HtmlRenderer {
        html,
        links: Vec::new(),
        raw: None,
        is_head: false,
    };
    for event in Parser::new_ext(&safe, options) {
        renderer.event(event);
    }
    if rest > 0 {
        html.leaf("p", &[], &cut(rest));
    }
    html.close("div");
}

struct HtmlRenderer<'a> {
    html: &'a mut HtmlWriter,
    /// The links that have begun and not ended: the target, and true if it was written as a link.
    links: Vec<(String, bool)>,
    /// The block of embedded HTML that is being read.
    raw: Option<String>,
    /// True while the head of a table is read.
    is_head: bool,
}

impl HtmlRenderer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.html.text(&text);
            }
            Event::Code(text) => self.html.leaf("code", &[], &text),
            Event::InlineHtml(raw) if raw.starts_with("<!--") => {}
            Event::InlineHtml(raw) => self.html.text(&raw),
            Event::Html(raw) => match &mut self.raw {
                Some(block) => block.push_str(&raw),
                None => self.html.text(&raw),
            },
            Event::SoftBreak => self.html.text("\n"),
            Event::HardBreak => self.html.void("br"),
            Event::Rule => self.html.void("hr"),
            Event::TaskListMarker(is_done) => {
                self.html.text(if is_done { "[x] " } else { "[ ] " });
            }
            Event::FootnoteReference(name) => self.html.text(&format!("[^{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.html.open(heading(level), &[]),
            Tag::Paragraph => self.html.open("p", &[]),
            Tag::BlockQuote(_) => self.html.open("blockquote", &[]),
            Tag::CodeBlock(_) => {
                self.html.open("pre", &[Attr::Focusable]);
                self.html.open("code", &[]);
            }
            Tag::List(None) => self.html.open("ul", &[]),
            Tag::List(Some(first)) => self.html.open("ol", &[Attr::Start(first)]),
            Tag::Item => self.html.open("li", &[]),
            Tag::HtmlBlock => self.raw = Some(String::new()),
            Tag::Strong => self.html.open("strong", &[]),
            Tag::Emphasis => self.html.open("em", &[]),
            Tag::Strikethrough => self.html.open("del", &[]),
            Tag::Link { dest_url, .. } => self.open_link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.html.text("Image: ");
                self.open_link(&dest_url);
            }
            Tag::Table(_) => {
                self.html
                    .open("div", &[Attr::Class("scroll"), Attr::Focusable]);
                self.html.open("table", &[]);
            }
            Tag::TableHead => {
                self.is_head = true;
                self.html.open("thead", &[]);
                self.html.open("tr", &[]);
            }
            Tag::TableRow => self.html.open("tr", &[]),
            Tag::TableCell if self.is_head => self.html.open("th", &[Attr::Scope("col")]),
            Tag::TableCell => self.html.open("td", &[]),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.html.close(heading(level)),
            TagEnd::Paragraph => self.html.close("p"),
            TagEnd::BlockQuote(_) => self.html.close("blockquote"),
            TagEnd::CodeBlock => {
                self.html.close("code");
                self.html.close("pre");
            }
            TagEnd::List(false) => self.html.close("ul"),
            TagEnd::List(true) => self.html.close("ol"),
            TagEnd::Item => self.html.close("li"),
            TagEnd::HtmlBlock => self.raw_block(),
            TagEnd::Strong => self.html.close("strong"),
            TagEnd::Emphasis => self.html.close("em"),
            TagEnd::Strikethrough => self.html.close("del"),
            TagEnd::Link | TagEnd::Image => {
                if let Some((url, is_open)) = self.links.pop() {
                    self.html.close_link(&url, "", is_open);
                }
            }
            TagEnd::Table => {
                self.html.close("tbody");
                self.html.close("table");
                self.html.close("div");
            }
            TagEnd::TableHead => {
                self.is_head = false;
                self.html.close("tr");
                self.html.close("thead");
                self.html.open("tbody", &[]);
            }
            TagEnd::TableRow => self.html.close("tr"),
            TagEnd::TableCell if self.is_head => self.html.close("th"),
            TagEnd::TableCell => self.html.close("td"),
            _ => {}
        }
    }

    /// Opens a link. A link inside another link, such as a linked image, becomes text, because HTML
    /// forbids nested links.
    fn open_link(&mut self, url: &str) {
        let is_nested = self.links.iter().any(|(_, is_open)| *is_open);
        let is_open = !is_nested && self.html.open_link(url);
        self.links.push((url.to_owned(), is_open));
    }

    /// Writes a block of HTML as text. HTML comments are left out, because in templates they are
    /// notes to the author.
    fn raw_block(&mut self) {
        let raw = self.raw.take().unwrap_or_default();
        let mut shown = String::new();
        let mut at = 0;
        for comment in html_comments(&raw) {
            shown.push_str(raw.get(at..comment.start).unwrap_or_default());
            at = comment.end;
        }
        shown.push_str(raw.get(at..).unwrap_or_default());
        if !shown.trim().is_empty() {
            self.html.leaf("pre", &[Attr::Focusable], shown.trim_end());
        }
    }
}

/// Returns the tag of a heading. It begins at `h4`, because the page itself uses `h1` to `h3`.
const fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h4",
        HeadingLevel::H2 => "h5",
        _ => "h6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> String {
        let mut html = HtmlWriter::default();
        render(source, &mut html);
        let out = html.into_string().replace('\n', "");
        let inner = out.strip_prefix("<div class=\"md\" dir=\"auto\">").unwrap();
        inner.strip_suffix("</div>").unwrap().to_owned()
    }

    #[test]
    fn markdown_blocks_and_emphasis_become_elements() {
        assert_eq!(
            shown("# A\n\nb *c* **d** ~~e~~ `f<g`\n\n> q\n\n3. x\n- [x] y"),
            "<h4>A</h4><p>b <em>c</em> <strong>d</strong> <del>e</del> <code>f&lt;g</code></p>\
             <blockquote><p>q</p></blockquote><ol start=\"3\"><li>x</li></ol>\
             <ul><li>[x] y</li></ul>"
        );
        assert_eq!(
            shown("|a|\n|-|\n|b|"),
            "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">a</th></tr>\
             </thead><tbody><tr><td>b</td></tr></tbody></table></div>"
        );
        assert_eq!(
            shown("```rs\n</code><b>\n```"),
            "<pre tabindex=\"0\"><code>&lt;/code&gt;&lt;b&gt;</code></pre>"
        );
    }

    #[test]
    fn html_in_markdown_becomes_text_without_comments() {
        assert_eq!(
            shown("a <img src=x onerror=y> <!-- b -->"),
            "<p>a &lt;img src=x onerror=y&gt; </p>"
        );
        assert_eq!(
            shown("<!-- a -->\n<script>b</script>"),
            "<pre tabindex=\"0\">&lt;script&gt;b&lt;/script&gt;</pre>"
        );
        assert_eq!(shown("<!-- a\n\nb -->\nc"), "<p>c</p>");
        assert_eq!(shown("<!-- a -->"), "");
    }

    #[test]
    fn unsafe_and_nested_links_become_text() {
        assert_eq!(
            shown("[a](javascript:b) [c](/d)"),
            "<p>a (<bdi>javascript:b</bdi>) c (<bdi>/d</bdi>)</p>"
        );
        assert_eq!(
            shown("[![a](https://b.org/c)](https://d.org)"),
            "<p><a rel=\"noreferrer noopener\" href=\"https://d.org\">Image: a \
             (<bdi>https://b.org/c</bdi>)</a></p>"
        );
        assert_eq!(
            shown("[x](https://e\u{202e}.org)").matches("href").count(),
            0
        );
    }
}
