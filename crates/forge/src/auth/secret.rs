use std::fmt;

use forge_core::{Error, Result};

/// Longer ones are no token of any forge, but a file that was piped in by mistake.
const LENGTH_MAX: usize = 4096;

/// A token or a password. It is never printed: not by `Debug`, not by `Display`, not in JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret from a user; blanks and newlines around it are dropped.
    ///
    /// # Errors
    /// `invalid_input` when it is empty, longer than 4096 bytes, or has blanks or letters that no
    /// token has. The message does not repeat it.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim();
        let why = if text.is_empty() {
            "it is empty"
        } else if text.len() > LENGTH_MAX {
            "it is too long"
        } else if !text.bytes().all(|b| b.is_ascii_graphic()) {
            "it has blanks, line breaks or letters outside ASCII"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(
            Error::invalid("token", format!("this is no token: {why}")).with_hint(
                "pass the token alone on standard input: `forge auth login --with-token < file`",
            ),
        )
    }

    /// The secret itself, for a request header or a program that asked for it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What may be shown of it: the prefix that says what kind of token it is, `gho_****`.
    #[must_use]
    pub fn masked(&self) -> String {
        const PREFIXES: [&str; 6] = ["github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"];
        let prefix = PREFIXES.iter().find(|prefix| self.0.starts_with(**prefix));
        format!("{}****", prefix.unwrap_or(&""))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_it() {
        for (text, shown) in [
            ("gho_canary", "gho_****"),
            ("github_pat_canary", "github_pat_****"),
            ("canary-canary-canary", "****"),
            ("my_canary", "****"),
        ] {
            let secret = Secret::new(text).unwrap();
            assert_eq!(secret.to_string(), shown);
            assert!(!format!("{secret:?} {secret} {:#?}", Some(&secret)).contains("canary"));
            assert_eq!(secret.expose(), text);
        }
    }

    #[test]
    fn what_is_no_token_is_refused_without_repeating_it() {
        let long = "canary".repeat(1000);
        for text in [
            "",
            " \n",
            "canary canary",
            "canary\ncanary",
            "canäry",
            &long,
        ] {
            let e = Secret::new(text).unwrap_err();
            assert_eq!(e.code(), "invalid_input");
            assert!(!format!("{e:?}").contains("can"), "{e:?}");
        }
        assert_eq!(Secret::new(" x\r\n").unwrap().expose(), "x");
    }
}
