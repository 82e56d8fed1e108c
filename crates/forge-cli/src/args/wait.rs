//! `--wait` and `--no-wait`: how long a write waits until the forge's index (on tangled: the
//! appview) shows it.

use std::{str::FromStr, time::Duration};

use clap::Args;

/// `--wait` and `--no-wait`
#[derive(Args, Clone, Debug, Default)]
pub struct WaitArgs {
    /// How long to wait until the forge's index shows the write, as in 30s, 2m or 500ms [default:
    /// 10s, or wait_s of the configuration]
    ///
    /// No effect on forges that show a write at once (GitHub, a git repository).
    #[arg(long, value_name = "duration")]
    pub wait: Option<Wait>,
    /// Do not wait until the forge's index shows the write
    #[arg(long, conflicts_with = "wait")]
    pub no_wait: bool,
}

impl WaitArgs {
    /// Returns the duration that the command line sets; zero for `--no-wait`.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        if self.no_wait {
            return Some(Duration::ZERO);
        }
        self.wait.map(|wait| wait.0)
    }
}

/// The value of `--wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

/// The maximum wait: an hour.
const MAX_WAIT: Duration = Duration::from_secs(3600);

impl FromStr for Wait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match parse_duration(text)? {
            wait if wait <= MAX_WAIT => Ok(Self(wait)),
            _ => Err("the maximum is one hour".to_owned()),
        }
    }
}

/// Parses a duration: a number with the unit ms, s, m or h. Without a unit, the number is in
/// seconds.
///
/// # Errors
///
/// Returns a description of the expected format.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let millis = number.parse::<u64>().ok().zip(factor);
    let millis = millis.and_then(|(number, factor)| number.checked_mul(factor));
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "expected a number with ms, s, m or h, as in 30s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_parsed_with_and_without_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("7", 7000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("0", 0),
        ] {
            assert_eq!(
                text.parse(),
                Ok(Wait(Duration::from_millis(millis))),
                "{text}"
            );
        }
        for bad in [
            "",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "s1",
            "2h",
            "99999999999999999999s",
            "1 s",
        ] {
            assert!(bad.parse::<Wait>().is_err(), "{bad}");
        }
    }
}
