//! HTML that is safe by its types: markup is `&'static str`, and all other text is escaped by
//! [`text::quote`].

mod markdown;

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_core::{
    Timestamp,
    text::{self, Quote},
};
use sha2::{Digest as _, Sha256};

/// The HTML of a page, or of a part of a page.
#[derive(Debug, Default)]
pub struct HtmlWriter {
    out: String,
}

/// An attribute. No variant can name a resource, style or script; only [`HtmlWriter::link`] writes
/// link targets.
#[derive(Clone, Copy, Debug)]
pub enum Attr<'a> {
    /// `class`
    Class(&'static str),
    /// `id`
    Id(Anchor),
    /// `scope` of a table header.
    Scope(&'static str),
    /// `role`
    Role(&'static str),
    /// `dir`
    Dir(&'static str),
    /// `colspan`
    ColSpan(usize),
    /// `start` of a list.
    Start(u64),
    /// `open` of a `details` element.
    Open,
    /// `tabindex="0"`: makes scrolling areas reachable by keyboard.
    Focusable,
    /// `aria-label`
    Label(&'a str),
    /// `aria-labelledby`
    LabelledBy(Anchor),
    /// `aria-hidden`
    Hidden,
    /// `data-label`: the header of a cell on narrow pages.
    Column(&'static str),
    /// `datetime`
    DateTime(Timestamp),
    /// A numeric attribute of SVG.
    Number(&'static str, usize),
    /// `viewBox` from 0, 0.
    ViewBox(usize, usize),
}

/// A link target within the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The HTML id, without the number.
    pub name: &'static str,
    /// The number, if several targets share the name.
    pub number: Option<usize>,
}

impl Anchor {
    /// Creates a unique target.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, number: None }
    }

    /// Creates a numbered target.
    #[must_use]
    pub const fn numbered(name: &'static str, number: usize) -> Self {
        Self {
            name,
            number: Some(number),
        }
    }
}

impl HtmlWriter {
    /// Returns the written HTML.
    #[must_use]
    pub fn into_string(self) -> String {
        self.out
    }

    /// Starts a page whose security policy allows only this style sheet, and no other resource or
    /// script.
    #[must_use]
    pub fn page(title: &str, style: &'static str) -> Self {
        let mut page = Self::default();
        let hash = BASE64_STANDARD.encode(Sha256::digest(style));
        page.out
            .push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        let _ = writeln!(
            page.out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'sha256-{hash}'; base-uri 'none'; form-action 'none'\">"
        );
        page.out.push_str(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n",
        );
        page.leaf("title", &[], title);
        let _ = write!(page.out, "\n<style>{style}</style>\n</head>\n<body>\n");
        page
    }

    /// Closes the page that [`Self::page`] began, and returns its HTML.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.out.push_str("\n</body>\n</html>\n");
        self.out
    }

    /// Writes escaped text. Control and invisible characters are shown as on a terminal.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(&text::quote(text, Quote::Html));
    }

    /// Writes foreign text (written by other people) within a line, isolating its writing
    /// direction.
    pub fn write_foreign(&mut self, text: &str) {
        self.leaf("bdi", &[], text);
    }

    /// Writes foreign text as Markdown.
    pub fn markdown(&mut self, source: &str) {
        markdown::render(source, self);
    }

    /// Opens an element.
    pub fn open(&mut self, tag: &'static str, attrs: &[Attr<'_>]) {
        self.out.push('<');
        self.out.push_str(tag);
        for attr in attrs {
            self.attr(*attr);
        }
        self.out.push('>');
    }

    /// Closes an element.
    pub fn close(&mut self, tag: &'static str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
        let is_block = !matches!(
            tag,
            "a" | "b" | "bdi" | "code" | "del" | "em" | "span" | "strong" | "time" | "title"
        );
        if is_block && tag != "pre" {
            self.out.push('\n');
        }
    }

    /// Writes an element with the content of `fill`.
    pub fn within(&mut self, tag: &'static str, attrs: &[Attr<'_>], fill: impl FnOnce(&mut Self)) {
        self.open(tag, attrs);
        fill(self);
        self.close(tag);
    }

    /// Writes an element with a text.
    pub fn leaf(&mut self, tag: &'static str, attrs: &[Attr<'_>], text: &str) {
        self.within(tag, attrs, |html| html.text(text));
    }

    /// Writes an element without content or end tag.
    pub fn void(&mut self, tag: &'static str) {
        self.open(tag, &[]);
    }

    /// Writes a link to `url`. If the URL is neither web nor mail, label and URL are written as
    /// text.
    pub fn link(&mut self, url: &str, label: &str) {
        let is_open = self.open_link(url);
        self.write_foreign(label);
        self.close_link(url, label, is_open);
    }

    fn open_link(&mut self, url: &str) -> bool {
        let is_safe = is_safe_url(url);
        if is_safe {
            self.out.push_str("<a rel=\"noreferrer noopener\" href=\"");
            self.text(url);
            self.out.push_str("\">");
        }
        is_safe
    }

    fn close_link(&mut self, url: &str, label: &str, is_open: bool) {
        if is_open {
            self.close("a");
        } else if !url.is_empty() && url != label {
            self.text(" (");
            self.write_foreign(url);
            self.text(")");
        }
    }

    /// Writes a link within the page.
    pub fn jump(&mut self, to: Anchor, fill: impl FnOnce(&mut Self)) {
        self.out.push_str("<a href=\"#");
        self.anchor(to);
        self.out.push_str("\">");
        fill(self);
        self.close("a");
    }

    /// Writes a `time` element with date and time.
    pub fn time(&mut self, at: Timestamp) {
        let written = at.to_string();
        let minute = written.get(11..16).unwrap_or_default();
        let zone = if written.ends_with('Z') { " UTC" } else { "" };
        let shown = format!("{} {minute}{zone}", at.date());
        self.leaf("time", &[Attr::DateTime(at)], &shown);
    }

    fn anchor(&mut self, anchor: Anchor) {
        self.out.push_str(anchor.name);
        if let Some(number) = anchor.number {
            let _ = write!(self.out, "-{number}");
        }
    }

    fn attr(&mut self, attr: Attr<'_>) {
        self.out.push(' ');
        // Writing to a string cannot fail.
        let _ = match attr {
            Attr::Class(name) => write!(self.out, "class=\"{name}\""),
            Attr::Scope(scope) => write!(self.out, "scope=\"{scope}\""),
            Attr::Role(role) => write!(self.out, "role=\"{role}\""),
            Attr::Dir(dir) => write!(self.out, "dir=\"{dir}\""),
            Attr::ColSpan(columns) => write!(self.out, "colspan=\"{columns}\""),
            Attr::Start(first) => write!(self.out, "start=\"{first}\""),
            Attr::Open => write!(self.out, "open"),
            Attr::Focusable => write!(self.out, "tabindex=\"0\""),
            Attr::Hidden => write!(self.out, "aria-hidden=\"true\""),
            Attr::Column(name) => write!(self.out, "data-label=\"{name}\""),
            Attr::DateTime(at) => write!(self.out, "datetime=\"{at}\""),
            Attr::Number(name, value) => write!(self.out, "{name}=\"{value}\""),
            Attr::ViewBox(width, height) => {
                write!(self.out, "viewBox=\"0 0 {width} {height}\"")
            }
            Attr::Label(label) => {
                self.out.push_str("aria-label=\"");
                self.text(label);
                write!(self.out, "\"")
            }
            Attr::Id(anchor) => {
                self.out.push_str("id=\"");
                self.anchor(anchor);
                write!(self.out, "\"")
            }
            Attr::LabelledBy(anchor) => {
                self.out.push_str("aria-labelledby=\"");
                self.anchor(anchor);
                write!(self.out, "\"")
            }
        };
    }
}

