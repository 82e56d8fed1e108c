//! Reads settings from git's configuration, and whether the repository or the user set them.

use forge_core::{Error, ErrorKind, Result};

use crate::Git;

/// Maximum size of the settings that are read at once, in bytes.
const MAX_SETTINGS: usize = 4 << 20;

/// A setting in git's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Key as git prints it, with the section and the last part in lower case.
    pub key: String,
    /// Value; `None` for a key without a value, which means `true`.
    pub value: Option<String>,
    /// True if the setting comes from the configuration of the repository, not of the user or the
    /// system.
    pub of_repository: bool,
}

impl Setting {
    /// Returns the value as a boolean, as git reads it. `None` if git refuses the value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        let Some(value) = &self.value else {
            return Some(true);
        };
        match value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" | "" => Some(false),
            number => parse_integer(number).map(|number| number != 0),
        }
    }
}

/// Parses an integer as git does: decimal, octal (`010`) or hexadecimal (`0x10`), with an optional
/// `k`, `m` or `g`. `None` for other text, and for a number that does not fit into 32 bits.
fn parse_integer(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let hexadecimal = unsigned
        .strip_prefix("0x")
        .filter(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (radix, digits) = match hexadecimal {
        Some(digits) => (16, digits),
        None if unsigned.starts_with('0') => (8, unsigned),
        None => (10, unsigned),
    };
    let end = digits.find(|c: char| !c.is_digit(radix));
    let (digits, unit) = digits.split_at_checked(end.unwrap_or(digits.len()))?;
    let factor = match unit {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    let number = i64::from_str_radix(digits, radix).ok()?;
    let number = number.checked_mul(factor)?;
    let fits = number <= i64::from(i32::MAX);
    fits.then_some(if text.starts_with('-') {
        -number
    } else {
        number
    })
}

impl Git {
    /// Returns the settings whose keys match the regular expression. A later setting takes
    /// precedence.
    ///
    /// # Errors
    /// The errors of [`Git::read_config`].
    pub async fn settings(&self, pattern: &str) -> Result<Vec<Setting>> {
        Ok(parse(&self.read_config(&["--show-scope"], pattern).await?))
    }

    /// Returns the output of `git config --null --get-regexp`, which is empty if no key matches.
    ///
    /// # Errors
    /// `git` if the configuration cannot be read; `timeout` if that takes too long; `config` if the
    /// output has more than 4 MiB.
    pub async fn read_config(&self, options: &[&str], pattern: &str) -> Result<Vec<u8>> {
        let mut args = vec!["config", "--null"];
        args.extend(options);
        args.extend(["--get-regexp", pattern]);
        let printed = self.run_within(args, MAX_SETTINGS);
        match self.within_limit("config", printed).await? {
            Ok(Some(printed)) => Ok(printed.keep()),
            Ok(None) => Err(Error::new(
                ErrorKind::Config,
                format!(
                    "git's configuration is too large: the settings that forge reads have more \
                     than {} MiB",
                    MAX_SETTINGS >> 20
                ),
            )
            .with_hint(
                "look at it with `git config --show-origin --list`, and remove the remotes and \
                 branches that you do not need",
            )),
            // Status 1 means that no key matches.
            Err(e) if matches!(e.kind(), ErrorKind::Git { status: 1 }) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

/// Parses the output of `git config --null --show-scope --get-regexp`: scope, NUL, key, newline,
/// value, NUL.
fn parse(output: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(output);
    let mut fields = text.split('\0');
    let mut settings = Vec::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = match entry.split_once('\n') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (entry, None),
        };
        settings.push(Setting {
            key: key.to_owned(),
            value,
            of_repository: matches!(scope, "local" | "worktree"),
        });
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: Option<&str>) -> Setting {
        Setting {
            key: "a.b".to_owned(),
            value: value.map(str::to_owned),
            of_repository: false,
        }
    }

    /// Values that a person or a stranger could write for a boolean.
    const VALUES: [&str; 46] = [
        "",
        "true",
        "TRUE",
        "tRue",
        "yes",
        "Yes",
        "on",
        "oN",
        "false",
        "False",
        "no",
        "NO",
        "off",
        "OFF",
        "0",
        "00",
        "1",
        "2",
        "-1",
        "-0",
        "+1",
        "+0",
        "0x0",
        "0x1",
        "0X1f",
        "010",
        "1k",
        "0k",
        "1K",
        "1g",
        "1G",
        "1m",
        " 1",
        "\t1",
        "2147483647",
        "-2147483647",
        "t",
        "f",
        "y",
        "n",
        "1.0",
        "1 ",
        "09",
        "0x",
        "1kk",
        "truefalse",
    ];

    /// Numbers around the limits of git.
    const REFUSED: [&str; 9] = [
        "2g",
        "5g",
        "k",
        "2147483648",
        "-2147483648",
        "99999999999999999999",
        "0b1",
        " ",
        "--1",
    ];

    #[tokio::test]
    async fn booleans_are_read_as_git_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let mut accepted = Vec::new();
        for value in VALUES.iter().chain(&REFUSED) {
            if let Some(is_true) = setting(Some(value)).as_bool() {
                accepted.push((value, is_true));
                continue;
            }
            let args = ["config", "--get", "--type=bool", "a.b"];
            let output = git
                .clone()
                .with_setting(format!("a.b={value}"))
                .run(args)
                .await;
            assert_ne!(output.unwrap().status, 0, "{value:?}");
        }
        assert!(accepted.len() >= 35, "{accepted:?}");
        let mut config = std::fs::read_to_string(dir.path().join(".git/config")).unwrap();
        config.push_str("[t]\n\tvalueless\n");
        for (n, (value, _)) in accepted.iter().enumerate() {
            config.push_str(&format!("\tk{n} = \"{}\"\n", value.replace('\t', "\\t")));
        }
        std::fs::write(dir.path().join(".git/config"), config).unwrap();
        let args = ["config", "--type=bool", "--get-regexp", r"^t\."];
        let printed = String::from_utf8(git.run_ok(args).await.unwrap()).unwrap();
        let mut expected = "t.valueless true\n".to_owned();
        for (n, (_, is_true)) in accepted.iter().enumerate() {
            expected.push_str(&format!("t.k{n} {is_true}\n"));
        }
        assert_eq!(printed, expected);
        assert_eq!(setting(None).as_bool(), Some(true));
    }
}
