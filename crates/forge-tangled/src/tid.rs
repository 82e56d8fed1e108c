//! Record keys by time ("TID" of the atproto specification): 13 letters that sort as they were made.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use forge_core::Timestamp;

const LETTERS: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
/// The last instant that was used, in microseconds: two keys of one process never share one.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A new key, later than every one that this process has made.
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

/// When a key was made; `None` for one that is no TID.
pub(crate) fn time(key: &str) -> Option<Timestamp> {
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
    let micros = value >> 10;
    Some(Timestamp::from_unix(
        i64::try_from(micros / 1_000_000).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_they_were_made_and_tell_when() {
        let keys: Vec<String> = (0..500).map(|_| new()).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted, keys);
        let age = Timestamp::now().unix() - time(&keys[0]).unwrap().unix();
        assert!((-1..60).contains(&age), "{age}");
        // Decoded by others: tangled.org core issue 496.
        assert_eq!(time("3mkuuamwfj322").unwrap().date(), "2026-05-02");
        assert!(time("self").is_none() && time("3mkuuamwfj32!").is_none());
        assert!(time("zzzzzzzzzzzzz").is_none(), "beyond 64 bits");
    }
}
