//! What the page of a forge hides of a Markdown text.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser};

/// The HTML comments of a Markdown text, in order: bytes from `<!--` to behind `-->`.
///
/// What a page shows holds none: code, and prose in which `<!--` begins no HTML. A comment that its
/// block of HTML leaves open goes on to the next `-->` in HTML, and else to the end: in between a
/// page shows nothing, because the `-->` of prose and code is escaped there. What is shown nowhere,
/// such as the target of a link, a definition of one, or a cell beyond the last column of a table,
/// is looked through for comments as well. Tables and footnotes are read as GitHub has them.
#[must_use]
pub fn html_comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains("<!--") {
        return found;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    // Where the comment begins that is open.
    let mut open = None;
    // What lies before it was looked at.
    let mut done = 0;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            // HTML in a line is closed, so without an open comment it is like what is not shown.
            Event::InlineHtml(_) if open.is_some() => {
                search(text, range.clone(), &mut open, &mut found);
            }
            Event::Text(_) | Event::Code(_) | Event::Html(_) => {
                if open.is_none() {
                    search(text, done..range.start, &mut None, &mut found);
                }
                if matches!(event, Event::Html(_)) {
                    search(text, range.clone(), &mut open, &mut found);
                }
            }
            _ => continue,
        }
        done = done.max(range.end);
    }
    match open {
        Some(start) => found.push(start..text.len()),
        None => search(text, done..text.len(), &mut None, &mut found),
    }
    found
}

/// Adds the comments that end in a part of `text`; `open` is the one that is open before and behind
/// it.
fn search(text: &str, part: Range<usize>, open: &mut Option<usize>, found: &mut Vec<Range<usize>>) {
    let mut from = part.start;
    while let Some(rest) = text.get(from..part.end) {
        match *open {
            None => {
                let Some(at) = rest.find("<!--") else { return };
                *open = Some(from + at);
                // Its hyphens may be those of its end: `<!-->` and `<!--->` are comments.
                from += at + 2;
            }
            Some(start) => {
                let Some(at) = rest.find("-->") else { return };
                from += at + 3;
                found.push(start..from);
                *open = None;
            }
        }
    }
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
            "``` <!--\n-->\n```",
        ] {
            assert_eq!(of(shown), [""; 0], "{shown}");
        }
    }

    proptest! {
        #[test]
        fn in_any_text_they_are_apart_and_in_order(text in "([<>!`|~#:^\\[\\]\\-\\\\ \t\r\né1]|<!--|-->|<p>){0,60}") {
            let mut end = 0;
            for comment in html_comments(&text) {
                prop_assert!(end <= comment.start);
                prop_assert!(text[comment.clone()].starts_with("<!--"));
                end = comment.end;
            }
        }
    }
}
