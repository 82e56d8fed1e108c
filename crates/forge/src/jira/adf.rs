//! Converts Atlassian Document Format to plain text.
//!
//! Source: developer.atlassian.com, "Atlassian Document Format". For a node of an unknown type,
//! only its content is written.

use serde_json::Value;

/// Returns the text of a document. The text is empty if `document` is not in this format.
pub(super) fn plain_text(document: &Value) -> String {
    let mut out = String::new();
    write(document, "", &mut out);
    out.trim_end().to_owned()
}

/// Writes a node. All lines except the first begin with `indent`.
fn write(node: &Value, indent: &str, out: &mut String) {
    let text_of = |name: &str| attribute(node, name).as_str().unwrap_or_default();
    match member(node, "type").as_str().unwrap_or_default() {
        "text" => text(node, out),
        "hardBreak" => new_line(indent, out),
        "rule" => block("---", indent, out),
        "mention" | "status" => out.push_str(text_of("text")),
        "emoji" => match text_of("text") {
            "" => out.push_str(text_of("shortName")),
            text => out.push_str(text),
        },
        "inlineCard" | "blockCard" | "embedCard" => out.push_str(text_of("url")),
        "date" => out.push_str(&day(node)),
        "media" | "mediaInline" => match text_of("alt") {
            "" => out.push_str("[media]"),
            alt => out.push_str(&format!("[media: {alt}]")),
        },
        "bulletList" | "taskList" | "decisionList" => list(node, indent, out, |_| "- ".to_owned()),
        "orderedList" => {
            let first = attribute(node, "order").as_u64().unwrap_or(1);
            list(node, indent, out, |n| {
                format!("{}. ", first.saturating_add(n))
            });
        }
        "tableRow" => {
            start(indent, out);
            for (n, cell) in children(node).enumerate() {
                if n > 0 {
                    out.push_str(" | ");
                }
                let mut text = String::new();
                write(cell, "", &mut text);
                out.push_str(&text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
        "expand" | "nestedExpand" => {
            block(text_of("title"), indent, out);
            nodes(node, indent, out);
        }
        "paragraph" | "heading" | "codeBlock" | "taskItem" | "decisionItem" => {
            start(indent, out);
            nodes(node, indent, out);
        }
        "blockquote" => {
            let indent = format!("{indent}> ");
            start(&indent, out);
            nodes(node, &indent, out);
        }
        _ => nodes(node, indent, out),
    }
}

fn member<'a>(node: &'a Value, name: &str) -> &'a Value {
    node.get(name).unwrap_or(&Value::Null)
}

fn attribute<'a>(node: &'a Value, name: &str) -> &'a Value {
    member(member(node, "attrs"), name)
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    member(node, "content").as_array().into_iter().flatten()
}

fn nodes(node: &Value, indent: &str, out: &mut String) {
    children(node).for_each(|child| write(child, indent, out));
}

/// Writes a text node, and the URL of its link if the URL differs from the text.
fn text(node: &Value, out: &mut String) {
    let text = member(node, "text").as_str().unwrap_or_default();
    out.push_str(text);
    let marks = member(node, "marks").as_array().into_iter().flatten();
    for mark in marks.filter(|mark| member(mark, "type") == "link") {
        let href = attribute(mark, "href").as_str().unwrap_or_default();
        if href != text && !href.is_empty() {
            out.push_str(&format!(" ({href})"));
        }
    }
}

fn list(node: &Value, indent: &str, out: &mut String, mark: impl Fn(u64) -> String) {
    let below = format!("{indent}  ");
    for (item, n) in children(node).zip(0..) {
        // In a list of tasks, a nested list is a sibling of the items, not part of an item.
        if member(item, "type")
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"))
        {
            write(item, &below, out);
            continue;
        }
        start(indent, out);
        out.push_str(&mark(n));
        let mut text = String::new();
        write(item, &below, &mut text);
        out.push_str(text.trim_start());
    }
}

