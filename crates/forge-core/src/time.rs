//! Timestamps in the forms that forges use.

use std::{fmt, str::FromStr, time::SystemTime};

use chrono::{DateTime, FixedOffset, SecondsFormat, TimeZone, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant with its original UTC offset. Order and equality ignore the offset.
///
/// The text form is RFC 3339, with `Z` for UTC, and with a fraction of a second only if it is not
/// zero.
#[derive(Clone, Copy)]
pub struct Timestamp(DateTime<FixedOffset>);

impl Timestamp {
    /// Returns the current time in UTC, in whole seconds like git.
    #[must_use]
    pub fn now() -> Self {
        let secs = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0));
        Self::from_unix(secs)
    }

    /// Converts seconds since 1970-01-01T00:00:00Z. Values out of range become the epoch.
    #[must_use]
    pub fn from_unix(secs: i64) -> Self {
        let utc = Utc.timestamp_opt(secs, 0).single().unwrap_or_default();
        Self(utc.fixed_offset())
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix(&self) -> i64 {
        self.0.timestamp()
    }

    /// Returns the calendar date at the timestamp's UTC offset, such as `2026-11-21`.
    #[must_use]
    pub fn date(&self) -> String {
        self.0.format("%Y-%m-%d").to_string()
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Timestamp {}
impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = chrono::ParseError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        DateTime::parse_from_rfc3339(s).map(Self)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_sort_by_instant_and_round_trip() {
        let a: Timestamp = "2026-11-21T10:00:00+03:00".parse().unwrap();
        let b: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        assert!(a < b);
        assert_eq!(a.to_string(), "2026-11-21T10:00:00+03:00");
        assert_eq!(b.to_string(), "2026-11-21T08:00:00Z");
        assert_eq!(Timestamp::from_unix(b.unix()), b);
    }
}
