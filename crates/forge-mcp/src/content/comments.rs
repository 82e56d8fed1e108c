//! HTML comments in markdown and what is hidden like them: what a forge's page does not show.

use forge_core::markdown::html_comments;

/// A text with a marker in the place of each HTML comment, and how many there were.
pub(super) fn mark(text: &str) -> (String, usize) {
    let comments = html_comments(text);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for comment in &comments {
        out.push_str(text.get(done..comment.start).unwrap_or_default());
        marker(&mut out, text.get(comment.clone()).unwrap_or_default());
        done = comment.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, comments.len())
}

/// How the marker begins.
const MARK: &str = "[html comment removed: ";

/// Whether a text was read with a marker in it: to write it back where the comments are would lose
/// them.
pub(crate) fn has_marker(text: &str) -> bool {
    text.contains(MARK)
}

/// Whether a page of the forge hides a comment of this text.
pub(crate) fn has_comments(text: &str) -> bool {
    !html_comments(text).is_empty()
}

fn marker(out: &mut String, comment: &str) {
    // A page hides `<?…>` and `<!…>` as well.
    let (begin, ends) = match comment.starts_with("<!--") {
        true => ("<!--", &["-->", "--!>"][..]),
        false => ("<!", &[">"][..]),
    };
    let end = ends.iter().find_map(|end| comment.strip_suffix(*end));
    // Of `<!-->` the hyphens are those of both ends.
    let hidden = comment.get(begin.len()..end.unwrap_or(comment).len());
    let hidden = hidden.unwrap_or_default();
    let length = hidden.trim().chars().count();
    let unit = if length == 1 {
        "character"
    } else {
        "characters"
    };
    out.push_str(&format!("{MARK}{length} {unit}]"));
}

#[cfg(test)]
mod tests {
    use super::{has_comments, has_marker, mark};

    #[test]
    fn what_was_read_here_is_known_again() {
        let (shown, _) = mark("Why. <!-- keep -->");
        assert!(has_marker(&shown) && !has_comments(&shown));
        assert!(!has_marker("Why. <!-- keep -->") && has_comments("Why. <!-- keep -->"));
        assert!(!has_comments("`<!-- shown -->`"));
    }

    #[test]
    fn comments_are_marked_where_a_page_hides_them() {
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
                "<div title=\"<!--\">\nshown\n</div>",
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
            ("``` x\n<!-- a -->", "``` x\n<!-- a -->"),
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
            assert_eq!(mark(text).0, shown, "{text}");
        }
    }
}
