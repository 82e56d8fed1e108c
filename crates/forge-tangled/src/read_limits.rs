//! How many bytes the answers of others make us read and hold.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

const MIB: usize = 1024 * 1024;

/// How many bytes strangers make us read and hold. A record counts as what it takes in memory.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// One answer to a question for a list, or for a record. Where a list is longer, fewer rows are
    /// asked for.
    pub page: usize,
    /// The records of one collection of one account.
    pub account: usize,
    /// The records about one repository that a list keeps, of all accounts together.
    pub list: usize,
    /// All answers to questions for lists that one command asks.
    pub command: usize,
    /// The values that one cache holds.
    pub cache: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            page: 4 * MIB,
            account: 32 * MIB,
            list: 32 * MIB,
            command: 256 * MIB,
            cache: 16 * MIB,
        }
    }
}

/// How many pages of one list are read at once, of whatever hosts.
const PAGES: usize = 8;

/// How many bytes a list may still keep.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
    pages: Semaphore,
}

impl Budget {
    pub const fn new(bytes: usize) -> Self {
        Self {
            left: AtomicUsize::new(bytes),
            pages: Semaphore::const_new(PAGES),
        }
    }

    /// Waits until there is room for another page in memory.
    pub async fn room_for_page(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.pages.acquire().await.ok()
    }

    /// Takes `bytes`; `false` where there are not so many left.
    pub fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        self.left.fetch_update(set, fetch, less).is_ok()
    }
}

/// What a value takes in memory, about.
pub(crate) fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => {
            let fields = map.iter();
            let field =
                |(name, value): (&String, &Value)| size_of::<String>() + name.len() + weight(value);
            fields.map(field).sum()
        }
        _ => 0,
    };
    size_of::<Value>() + inner
}

/// Maximum size of an answer that is neither a list, a record, a blob nor a comparison. The longest
/// is a patch that a knot makes, as long as a round.
pub(crate) const MAX_ANSWER: usize = 16 * MIB;

/// Maximum size of a knot's comparison, which has each patch more than once. Memory has it as JSON,
/// as a value and as patches.
pub(crate) const MAX_COMPARISON: usize = 24 * MIB;

/// What such an answer may weigh as JSON, by [`weight_of_json`].
pub(crate) const MAX_ANSWER_WEIGHT: usize = 2 * MAX_ANSWER;

/// What JSON takes in memory at most, about: `[0,0,…]` is sixteen times as long there.
pub(crate) fn weight_of_json(json: &[u8]) -> usize {
    let (mut values, mut in_string, mut is_escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    json.len() + values * size_of::<Value>()
}

/// A size as people write it.
pub(crate) fn human(bytes: usize) -> String {
    match bytes / MIB {
        0 => format!("{} KiB", bytes.div_ceil(1024)),
        whole => format!("{whole} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_budget_is_taken_once() {
        let budget = Budget::new(10);
        assert_eq!(
            [6, 6, 4, 1].map(|n| budget.take(n)),
            [true, false, true, false]
        );
    }

    #[test]
    fn json_of_many_small_values_weighs_what_it_takes() {
        let json = format!("[{}0]", "0,".repeat(1_000));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert!(weight(&value) > 1_000 * size_of::<Value>());
        assert!(weight_of_json(json.as_bytes()) >= weight(&value));
        let patch = json!({ "patch": "{\"a\": [1, 2]}\n".repeat(1_000) }).to_string();
        assert!(weight_of_json(patch.as_bytes()) < 2 * patch.len());
        let text = Value::from("x".repeat(1_000));
        assert!(weight(&text) < 1_100);
        assert_eq!(
            (human(1_000), human(8 * MIB)),
            ("1 KiB".into(), "8 MiB".into())
        );
    }
}
