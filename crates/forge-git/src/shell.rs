//! Quotes words for commands in hints.

use forge_core::text;

/// Quotes `word` for a POSIX shell, on one line. A stranger may have chosen the word, such as a
/// branch name that contains `;` or `$(`.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    single_quoted(&text::one_line(word))
}

/// Puts `word` in single quotes, with the same characters.
pub(crate) fn single_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a command for a POSIX shell, on one line. Each word is quoted if it needs quotes.
///
/// Every command with a variable word, in a message or a hint, is built here.
pub fn command_line<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<String> = words
        .into_iter()
        .map(|word| quoted(word.as_ref()))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_metacharacters_are_quoted() {
        assert_eq!(quoted("/a/b-c"), "/a/b-c");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(quoted("a;b"), "'a;b'");
    }

    #[test]
    fn each_word_of_command_is_quoted() {
        let words = [
            "git",
            "fetch",
            "o;rm -rf ~",
            "$(id)",
            "",
            "a\nb",
            "~root",
            "x=y",
        ];
        let expected = "git fetch 'o;rm -rf ~' '$(id)' '' 'a b' '~root' x=y";
        assert_eq!(command_line(words), expected);
    }
}