fn block(text: &str, indent: &str, out: &mut String) {
    start(indent, out);
    out.push_str(text);
}

/// Starts a new line, except at the beginning of the text.
fn start(indent: &str, out: &mut String) {
    if !out.is_empty() && !out.ends_with(&format!("\n{indent}")) {
        new_line(indent, out);
    } else if out.is_empty() {
        out.push_str(indent.trim_start());
    }
}

fn new_line(indent: &str, out: &mut String) {
    out.push('\n');
    out.push_str(indent);
}

/// Returns the day of a date node. Its timestamp is a text in milliseconds.
fn day(node: &Value) -> String {
    let millis = attribute(node, "timestamp").as_str().unwrap_or_default();
    let seconds = millis.parse::<i64>().map(|millis| millis / 1000);
    seconds.map_or_else(
        |_| millis.to_owned(),
        |seconds| forge_core::Timestamp::from_unix(seconds).date(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paragraph(text: &str) -> Value {
        json!({"type": "paragraph", "content": [{"type": "text", "text": text}]})
    }

    fn document(content: Value) -> Value {
        json!({"type": "doc", "version": 1, "content": content})
    }

    #[test]
    fn adf_blocks_become_lines_and_lists_are_marked() {
        let item = |content: Value| json!({"type": "listItem", "content": content});
        let inner = json!({"type": "bulletList", "content": [item(json!([paragraph("deep")]))]});
        let found = plain_text(&document(json!([
            {"type": "heading", "attrs": {"level": 1}, "content": [{"type": "text", "text": "Top"}]},
            paragraph("One."),
            {"type": "bulletList", "content": [
                item(json!([paragraph("a"), paragraph("b"), inner])), item(json!([paragraph("c")]))
            ]},
            {"type": "orderedList", "attrs": {"order": 3}, "content": [item(json!([paragraph("d")]))]},
            {"type": "rule"},
            {"type": "codeBlock", "content": [{"type": "text", "text": "x = 1\ny = 2"}]},
            {"type": "blockquote", "content": [paragraph("said"), paragraph("more")]},
        ])));
        let wanted = "Top\nOne.\n- a\n  b\n  - deep\n- c\n3. d\n---\nx = 1\ny = 2\n> said\n> more";
        assert_eq!(found, wanted);
    }

    #[test]
    fn adf_inline_nodes_become_text() {
        let link = json!([{"type": "link", "attrs": {"href": "https://example.org/a"}}]);
        let found = plain_text(&document(json!([{"type": "paragraph", "content": [
            {"type": "mention", "attrs": {"id": "1", "text": "@ada"}},
            {"type": "text", "text": " see "},
            {"type": "text", "text": "here", "marks": link},
            {"type": "hardBreak"},
            {"type": "emoji", "attrs": {"shortName": ":bug:"}},
            {"type": "inlineCard", "attrs": {"url": "https://example.org/b"}},
            {"type": "date", "attrs": {"timestamp": "1767225600000"}},
            {"type": "status", "attrs": {"text": "DONE"}},
            {"type": "unknown", "content": [{"type": "text", "text": "inside"}]},
        ]}])));
        let wanted =
            "@ada see here (https://example.org/a)\n:bug:https://example.org/b2026-01-01DONEinside";
        assert_eq!(found, wanted);
    }

    #[test]
    fn adf_table_rows_have_bars() {
        let cell = |text: &str| json!({"type": "tableCell", "content": [paragraph(text)]});
        let row = |a: &str, b: &str| json!({"type": "tableRow", "content": [cell(a), cell(b)]});
        let table = json!({"type": "table", "content": [row("a", "b"), row("c\nd", "e")]});
        assert_eq!(plain_text(&document(json!([table]))), "a | b\nc d | e");
        for none in [json!(null), json!(7), json!({"type": "doc"}), json!([1])] {
            assert_eq!(plain_text(&none), "");
        }
    }
}
