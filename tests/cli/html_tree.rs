//! Parses a page with an HTML parser, and checks the page's elements and attributes.

use html5ever::{ParseOpts, parse_document, tendril::TendrilSink as _};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// The elements that a page may contain.
const ELEMENTS: &[&str] = &[
    "a",
    "article",
    "bdi",
    "blockquote",
    "body",
    "br",
    "circle",
    "code",
    "dd",
    "del",
    "desc",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "footer",
    "g",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "li",
    "line",
    "main",
    "meta",
    "nav",
    "ol",
    "p",
    "pre",
    "rect",
    "section",
    "span",
    "strong",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "ul",
];

/// The attributes that a page may contain, except those of links.
const ATTRIBUTES: &[&str] = &[
    "aria-hidden",
    "aria-label",
    "aria-labelledby",
    "charset",
    "class",
    "colspan",
    "content",
    "cx",
    "cy",
    "data-label",
    "datetime",
    "dir",
    "height",
    "http-equiv",
    "id",
    "lang",
    "name",
    "open",
    "r",
    "rel",
    "role",
    "rx",
    "scope",
    "start",
    "tabindex",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
    "y2",
];

/// An HTML element: its name, its attributes, and its text.
pub struct Element {
    pub name: String,
    pub attrs: Vec<(String, String)>,
    pub text: String,
}

impl Element {
    pub fn attr(&self, name: &str) -> &str {
        let found = self.attrs.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Returns the page's elements in document order.
///
/// # Panics
///
/// Panics if the page is malformed, or if it could load or run something.
pub fn elements(page: &str) -> Vec<Element> {
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(page);
    let errors = dom.errors.borrow();
    assert!(errors.is_empty(), "{errors:?}");
    let mut found = Vec::new();
    walk(&dom.document, &mut found);
    found.iter().for_each(check);
    found
}

/// Returns the first element with this name. Unless `class_or_id` is empty, the element must have
/// this class or id.
pub fn first<'a>(all: &'a [Element], name: &str, class_or_id: &str) -> &'a Element {
    let is_it = |e: &&Element| {
        let mut classes = e.attr("class").split(' ');
        let is_named = class_or_id.is_empty() || e.attr("id") == class_or_id;
        e.name == name && (is_named || classes.any(|class| class == class_or_id))
    };
    let found = all.iter().find(is_it);
    found.unwrap_or_else(|| panic!("there is no {name} {class_or_id}"))
}

fn check(element: &Element) {
    let name = element.name.as_str();
    assert!(ELEMENTS.contains(&name), "<{name}>");
    for (attr, value) in &element.attrs {
        if attr == "href" {
            let starts = ["#", "https://", "http://", "mailto:"];
            assert_eq!(name, "a");
            assert!(starts.iter().any(|s| value.starts_with(s)), "{value}");
            let is_own = value.starts_with('#');
            assert!(is_own || element.attr("rel").contains("noreferrer"));
        } else {
            assert!(ATTRIBUTES.contains(&attr.as_str()), "<{name} {attr}>");
        }
    }
}

fn walk(node: &Handle, found: &mut Vec<Element>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attrs = attrs.borrow();
        let attrs = attrs
            .iter()
            .map(|a| (a.name.local.to_string(), a.value.to_string()));
        found.push(Element {
            name: name.local.to_string(),
            attrs: attrs.collect(),
            text: text(node),
        });
    }
    assert!(
        !matches!(node.data, NodeData::Comment { .. }),
        "the page has a comment"
    );
    node.children
        .borrow()
        .iter()
        .for_each(|child| walk(child, found));
}

fn text(node: &Handle) -> String {
    if let NodeData::Text { contents } = &node.data {
        return contents.borrow().to_string();
    }
    node.children.borrow().iter().map(text).collect()
}
