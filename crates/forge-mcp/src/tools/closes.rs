//! The lines of a description that close issues.

/// The words that GitHub takes for "closes" (docs.github.com, "Linking a pull request to an issue").
const KEYWORDS: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];

/// The description with a line `Closes #N` behind it for each issue that it does not close yet.
/// Without issues it is unchanged.
pub(super) fn with_closing_lines(description: String, issues: &[u64]) -> String {
    let mut closed = closed_by(&description);
    let mut lines = String::new();
    for issue in issues {
        if !closed.contains(issue) {
            closed.push(*issue);
            lines.push_str(&format!("Closes #{issue}\n"));
        }
    }
    let lines = lines.trim_end();
    match (description.trim_end(), lines) {
        (_, "") => description,
        ("", lines) => lines.to_owned(),
        (text, lines) => format!("{text}\n\n{lines}"),
    }
}

/// The issues of its own repository that a description closes: a keyword right before `#N`. What is
/// code or an HTML comment closes nothing.
fn closed_by(description: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut after_keyword = false;
    for word in prose(description).split_whitespace() {
        if after_keyword && let Some(number) = number(word) {
            found.push(number);
        }
        let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix(':').unwrap_or(bare).to_lowercase();
        after_keyword = KEYWORDS.contains(&bare.as_str());
    }
    found
}

/// `#7`, perhaps with punctuation behind it.
fn number(word: &str) -> Option<u64> {
    let digits = word.strip_prefix('#')?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end)?;
    let joined = |c: char| c.is_alphanumeric() || c == '_';
    match rest.starts_with(joined) {
        true => None,
        false => digits.parse().ok(),
    }
}

/// A text without its HTML comments, fenced code and code spans.
fn prose(text: &str) -> String {
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, behind)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = behind.split_once("-->").map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    let mut prose = String::new();
    let mut fence: Option<&str> = None;
    for line in shown.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|m| start.starts_with(m));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                // Of every second part a backtick is on both sides. What is cut out joins nothing.
                for (at, part) in line.split('`').enumerate() {
                    prose.push_str(if at % 2 == 0 { part } else { " ` " });
                }
                prose.push('\n');
            }
        }
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_issue_behind_the_description() {
        for (description, issues, wanted) in [
            ("Why.", &[][..], "Why."),
            ("Why.\n", &[], "Why.\n"),
            ("", &[], ""),
            ("", &[7], "Closes #7"),
            ("Why.\n", &[7, 8], "Why.\n\nCloses #7\nCloses #8"),
            ("Why.", &[7, 7], "Why.\n\nCloses #7"),
        ] {
            assert_eq!(
                with_closing_lines(description.to_owned(), issues),
                wanted,
                "{description:?} {issues:?}"
            );
        }
    }

    #[test]
    fn none_is_added_twice() {
        for closing in [
            "Closes #7",
            "fixes: #7.",
            "It RESOLVED #7, at last",
            "(closes #7)",
            "Closes #7\n\n```\ncode\n```",
        ] {
            assert_eq!(with_closing_lines(closing.to_owned(), &[7]), closing);
            let once = with_closing_lines("Why.".to_owned(), &[7]);
            assert_eq!(with_closing_lines(once.clone(), &[7]), once);
        }
        for other in [
            "Closes #70",
            "Closes octo/tools#7",
            "encloses #7",
            "See #7",
            "Closes #6, #7",
            "`Closes #7`",
            "```\nCloses #7\n```",
            "<!-- Closes #7 -->",
            "Closes #7x",
        ] {
            assert_eq!(
                with_closing_lines(other.to_owned(), &[7]),
                format!("{other}\n\nCloses #7")
            );
        }
    }
}
