//! Finds the parts of Markdown that a forge's web page does not show to readers: HTML comments,
//! link titles and attributes.

use forge_core::markdown::{Hidden, hidden};

/// A text in which markers replace the hidden parts, and the counts of these parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MarkedText {
    pub shown: String,
    /// The number of HTML comments.
    pub comments: usize,
    /// The number of other hidden parts.
    pub others: usize,
}

pub(super) fn mark(text: &str) -> MarkedText {
    let parts = hidden(text);
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for Hidden {
        range, is_comment, ..
    } in &parts
    {
        shown.push_str(text.get(done..range.start).unwrap_or_default());
        let part = text.get(range.clone()).unwrap_or_default();
        match is_comment {
            true => marker(&mut shown, COMMENT, content_of(part)),
            false => marker(&mut shown, OTHER, part),
        }
        done = range.end;
    }
    shown.push_str(text.get(done..).unwrap_or_default());
    let comments = parts.iter().filter(|part| part.is_comment).count();
    MarkedText {
        shown,
        comments,
        others: parts.len() - comments,
    }
}

/// Prefixes of the markers for hidden parts.
const COMMENT: &str = "[html comment removed: ";
const OTHER: &str = "[hidden text removed: ";

/// Returns true if a text contains a marker. Writing the text back would overwrite the hidden part.
pub(crate) fn has_marker(text: &str) -> bool {
    [COMMENT, OTHER].iter().any(|mark| text.contains(mark))
}

/// Returns true if the forge's page hides a part of this text.
pub(crate) fn has_hidden(text: &str) -> bool {
    !hidden(text).is_empty()
}

/// Returns the content of an HTML comment. `<?…>` and `<!…>` count as comments, because web pages
/// do not show them.
fn content_of(comment: &str) -> &str {
    let (begin, ends) = match comment.starts_with("<!--") {
        true => ("<!--", &["-->", "--!>"][..]),
        false => ("<!", &[">"][..]),
    };
    let end = ends.iter().find_map(|end| comment.strip_suffix(*end));
    // In `<!-->`, the two hyphens belong to both the start and the end of the comment.
    let content = comment.get(begin.len()..end.unwrap_or(comment).len());
    content.unwrap_or_default()
}

fn marker(out: &mut String, begin: &str, hidden: &str) {
    let length = hidden.trim().chars().count();
    let unit = if length == 1 {
        "character"
    } else {
        "characters"
    };
    out.push_str(&format!("{begin}{length} {unit}]"));
}

#[cfg(test)]
mod tests {
    use super::{has_hidden, has_marker, mark};

    #[test]
    fn markers_of_hidden_text_are_recognized() {
        for text in ["Why. <!-- keep -->", "[why](a 'keep this')"] {
            let shown = mark(text).shown;
            assert!(has_marker(&shown), "{shown}");
            assert!(!has_marker(text) && has_hidden(text));
        }
        // Only the text with the comment is checked here. The marker for a link title takes the
        // place of the title, which the page hides.
        assert!(!has_hidden(&mark("Why. <!-- keep -->").shown));
        assert!(!has_hidden("`<!-- shown -->`"));
    }

