//! Words of commands that a hint names.

use forge_core::text;

/// `word` for a POSIX shell, on one line. A name of a branch may have a `;` or a `$(` in it, and
/// whoever chose it is not whoever runs the command.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", text::one_line(word).replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        assert_eq!(quoted("/a/b-c"), "/a/b-c");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(quoted("a;b"), "'a;b'");
    }
}
