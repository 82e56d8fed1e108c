use forge_core::{Action, Call, Error, Hint, Param, Result, Secret, TOKEN_PREFIXES};

/// Maximum length of a token, in bytes. A longer text is probably a file that was piped in by
/// mistake.
const MAX_TOKEN_LENGTH: usize = 4096;

/// Parses a secret from a user, after trimming white space.
///
/// # Errors
/// `invalid_input` if the text is empty, longer than 4096 bytes, or contains white space or
/// characters that no token has. The message does not quote the text.
pub fn parse_secret(text: &str) -> Result<Secret> {
    let text = text.trim();
    let why = if text.is_empty() {
        "it is empty"
    } else if text.len() > MAX_TOKEN_LENGTH {
        "it is too long"
    } else if !text.bytes().all(|b| b.is_ascii_graphic()) {
        "it has blanks, line breaks or letters outside ASCII"
    } else {
        return Ok(Secret::new(text));
    };
    Err(
        Error::invalid("token", format!("this is not a token: {why}")).with_hint(
            Hint::new("pass the token alone on standard input")
                .with_action(Action::new(Call::Login).with(Param::WithToken, "true")),
        ),
    )
}

/// Masks a secret for display, except for the prefix of its kind: `gho_****`.
pub(super) fn masked(secret: &Secret) -> String {
    let is_of = |prefix: &&&str| secret.expose().starts_with(**prefix);
    format!("{}****", TOKEN_PREFIXES.iter().find(is_of).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_secret_shows_only_kind() {
        for (text, shown) in [
            ("gho_canary", "gho_****"),
            ("github_pat_canary", "github_pat_****"),
            ("canary-canary-canary", "****"),
            ("my_canary", "****"),
        ] {
            assert_eq!(masked(&parse_secret(text).unwrap()), shown);
        }
    }

    #[test]
    fn invalid_secret_is_refused_without_printing_value() {
        let long = "canary".repeat(1000);
        for text in [
            "",
            " \n",
            "canary canary",
            "canary\ncanary",
            "canäry",
            &long,
        ] {
            let e = parse_secret(text).unwrap_err();
            assert_eq!(e.code(), "invalid_input");
            assert!(!format!("{e:?}").contains("can"), "{e:?}");
        }
        assert_eq!(parse_secret(" x\r\n").unwrap().expose(), "x");
    }
}
