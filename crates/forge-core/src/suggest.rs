//! Suggestions for a missing name: "did you mean" and similar existing names.

use crate::{Action, Param};

const MAX_SUGGESTIONS: usize = 3;
/// Maximum number of names that a hint lists completely.
const MAX_FULL_LIST: usize = 12;
/// Minimum length of a word, in characters. For a shorter word, names that contain it are not
/// suggested.
const MIN_PART_LENGTH: usize = 3;
/// Maximum number of characters that are compared, because the comparison takes quadratic time.
const MAX_COMPARED_LENGTH: usize = 128;

/// Returns at most three candidates that `word` probably means, most similar first.
///
/// A candidate is similar in one of these cases:
/// - It is equal to `word` regardless of case.
/// - At most one letter in three (but always one) is wrong, missing, extra or swapped.
/// - It contains `word`, and `word` has three letters or more.
#[must_use]
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = lowercase(word);
    let length = word.chars().count();
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let name = lowercase(candidate);
            let name_length = name.chars().count();
            if length >= MIN_PART_LENGTH && name.contains(&word) {
                return Some((name_length - length, candidate));
            }
            let allowed = (length.max(name_length) / 3).max(1).min(length);
            // The edit distance is at least the difference in length.
            if length.abs_diff(name_length) > allowed {
                return None;
            }
            let distance = strsim::osa_distance(&word, &name);
            (distance <= allowed && distance < name_length.max(1)).then_some((distance, candidate))
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|(_, candidate)| candidate)
        .take(MAX_SUGGESTIONS)
        .collect()
}

/// Returns the suggestions in a form that can end a sentence: `did you mean 'a', 'b' or 'c'?`.
#[must_use]
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let found: Vec<String> = near(word, candidates).into_iter().map(quoted).collect();
    let (last, front) = found.split_last()?;
    Some(if front.is_empty() {
        format!("did you mean {last}?")
    } else {
        format!("did you mean {} or {last}?", front.join(", "))
    })
}

/// Returns the hint for a name that does not exist. The hint lists the names from `known` that are
/// similar to `word`, and all names if there are at most twelve. If there are more and none is
/// similar, it lists the first twelve. `what` is the plural noun for the names, such as `labels`.
#[must_use]
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, what: &str) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return format!("there are no {what} at all");
    }
    let meant = did_you_mean(word, known.iter().copied());
    let are_few = known.len() <= MAX_FULL_LIST;
    let names: Vec<String> = known.into_iter().take(MAX_FULL_LIST).map(quoted).collect();
    let names = names.join(", ");
    match (meant, are_few) {
        (Some(meant), true) => format!("the {what} are {names}; {meant}"),
        (Some(meant), false) => meant,
        (None, true) => format!("the {what} are {names}"),
        (None, false) => format!("some of the {what} are {names}"),
    }
}

/// Returns an action that repeats the failed call. In the arguments `params`, it replaces `word` by
/// the most similar name.
#[must_use]
pub fn corrected<'a>(
    params: &[Param],
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<Action> {
    let nearest = near(word, known).into_iter().next()?;
    let again = Action::again(&[]);
    let in_place = |action: Action, param: &Param| action.replace(*param, word, nearest);
    Some(params.iter().fold(again, in_place))
}

/// Quotes and escapes a name, because names come from users and forges.
fn quoted(name: &str) -> String {
    format!("'{}'", crate::text::one_line(name))
}

fn lowercase(word: &str) -> String {
    word.chars()
        .flat_map(char::to_lowercase)
        .take(MAX_COMPARED_LENGTH)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let labels = ["bug", "documentation", "enhancement", "good first issue"];
        for (typed, meant) in [
            ("Bug", "bug"),
            ("bgu", "bug"),
            ("bugs", "bug"),
            ("docmentation", "documentation"),
            ("enhancment", "enhancement"),
            ("good-first-issue", "good first issue"),
        ] {
            assert_eq!(near(typed, labels), [meant], "{typed}");
        }
        for other in ["x", "", "question", "documentation for the whole program"] {
            assert!(near(other, labels).is_empty(), "{other}");
        }
        // Two of four letters differ.
        assert!(near("nope", ["Done"]).is_empty());
    }

    #[test]
    fn at_most_three_nearest_names_are_suggested() {
        let names = ["color4", "colour", "color", "colors", "colr"];
        assert_eq!(near("color", names), ["color", "color4", "colors"]);
        assert_eq!(
            did_you_mean("color", names).as_deref(),
            Some("did you mean 'color', 'color4' or 'colors'?")
        );
        assert_eq!(did_you_mean("zzzzzz", names), None);
    }

    #[test]
    fn name_containing_word_is_suggested() {
        let branches = ["main", "feature/login", "feature/logout"];
        assert_eq!(near("login", branches), ["feature/login"]);
        assert!(near("in", ["feature/login"]).is_empty());
    }

    #[test]
    fn corrected_call_uses_nearest_name() {
        let known = ["bug", "docs"];
        let both = [Param::AddLabel, Param::RemoveLabel];
        let action = corrected(&both, "bgu", known).unwrap();
        let wanted = Action::again(&[])
            .replace(Param::AddLabel, "bgu", "bug")
            .replace(Param::RemoveLabel, "bgu", "bug");
        assert_eq!(action, wanted);
        assert_eq!(corrected(&both, "question", known), None);
    }

    #[test]
    fn only_short_lists_are_shown_in_full() {
        let h = hint("bgu", ["bug", "docs"], "labels");
        assert_eq!(h, "the labels are 'bug', 'docs'; did you mean 'bug'?");
        assert_eq!(hint("x", ["a\u{1b}b"], "labels"), "the labels are 'a␛b'");
        let many: Vec<String> = (0..40).map(|n| format!("name-{n:02}-long")).collect();
        let h = hint("zzzzzzzzzzzz", many.iter().map(String::as_str), "branches");
        assert!(
            h.starts_with("some of the branches are 'name-00-long', "),
            "{h}"
        );
        assert!(h.ends_with(", 'name-11-long'"), "{h}");
        assert_eq!(hint("x", [], "labels"), "there are no labels at all");
    }
}
