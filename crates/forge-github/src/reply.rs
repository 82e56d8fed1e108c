//! Replies to conversation comments. GitHub has no replies there, so a reply is a new comment. It
//! quotes the original comment and names its id in a hidden line.

const MARK: &str = "<!-- in-reply-to: ";
const END: &str = " -->";
/// How many lines of the original comment are quoted.
const MAX_QUOTED_LINES: usize = 5;

/// Returns the body of a reply to the comment `other`, which has the id `key`.
pub(crate) fn body(key: &str, other: &str, answer: &str) -> String {
    let text = other.split(MARK).next().unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('>'))
        .map(str::trim_end)
        .collect();
    let mut quote: Vec<String> = lines
        .iter()
        .skip_while(|line| line.is_empty())
        .take(MAX_QUOTED_LINES)
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    if lines.len() > MAX_QUOTED_LINES {
        quote.push("> …".to_owned());
    }
    format!("{}\n\n{answer}\n\n{MARK}{key}{END}", quote.join("\n"))
}

/// Returns the id of the comment that a body replies to.
pub(crate) fn marked(body: &str) -> Option<String> {
    let key = body.trim_end().strip_suffix(END)?.rsplit_once(MARK)?.1;
    let plain = key
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'=' | b'+' | b'/'));
    (plain && !key.is_empty() && key.len() <= 200).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_has_quote_and_id_of_comment() {
        let made = body("IC_1", "Why?\n", "Because.");
        assert_eq!(made, "> Why?\n\nBecause.\n\n<!-- in-reply-to: IC_1 -->");
        assert_eq!(marked(&made).as_deref(), Some("IC_1"));
        let second = body("IC_2", &made, "I see.");
        assert!(second.starts_with("> Because.\n"), "{second}");
        assert_eq!(marked(&second).as_deref(), Some("IC_2"));
    }

    #[test]
    fn reply_quote_of_long_comment_is_cut() {
        let made = body("IC_1", "1\n2\n3\n4\n5\n6\n", "x");
        assert!(
            made.starts_with("> 1\n> 2\n> 3\n> 4\n> 5\n> …\n\nx"),
            "{made}"
        );
    }

    #[test]
    fn body_without_reply_quote_is_not_a_reply() {
        for text in [
            "",
            "x",
            "<!-- in-reply-to:  -->",
            "<!-- in-reply-to: a b -->",
            "<!-- in-reply-to: a --> x",
        ] {
            assert_eq!(marked(text), None, "{text}");
        }
    }
}
