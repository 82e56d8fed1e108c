//! Splits command lines in settings into words: `code --wait`, `'my pager' -R`.

/// Splits a command into words. Quotes and backslashes keep spaces. Returns `None` for an unclosed
/// quote.
#[must_use]
pub fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') if !cfg!(windows) => {
                word.get_or_insert_default().push(chars.next()?);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_keep_spaces() {
        let words = |t| split(t).unwrap();
        assert_eq!(words("code --wait"), ["code", "--wait"]);
        assert_eq!(
            words("'my pager' -R \"a b\" ''"),
            ["my pager", "-R", "a b", ""]
        );
        assert_eq!(words("  "), Vec::<String>::new());
        assert_eq!(split("'open"), None);
    }
}
