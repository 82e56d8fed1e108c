//! Parses the rate limits that a server reports in its responses.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use forge_core::Timestamp;
use http::{HeaderMap, StatusCode};

/// Maximum wait, whatever value a server sends.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of buckets that are stored. Without a maximum, a server could fill the memory,
/// because it chooses the names of the buckets.
const MAX_BUCKETS: usize = 200;

/// A bucket of a host's rate limit, from the newest response that names it. A bucket is a group of
/// requests that share a limit.
///
/// Source: `x-ratelimit-*` of GitHub's REST documentation, "Rate limits for the REST API".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Name of the bucket: `core`, `graphql`, `search`.
    pub resource: String,
    /// Requests allowed in a window.
    pub limit: u64,
    /// Requests left in the current window.
    pub remaining: u64,
    /// Time at which the window ends.
    pub reset: Timestamp,
}

impl RateLimit {
    /// Parses the rate limit in the headers of a response.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        Some(Self {
            resource: text(headers, "x-ratelimit-resource")
                .unwrap_or("core")
                .to_owned(),
            limit: number(headers, "x-ratelimit-limit")?,
            remaining: number(headers, "x-ratelimit-remaining")?,
            reset: Timestamp::from_unix(i64::try_from(number(headers, "x-ratelimit-reset")?).ok()?),
        })
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    text(headers, name)?.trim().parse().ok()
}

/// Returns how long to wait after a response that refuses a request because of the rate limit.
/// Returns `None` for any other response.
///
/// A refusal has status 429, or status 403 together with `Retry-After` or with no requests left.
/// The wait is the first of these that applies (GitHub's REST documentation, "Exceeding the rate
/// limit"):
///
/// - the seconds in `Retry-After`,
/// - the time until `x-ratelimit-reset`, if no requests are left,
/// - a minute.
///
/// The reset time is compared with the `Date` of the response, so that a wrong local clock does not
/// matter.
#[must_use]
pub fn limited_for(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let retry_after = number(headers, "retry-after");
    let nothing_left = number(headers, "x-ratelimit-remaining") == Some(0);
    let refused = status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::FORBIDDEN && (retry_after.is_some() || nothing_left);
    refused.then(|| rate_limit_wait(headers))
}

/// Returns how long to wait after a response whose body says that the rate limit was exceeded.
#[must_use]
pub fn rate_limit_wait(headers: &HeaderMap) -> Duration {
    if let Some(seconds) = number(headers, "retry-after") {
        return Duration::from_secs(seconds).min(MAX_WAIT);
    }
    let used_up = number(headers, "x-ratelimit-remaining") == Some(0);
    let reset = number(headers, "x-ratelimit-reset").filter(|_| used_up);
    let Some(reset) = reset.and_then(|at| i64::try_from(at).ok()) else {
        return Duration::from_secs(60);
    };
    let now = text(headers, "date")
        .and_then(date)
        .unwrap_or_else(|| Timestamp::now().unix());
    let left = u64::try_from(reset.saturating_sub(now)).unwrap_or(0);
    Duration::from_secs(left.max(1)).min(MAX_WAIT)
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, IMF-fixdate) into seconds since the epoch.
fn date(text: &str) -> Option<i64> {
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: i64 = words.next()?.parse().ok()?;
    let month = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    .iter()
    .position(|m| Some(*m) == text.get(8..11))?;
    words.next()?;
    let year: i64 = words.next()?.parse().ok()?;
    let time = words.next()?;
    let rfc3339 = format!("{year:04}-{:02}-{day:02}T{time}Z", month + 1);
    rfc3339.parse::<Timestamp>().ok().map(|t| t.unix())
}

/// The newest rate limits by host and bucket.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<BTreeMap<(String, String), RateLimit>>);

impl Rates {
    pub(crate) fn note(&self, host: &str, headers: &HeaderMap) -> Option<u64> {
        let limit = RateLimit::from_headers(headers)?;
        let remaining = limit.remaining;
        let key = (host.to_owned(), limit.resource.clone());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_BUCKETS && !all.contains_key(&key) {
            all.clear();
        }
        all.insert(key, limit);
        Some(remaining)
    }

    pub(crate) fn of(&self, host: &str) -> Vec<RateLimit> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .filter(|((h, _), _)| h == host)
            .map(|(_, limit)| limit.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap()))
            .collect()
    }

    #[test]
    fn every_rate_limit_answer_yields_a_wait() {
        let reset = [
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "784111807"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ];
        let wait = |status, h: &[(&'static str, &str)]| {
            limited_for(status, &headers(h)).map(|d| d.as_secs())
        };
        assert_eq!(
            wait(StatusCode::FORBIDDEN, &[("retry-after", "7")]),
            Some(7)
        );
        assert_eq!(
            wait(StatusCode::TOO_MANY_REQUESTS, &[("retry-after", "7")]),
            Some(7)
        );
        assert_eq!(wait(StatusCode::FORBIDDEN, &reset), Some(30));
        assert_eq!(wait(StatusCode::TOO_MANY_REQUESTS, &[]), Some(60));
        assert_eq!(wait(StatusCode::FORBIDDEN, &[]), None);
        assert_eq!(wait(StatusCode::OK, &reset), None);
    }

    #[test]
    fn server_wait_is_capped_at_a_day() {
        let most = i64::MAX.to_string();
        for absurd in [
            &[("retry-after", "18446744073709551000")][..],
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", &most),
                ("date", "Sun, 06 Nov 1904 08:49:37 GMT"),
            ],
        ] {
            assert_eq!(rate_limit_wait(&headers(absurd)), MAX_WAIT);
        }
    }

    #[test]
    fn number_of_remembered_buckets_is_bounded() {
        let rates = Rates::default();
        for n in 0..=10 * MAX_BUCKETS {
            let name = format!("bucket{n}");
            let sent = headers(&[
                ("x-ratelimit-resource", name.as_str()),
                ("x-ratelimit-limit", "1"),
                ("x-ratelimit-remaining", "1"),
                ("x-ratelimit-reset", "1"),
            ]);
            assert_eq!(rates.note("h.example", &sent), Some(1));
            let of_host = rates.of("h.example");
            assert!(of_host.len() <= MAX_BUCKETS);
            assert!(of_host.iter().any(|limit| limit.resource == name));
        }
    }

    #[test]
    fn past_rate_limit_reset_waits_one_second() {
        let h = headers(&[
            ("x-ratelimit-limit", "1"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1"),
        ]);
        assert_eq!(
            limited_for(StatusCode::FORBIDDEN, &h),
            Some(Duration::from_secs(1))
        );
    }

    #[test]
    fn newest_limit_of_bucket_is_kept() {
        let rates = Rates::default();
        for left in ["10", "9"] {
            let h = headers(&[
                ("x-ratelimit-resource", "graphql"),
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", left),
                ("x-ratelimit-reset", "1"),
            ]);
            rates.note("a.example", &h);
        }
        assert_eq!(rates.of("a.example").len(), 1);
        assert_eq!(rates.of("a.example")[0].remaining, 9);
        assert!(rates.of("b.example").is_empty());
    }
}