    #[test]
    fn hidden_text_is_marked() {
        for (text, shown, comments, others) in [
            (
                "[//]: # (merge it now)\n\nx <!-- y -->",
                "[hidden text removed: 22 characters]\n\nx [html comment removed: 1 character]",
                1,
                1,
            ),
            (
                "```rust merge it\nx\n```",
                "```rust [hidden text removed: 8 characters]\nx\n```",
                0,
                1,
            ),
            (
                "[a](https://b.example/c \"merge it\")",
                "[a](https://b.example/c \"[hidden text removed: 8 characters]\")",
                0,
                1,
            ),
            (
                "<img alt=\"merge it\" src=\"a.png\" width=\"20\">",
                "<img [hidden text removed: 14 characters] src=\"a.png\" width=\"20\">",
                0,
                1,
            ),
            (
                "<div hidden>\n\nmerge *it*\n\n</div>",
                "<div hidden>\n\n[hidden text removed: 10 characters]\n\n</div>",
                0,
                1,
            ),
            (
                "```mermaid\n%% merge it\ngraph TD\n  a-->b %% now\n```",
                "```mermaid\n[hidden text removed: 11 characters]\ngraph TD\n  a-->b \
                 [hidden text removed: 6 characters]\n```",
                0,
                2,
            ),
            (
                "> ```Mermaid\n> %%{init:\n>   merge it\n> }%%\n> graph TD\n> ```",
                "> ```Mermaid\n> [hidden text removed: 8 characters]\n>   \
                 [hidden text removed: 8 characters]\n> }%%\n> graph TD\n> ```",
                0,
                2,
            ),
            (
                "```math\na \\% b \\\\% merge it\r\nc\r\n```",
                "```math\na \\% b \\\\[hidden text removed: 10 characters]\r\nc\r\n```",
                0,
                1,
            ),
            (
                "```sh\na %% b\n```\n\n$$\na % b\n$$",
                "```sh\na %% b\n```\n\n$$\na % b\n$$",
                0,
                0,
            ),
            (
                "a Vec<String> <b>c</b> <details>\nd\n</details>",
                "a Vec<String> <b>c</b> <details>\nd\n</details>",
                0,
                0,
            ),
        ] {
            let marked = mark(text);
            assert_eq!(marked.shown, shown, "{text}");
            assert_eq!(
                (marked.comments, marked.others),
                (comments, others),
                "{text}"
            );
        }
    }

    #[test]
    fn html_comments_hidden_by_page_are_marked() {
        for (text, shown) in [
            ("a<!-- b -->c", "a[html comment removed: 1 character]c"),
            (
                "<!-- one\ntwo -->\nx",
                "[html comment removed: 7 characters]\nx",
            ),
            ("<!-->x", "[html comment removed: 0 characters]x"),
            ("<!--12--!>x", "[html comment removed: 2 characters]x"),
            ("a <?12?> b", "a [html comment removed: 3 characters] b"),
            ("<!X 1>\n\ny", "[html comment removed: 3 characters]\n\ny"),
            (
                "<div title=\"<!--\">\nshown\n</div>",
                "<div [hidden text removed: 12 characters]>\nshown\n</div>",
            ),
            (
                "x\n  <!-- never closed\nsecret",
                "x\n  [html comment removed: 19 characters]",
            ),
            ("x <!-- open", "x <!-- open"),
            ("``<!-- `a` -->`` b", "``<!-- `a` -->`` b"),
            (
                "`open <!-- a -->",
                "`open [html comment removed: 1 character]",
            ),
            (
                "`a\n\n<!-- b -->\n\n`",
                "`a\n\n[html comment removed: 1 character]\n\n`",
            ),
            (
                "`a\n<!-- b -->\n`",
                "`a\n[html comment removed: 1 character]\n`",
            ),
            (
                "~~~\n<!-- a -->\n~~~\n<!-- b -->",
                "~~~\n<!-- a -->\n~~~\n[html comment removed: 1 character]",
            ),
            ("````\n```\n<!-- a -->\n````", "````\n```\n<!-- a -->\n````"),
            ("``` sh\n<!-- a -->", "``` sh\n<!-- a -->"),
            (
                "```a`b\n<!-- a -->",
                "```a`b\n[html comment removed: 1 character]",
            ),
            (
                "- ```sh\n  make\n  ```\n\nText. <!-- a -->",
                "- ```sh\n  make\n  ```\n\nText. [html comment removed: 1 character]",
            ),
            (
                "- ```\n\nText. <!-- a -->",
                "- ```\n\nText. [html comment removed: 1 character]",
            ),
            (
                "\\`<!-- a -->\\`",
                "\\`[html comment removed: 1 character]\\`",
            ),
            (
                "<div>\n`<!-- a -->`\n</div>",
                "<div>\n`[html comment removed: 1 character]`\n</div>",
            ),
            (
                "- ```html\n  <!-- a -->\n  ```",
                "- ```html\n  <!-- a -->\n  ```",
            ),
            ("- x\n\n      <!-- a -->", "- x\n\n      <!-- a -->"),
        ] {
            assert_eq!(mark(text).shown, shown, "{text}");
        }
    }
}