/// Returns true for a web or mail URL. The URL must have no invisible characters, and no characters
/// that browsers strip before they parse the scheme.
fn is_safe_url(url: &str) -> bool {
    let has_scheme = ["https://", "http://", "mailto:"].iter().any(|scheme| {
        let start = url.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    });
    // Angle brackets are refused: a valid URL has none, but the markers for removed characters do.
    let is_plain =
        !url.contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"".contains(c));
    has_scheme && is_plain && text::neutralise(url) == url
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn linked(url: &str) -> String {
        let mut html = HtmlWriter::default();
        html.link(url, "x");
        html.into_string()
    }

    #[test]
    fn only_web_and_mail_addresses_become_links() {
        for url in ["https://e.org/?a=b&c", "HTTP://e.org", "mailto:a@e.org"] {
            assert!(linked(url).starts_with("<a rel="), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "https:/\n/e.org",
            "https://e.org/\u{202e}gpj",
            "data:text/html,<script>",
            "vbscript:x",
            "file:///etc/passwd",
            "//e.org",
            "docs/a.md",
            "https://",
            "",
        ] {
            assert!(!linked(url).contains("href"), "{url}");
        }
        let shown = linked("javascript:alert('1')");
        assert_eq!(
            shown,
            "<bdi>x</bdi> (<bdi>javascript:alert(&#39;1&#39;)</bdi>)"
        );
    }

    #[test]
    fn times_are_shown_to_the_minute() {
        let mut html = HtmlWriter::default();
        html.time("2026-03-01T12:34:56Z".parse().unwrap());
        html.time("2026-03-01T12:34:56+02:00".parse().unwrap());
        assert_eq!(
            html.into_string(),
            "<time datetime=\"2026-03-01T12:34:56Z\">2026-03-01 12:34 UTC</time>\
             <time datetime=\"2026-03-01T12:34:56+02:00\">2026-03-01 12:34</time>"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_markup_and_no_controls(text in ".*") {
            let mut html = HtmlWriter::default();
            html.text(&text);
            html.open("p", &[Attr::Label(&text)]);
            let out = html.into_string();
            let (shown, attribute) = out.split_once("<p aria-label=\"").unwrap();
            let value = attribute.strip_suffix("\">").unwrap();
            prop_assert_eq!(shown, value);
            let bad = ['<', '>', '"', '\'', '\0', '\u{1b}', '\u{202e}'];
            prop_assert!(!value.contains(bad));
        }
    }
}
