//! Names that a mistyped one may have meant.

/// At most this many are named.
const MOST: usize = 3;
/// A list of at most this many names is shown whole.
const FEW: usize = 12;

/// A hint that names those of `known` that are near `given`, and all of them when they are few.
pub(crate) fn hint<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let given = given.to_lowercase();
    let limit = (given.chars().count() / 3).max(2);
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .map(|name| {
            let folded = name.to_lowercase();
            let part = !given.is_empty() && (folded.contains(&given) || given.contains(&folded));
            (if part { 1 } else { distance(&given, &folded) }, *name)
        })
        .filter(|(d, _)| *d <= limit)
        .collect();
    near.sort();
    let quoted = |names: Vec<&str>| {
        let names: Vec<_> = names
            .into_iter()
            .map(|n| format!("'{}'", forge_core::text::one_line(n)))
            .collect();
        names.join(", ")
    };
    let mut hint = String::new();
    if !near.is_empty() {
        let names = near.into_iter().take(MOST).map(|(_, n)| n).collect();
        hint = format!("did you mean {}?", quoted(names));
    }
    if known.is_empty() {
        return format!("there are no {what} at all");
    }
    if known.len() <= FEW {
        let space = if hint.is_empty() { "" } else { " " };
        hint = format!("{hint}{space}the {what} are {}", quoted(known));
    }
    if hint.is_empty() {
        format!("none of the {what} has a name near it")
    } else {
        hint
    }
}

/// Edit distance (insert, delete, replace).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let up = *slot;
            let replaced = diagonal + usize::from(x != *y);
            *slot = replaced.min(up + 1).min(left + 1);
            diagonal = up;
            left = *slot;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("bug", "bugs", 1),
        ] {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
    }

    #[test]
    fn near_names_come_first_and_few_are_all_shown() {
        let h = hint("bgu", ["bug", "docs"], "labels");
        assert_eq!(h, "did you mean 'bug'? the labels are 'bug', 'docs'");
        let many: Vec<String> = (0..40).map(|n| format!("name-{n:02}-long")).collect();
        let h = hint("zzzzzzzzzzzz", many.iter().map(String::as_str), "branches");
        assert_eq!(h, "none of the branches has a name near it");
        assert_eq!(hint("x", [], "labels"), "there are no labels at all");
    }
}
