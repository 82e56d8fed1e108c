//! Creates and reads TIDs, which are record keys that sort by time.

use std::sync::atomic::{AtomicU64, Ordering};

const ALPHABET: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";

/// Returns the TID for a time in microseconds since the epoch and a clock id (0 to 1023).
pub(crate) fn of(micros: u64, clock: u64) -> String {
    let number = (micros << 10 | clock & 0x3ff) & (u64::MAX >> 1);
    (0..13)
        .rev()
        .map(|digit| char::from(ALPHABET[(number >> (5 * digit) & 31) as usize]))
        .collect()
}

/// Returns the time in a TID, in microseconds since the epoch.
pub(crate) fn micros(tid: &str) -> Option<u64> {
    if tid.len() != 13 {
        return None;
    }
    let number = tid.bytes().try_fold(0_u64, |all, character| {
        let digit = ALPHABET.iter().position(|it| *it == character)?;
        Some(all << 5 | u64::try_from(digit).ok()?)
    })?;
    Some(number >> 10)
}

/// Returns a TID for the current time. It is greater than all TIDs returned before.
pub(crate) fn next() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = u64::try_from(chrono::Utc::now().timestamp_micros()).unwrap_or(0);
    let step = |last| Some(now.max(last + 1));
    let last = LAST
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, step)
        .unwrap_or(0);
    of(now.max(last + 1), 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tid_time_round_trips() {
        // The TID belongs to a real record of 2 May 2026.
        assert_eq!(
            micros("3mkuuamwfj322").map(|it| it / 86_400_000_000),
            Some(20_575)
        );
        assert_eq!(
            micros(&of(1_767_225_600_000_000, 3)),
            Some(1_767_225_600_000_000)
        );
        assert_eq!(micros("self"), None);
        assert_eq!(micros("3mkuuamwfj3!2"), None);
    }

    #[test]
    fn tids_increase_strictly() {
        let all: Vec<String> = (0..100).map(|_| next()).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
