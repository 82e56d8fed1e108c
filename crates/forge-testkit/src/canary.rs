//! A marker in every token of the tests. No program may print it.

/// The marker. Tests search the output of every program for it, and `cargo xtask test` searches the
/// output of every lane. The GitHub double accepts only tokens that contain it.
pub const CANARY: &str = include_str!("canary.txt");

/// Panics if a program has printed a token; the message does not repeat the token.
///
/// # Panics
///
/// Panics if `text` contains the marker.
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
    fn printed_token_fails_without_being_shown() {
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
