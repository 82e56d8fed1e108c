//! Tracks which HTML elements are open at a position of a page, as far as this decides whether text
//! is hidden (html.spec.whatwg.org, "Tree construction").

/// Elements that hide their content and whose content is markup.
const HIDING: &[&str] = &[
    "audio", "canvas", "datalist", "dialog", "rp", "template", "video",
];

/// Elements that hide their content and whose content is raw text up to the end tag.
const RAW: &[&str] = &[
    "iframe", "noembed", "noframes", "noscript", "script", "style", "title",
];

/// Elements without an end tag. `body`, `head` and `html` are listed as well: they already belong
/// to the page, so such a tag in the text opens nothing.
const VOID: &[&str] = &[
    "area", "base", "body", "br", "col", "embed", "head", "html", "hr", "img", "input", "link",
    "meta", "param", "source", "track", "wbr",
];

/// Elements that stay open after the end of a block, until their end tag.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements that begin a block and thereby close an open paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "ul",
];

/// Elements whose content cannot close an element outside of them.
const BARRIERS: &[&str] = &[
    "applet", "caption", "marquee", "object", "table", "td", "template", "th",
];

/// Elements that, like blocks and barriers, stop an ordinary end tag: the tag does not close an
/// element outside of them.
const ROWS: &[&str] = &["colgroup", "tbody", "tfoot", "thead", "tr"];

/// Returns true if a tag of this name, in lower case, begins or ends a block of text.
pub(crate) fn is_block(name: &str) -> bool {
    let mut lists = [BLOCKS, BARRIERS, ROWS].into_iter();
    lists.any(|names| names.contains(&name))
}

/// Maximum number of open elements. Every tag is compared with all of them, so the limit bounds the
/// time. Chromium uses the same limit.
const MAX_OPEN: usize = 512;

/// The kind of content after a start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    None,
    /// Text up to the end tag.
    Raw,
    Markup,
}

#[derive(Debug)]
struct OpenElement {
    name: String,
    hides: bool,
    is_special: bool,
    is_barrier: bool,
    /// Length that the other list (`stack` or `formatting`) had when this element was opened.
    others: usize,
}

/// The elements that are open at a position of the text.
#[derive(Debug, Default)]
pub(super) struct Elements {
    stack: Vec<OpenElement>,
    formatting: Vec<OpenElement>,
}

impl Elements {
    /// Returns true if an open element hides the text that follows.
    pub fn are_hiding(&self) -> bool {
        let mut all = self.stack.iter().chain(&self.formatting);
        all.any(|open| open.hides)
    }

    /// Returns true if more than `MAX_OPEN` elements are open.
    pub fn are_too_many(&self) -> bool {
        self.stack.len() + self.formatting.len() > MAX_OPEN
    }

    /// Closes the elements that a start tag ends implicitly.
    pub fn close_implied(&mut self, name: &str) {
        match name {
            "li" => self.end_sibling(&["li"]),
            "dd" | "dt" => self.end_sibling(&["dd", "dt"]),
            "td" | "th" => self.end_cell(&["td", "th"], "tr"),
            "tr" => self.end_cell(&["tr"], "table"),
            "a" => self.formatting.retain(|open| open.name != "a"),
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.end_in_scope(&["p"]);
        }
    }

    /// Opens an element.
    pub fn start(&mut self, name: &str, is_hidden: bool, is_open: bool) -> Content {
        if VOID.contains(&name) {
            return Content::None;
        }
        if RAW.contains(&name) {
            return Content::Raw;
        }
        let open = OpenElement {
            name: name.to_owned(),
            hides: is_hidden || HIDING.contains(&name) && !(name == "dialog" && is_open),
            is_special: is_special(name),
            is_barrier: BARRIERS.contains(&name),
            others: self.formatting.len(),
        };
        match FORMATTING.contains(&name) {
            true => self.formatting.push(OpenElement {
                others: self.stack.len(),
                ..open
            }),
            false => self.stack.push(open),
        }
        Content::Markup
    }

    /// Closes the element `name`, if open.
    pub fn end(&mut self, name: &str) {
        if FORMATTING.contains(&name) {
            if let Some(at) = self.formatting.iter().rposition(|open| open.name == name) {
                let ended = self.formatting.remove(at);
                let inner = self.stack.get(ended.others..).unwrap_or_default();
                if !inner.iter().any(|open| open.is_special) {
                    self.truncate(ended.others);
                }
            }
        } else if is_heading(name) {
            self.end_in_scope(&["h1", "h2", "h3", "h4", "h5", "h6"]);
        } else if is_special(name) {
            self.end_in_scope(&[name]);
        } else {
            let mut open = self.stack.iter().rev();
            let found = open.position(|open| open.name == name || open.is_special);
            let at = found.map(|n| self.stack.len() - 1 - n);
            let at = at.filter(|at| self.stack.get(*at).is_some_and(|open| open.name == name));
            at.into_iter().for_each(|at| self.truncate(at));
        }
    }

    /// Closes the innermost open element that is in `names`, unless a barrier inside of it is open.
    fn end_in_scope(&mut self, names: &[&str]) {
        for at in (0..self.stack.len()).rev() {
            let Some(open) = self.stack.get(at) else {
                return;
            };
            if names.contains(&open.name.as_str()) {
                return self.truncate(at);
            }
            if open.is_barrier {
                return;
            }
        }
    }

    /// Closes the previous item of the list that the new item belongs to.
    fn end_sibling(&mut self, names: &[&str]) {
        for at in (0..self.stack.len()).rev() {
            let Some(open) = self.stack.get(at) else {
                return;
            };
            let name = open.name.as_str();
            if names.contains(&name) {
                return self.truncate(at);
            }
            if open.is_special && !["address", "div", "p"].contains(&name) {
                return;
            }
        }
    }

    /// Closes the previous cell or row of the table that the new one belongs to.
    fn end_cell(&mut self, names: &[&str], around: &str) {
        for at in (0..self.stack.len()).rev() {
            let name = self.stack.get(at).map_or("", |open| open.name.as_str());
            if names.contains(&name) {
                return self.truncate(at);
            }
            if name == around || name == "table" {
                return;
            }
        }
    }

    fn truncate(&mut self, at: usize) {
        let ended = self.stack.get(at..).unwrap_or_default();
        let cell = ended.iter().find(|open| open.is_barrier);
        if let Some(cell) = cell {
            self.formatting.truncate(cell.others);
        }
        self.stack.truncate(at);
        // Formatting elements that are still open after a block are opened again in the next block.
        for open in &mut self.formatting {
            open.others = open.others.min(at);
        }
    }
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn is_special(name: &str) -> bool {
    [BLOCKS, BARRIERS, ROWS]
        .iter()
        .any(|set| set.contains(&name))
}
