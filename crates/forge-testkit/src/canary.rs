//! The word that is in every token of a test, and that nothing may print.

/// The word. The output of every program under test is searched for the word, and so is the output
/// of every lane of `cargo xtask test`. The GitHub double knows no token without it.
pub const CANARY: &str = include_str!("canary.txt");

/// Fails when a program has printed a token, without printing it again.
///
/// # Panics
/// When `text` has the word in it.
pub(crate) fn refuse(program: &str, stream: &str, text: &[u8]) {
    let word = CANARY.as_bytes();
    assert!(
        !text.windows(word.len()).any(|found| found == word),
        "{program} has printed a token to {stream}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    fn echo(text: &str) -> Run {
        Run::new("sh", std::env::temp_dir()).args(["-c", text])
    }

    #[test]
    fn printed_token_fails_the_test_unrepeated() {
        for text in ["echo gho_${T}x", "echo gho_${T}x >&2"] {
            let run = echo(text).env("T", CANARY);
            let failed = std::panic::catch_unwind(|| run.output());
            let message = failed.expect_err("it printed a token");
            let message = message.downcast_ref::<String>().expect("a message");
            assert!(message.contains("sh has printed a token to"), "{message}");
            assert!(!message.contains(CANARY));
        }
        let shown = echo("echo $T").env("T", CANARY).may_print_tokens().text();
        assert_eq!(shown.trim(), CANARY);
    }
}
