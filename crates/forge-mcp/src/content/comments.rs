//! HTML comments in markdown: what a forge's page does not show.

/// A text with a marker in the place of each HTML comment, and how many there were.
///
/// Comments in fenced code and in code spans are shown by every forge, so they stay. A comment that
/// is never closed hides the rest of the text where it begins a line (`CommonMark` 0.31, HTML blocks,
/// condition 2), and is plain text elsewhere.
pub(super) fn mark(text: &str) -> (String, usize) {
    if !text.contains("<!--") {
        return (text.to_owned(), 0);
    }
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    let mut rest = text;
    let mut fence: Option<&str> = None;
    let mut at_line_start = true;
    while !rest.is_empty() {
        if at_line_start {
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            if let Some(after) = fence_line(line, &mut fence) {
                take(&mut out, &mut rest, after);
                continue;
            }
        }
        let here = rest.find(['`', '\n', '<']).unwrap_or(rest.len());
        let blank = rest.get(..here).is_some_and(|s| s.trim().is_empty());
        let line_began = at_line_start && blank;
        take(&mut out, &mut rest, here);
        match rest.chars().next() {
            Some('`') => {
                at_line_start = false;
                let length = code_span(rest);
                take(&mut out, &mut rest, length);
            }
            Some('<') if rest.starts_with("<!--") => {
                let inner = rest.get(4..).unwrap_or_default();
                // `<!-->` and `<!--->` are comments of their own.
                let closed = match inner {
                    i if i.starts_with('>') => Some((0, 1)),
                    i if i.starts_with("->") => Some((0, 2)),
                    i => i.find("-->").map(|at| (at, at + 3)),
                };
                match closed {
                    Some((hidden, length)) => {
                        marker(&mut out, inner.get(..hidden).unwrap_or_default());
                        rest = inner.get(length..).unwrap_or_default();
                        count += 1;
                    }
                    None if line_began => {
                        marker(&mut out, inner);
                        rest = "";
                        count += 1;
                    }
                    None => take(&mut out, &mut rest, 4),
                }
                at_line_start = false;
            }
            Some(c) => {
                at_line_start = c == '\n';
                take(&mut out, &mut rest, 1);
            }
            None => {}
        }
    }
    (out, count)
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
    mark(text).1 > 0
}

fn take(out: &mut String, rest: &mut &str, length: usize) {
    let (taken, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
    out.push_str(taken);
    *rest = left;
}

fn marker(out: &mut String, hidden: &str) {
    let length = hidden.trim().chars().count();
    let unit = if length == 1 {
        "character"
    } else {
        "characters"
    };
    out.push_str(&format!("{MARK}{length} {unit}]"));
}

/// How much of a line belongs to fenced code: all of it, the fences among it.
fn fence_line<'a>(line: &'a str, fence: &mut Option<&'a str>) -> Option<usize> {
    let indented = line.trim_start_matches(' ');
    let mark = |c: char| {
        let length = indented.len() - indented.trim_start_matches(c).len();
        (length >= 3 && line.len() - indented.len() <= 3)
            .then(|| indented.get(..length).unwrap_or_default())
    };
    let found = mark('`').or_else(|| mark('~'));
    match (*fence, found) {
        (Some(open), Some(close)) if close.starts_with(open) => {
            let after = indented.get(close.len()..).unwrap_or_default();
            if after.trim().is_empty() {
                *fence = None;
            }
            Some(line.len())
        }
        (Some(_), _) => Some(line.len()),
        (None, Some(open)) => {
            // The info string of a fence of backticks has none in it.
            let info = indented.get(open.len()..).unwrap_or_default();
            if open.starts_with('`') && info.contains('`') {
                return None;
            }
            *fence = Some(open);
            Some(line.len())
        }
        (None, None) => None,
    }
}

/// The length of the code span that `text` begins with; of its backticks alone where it is none. A
/// blank line, a fence and a comment at the beginning of a line end the paragraph, and any span.
fn code_span(text: &str) -> usize {
    let ends = |line: &str| {
        let line = line.trim_start_matches(' ');
        line.trim().is_empty() || ["<!--", "```", "~~~"].iter().any(|s| line.starts_with(s))
    };
    let paragraph = text
        .match_indices('\n')
        .find(|(at, _)| {
            let next = text.get(at + 1..).unwrap_or_default();
            ends(next.lines().next().unwrap_or_default())
        })
        .map_or(text.len(), |(at, _)| at);
    let text = text.get(..paragraph).unwrap_or(text);
    let run = |s: &str| s.len() - s.trim_start_matches('`').len();
    let open = run(text);
    let mut at = open;
    while let Some(found) = text.get(at..).and_then(|s| s.find('`')) {
        at += found;
        let length = run(text.get(at..).unwrap_or_default());
        at += length;
        if length == open {
            return at;
        }
    }
    open
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
        ] {
            assert_eq!(mark(text).0, shown, "{text}");
        }
    }
}
