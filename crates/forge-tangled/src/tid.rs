//! Record keys by time ("TID" of the atproto specification): 13 letters that sort by creation time.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, SecondsFormat};
use forge_core::Timestamp;

const LETTERS: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
/// The time of the newest key, in microseconds. With it, no two keys of a process have the same
/// time.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Creates a key that is later than every other key of this process.
pub(crate) fn new() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX));
    let micros = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            Some(now.max(last.saturating_add(1)))
        })
        .map_or(now, |last| now.max(last.saturating_add(1)));
    encode(micros << 10 | fastrand::u64(..1024))
}

/// As [`new`]. The key is also later than `other`, if `other` is a key.
pub(crate) fn new_after(other: &str) -> String {
    let new = new();
    // The key after `other` has a time that is a microsecond later. The first bit of a key is never
    // set.
    let behind = decode(other).and_then(|value| value.checked_add(1 << 10));
    match behind.filter(|value| value >> 63 == 0) {
        Some(behind) => new.max(encode(behind)),
        None => new,
    }
}

fn encode(value: u64) -> String {
    (0..13_u32)
        .rev()
        .map(|place| {
            let at = (value >> (place * 5)) & 31;
            let letter = usize::try_from(at).ok().and_then(|at| LETTERS.get(at));
            letter.map_or('2', |b| char::from(*b))
        })
        .collect()
}

/// Returns the time when a key was made, to the microsecond; `None` if it is not a TID.
///
/// The index of tangled.org gives this time, with its microseconds, to a record without a date.
pub(crate) fn time(key: &str) -> Option<Timestamp> {
    let micros = i64::try_from(decode(key)? >> 10).ok()?;
    let at = DateTime::from_timestamp_micros(micros)?;
    at.to_rfc3339_opts(SecondsFormat::Micros, true).parse().ok()
}

fn decode(key: &str) -> Option<u64> {
    if key.len() != 13 {
        return None;
    }
    let mut value: u64 = 0;
    for byte in key.bytes() {
        let digit = LETTERS.iter().position(|l| *l == byte)?;
        value = value
            .checked_mul(32)?
            .checked_add(u64::try_from(digit).ok()?)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_keys_sort_by_time_and_decode() {
        let keys: Vec<String> = (0..500).map(|_| new()).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted, keys);
        let age = Timestamp::now().unix() - time(&keys[0]).unwrap().unix();
        assert!((-1..60).contains(&age), "{age}");
        // The time of this key is known from tangled.org core issue 496.
        assert_eq!(time("3mkuuamwfj322").unwrap().date(), "2026-05-02");
        // The index gave these times to recorded issues of 2025 without a date.
        for (key, at) in [
            ("3ll4rirll2h22", "2025-03-24T12:37:20.017421Z"),
            ("3lkmubls7ib22", "2025-03-18T04:44:24.474055Z"),
            ("3ljnffy24un22", "2025-03-05T16:25:53.517395Z"),
        ] {
            assert_eq!(time(key).unwrap().to_string(), at);
        }
        assert!(time("self").is_none() && time("3mkuuamwfj32!").is_none());
        assert!(time("zzzzzzzzzzzzz").is_none(), "beyond 64 bits");
        // This key is of January 2036.
        let later = new_after("3vacbxdfk2222");
        assert_eq!(later, "3vacbxdfk2322");
        for past in ["3mkuuamwfj322", "self", "jzzzzzzzzzzzz"] {
            let now = time(&new_after(past)).unwrap().unix();
            assert!((0..60).contains(&(now - time(&keys[0]).unwrap().unix())));
        }
    }
}
