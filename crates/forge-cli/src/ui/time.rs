//! Relative times.

use forge::config::{Env, Var};
use forge_core::Timestamp;

/// Returns the current time; `FORGE_NOW` (RFC 3339) overrides it, for reproducible output.
#[must_use]
pub fn now() -> Timestamp {
    Env::process()
        .get(Var::ForgeNow)
        .and_then(|t| t.parse().ok())
        .unwrap_or_else(Timestamp::now)
}

/// How far a record's time may be ahead of the local clock, in seconds.
const MAX_CLOCK_SKEW: i64 = 3_600;

/// Formats how long `at` is before `now`, in gh's words: `about 2 hours ago`.
///
/// Returns `in the future` if `at` is later than clock skew can explain.
#[must_use]
pub fn ago(now: Timestamp, at: Timestamp) -> String {
    match span(now, at) {
        _ if at.unix().saturating_sub(now.unix()) > MAX_CLOCK_SKEW => "in the future".to_owned(),
        Some(span) => format!("about {span} ago"),
        None => "less than a minute ago".to_owned(),
    }
}

/// Formats how long `at` is before `now`, as gh's template function `timeago`: `2 hours ago`.
#[must_use]
pub fn ago_in_templates(now: Timestamp, at: Timestamp) -> String {
    match span(now, at) {
        Some(span) => format!("{span} ago"),
        None => "just now".to_owned(),
    }
}

/// Formats a time span in its largest unit, such as `2 hours`; `None` for less than a minute.
fn span(now: Timestamp, at: Timestamp) -> Option<String> {
    let seconds = now.unix().saturating_sub(at.unix());
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let (count, unit) = match () {
        () if seconds < 60 => return None,
        () if minutes < 60 => (minutes, "minute"),
        () if hours < 24 => (hours, "hour"),
        () if days < 30 => (days, "day"),
        () if days < 365 => (days / 30, "month"),
        () => (days / 365, "year"),
    };
    Some(plural(count, unit))
}

/// Formats a count with its unit: `1 hour`, `2 hours`.
#[must_use]
pub fn plural(count: i64, unit: &str) -> String {
    if count == 1 {
        format!("1 {unit}")
    } else {
        format!("{count} {unit}s")
    }
}

/// Formats a duration as Go and gh do, because scripts parse this format: `1m26s`, `2h0m5s`, `0`
/// for none.
#[must_use]
pub fn elapsed(seconds: i64) -> String {
    let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match () {
        () if seconds <= 0 => "0".to_owned(),
        () if h > 0 => format!("{h}h{m}m{s}s"),
        () if m > 0 => format!("{m}m{s}s"),
        () => format!("{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_printed_in_words() {
        let now = Timestamp::from_unix(1_000_000_000);
        let at = |back: i64| ago(now, Timestamp::from_unix(1_000_000_000 - back));
        assert_eq!(at(-5), "less than a minute ago");
        assert_eq!(at(-3_601), "in the future");
        assert_eq!(at(59), "less than a minute ago");
        assert_eq!(at(60), "about 1 minute ago");
        assert_eq!(at(7_300), "about 2 hours ago");
        assert_eq!(at(86_400), "about 1 day ago");
        assert_eq!(at(86_400 * 45), "about 1 month ago");
        assert_eq!(at(86_400 * 800), "about 2 years ago");
        let short = |back: i64| ago_in_templates(now, Timestamp::from_unix(1_000_000_000 - back));
        assert_eq!(short(59), "just now");
        assert_eq!(short(60), "1 minute ago");
        assert_eq!(short(86_400 * 45), "1 month ago");
    }

    #[test]
    fn durations_are_printed_as_in_go() {
        assert_eq!(elapsed(0), "0");
        assert_eq!(elapsed(86), "1m26s");
        assert_eq!(elapsed(7205), "2h0m5s");
        assert_eq!(elapsed(-3), "0");
    }
}
