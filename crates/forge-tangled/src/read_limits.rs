//! Limits on the bytes of answers that are read and kept in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use forge_core::call::{MAP_NODE, MAP_NODE_FIELDS};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

const MIB: usize = 1024 * 1024;

/// Limits for the bytes that other accounts can make this program read and keep. For a record, its
/// size in memory counts.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Maximum size of an answer with a list or a record. A longer list is requested again with
    /// fewer rows.
    pub page: usize,
    /// Maximum size of the records of one type (an atproto collection) in one account, in bytes.
    pub account: usize,
    /// A list keeps the records about its repository. Maximum size of these records of all
    /// accounts together, in bytes.
    pub list: usize,
    /// Maximum size of all answers that one command reads, in bytes.
    pub command: usize,
    /// Maximum size of the values that one cache holds, in bytes.
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

/// Maximum number of list pages in memory at once, over all hosts.
const PAGES: usize = 8;

/// Budget of bytes that a list may still keep, and of pages that it may hold in memory.
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
        // The semaphore is never closed.
        self.pages.acquire().await.ok()
    }

    /// Takes `bytes` from the budget; returns `false` if fewer are left.
    pub fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        self.left.fetch_update(set, fetch, less).is_ok()
    }
}

/// Returns the approximate size of a value in memory, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    size_of::<Value>() + weight_of_content(value)
}

fn weight_of_content(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => {
            let fields = map.iter();
            let field = |(name, value): (&String, &Value)| name.len() + weight_of_content(value);
            map.len().div_ceil(MAP_NODE_FIELDS) * MAP_NODE + fields.map(field).sum::<usize>()
        }
        _ => 0,
    }
}

/// Maximum size of an answer that is neither a list, a record, a blob nor a comparison. The longest
/// such answer is a patch from a knot, which is as long as a round of a pull request.
pub(crate) const MAX_ANSWER: usize = 16 * MIB;

/// Maximum size of an answer that contains a token: a login session (with the account's DID
/// document), or a token for another service. The limit is low because a token's claims are parsed,
/// and each request repeats the token.
pub(crate) const MAX_SESSION: usize = 256 * 1024;

/// Maximum size of a knot's comparison, which contains each patch more than once. Memory holds the
/// comparison three times: as JSON, as a value and as patches.
pub(crate) const MAX_COMPARISON: usize = 24 * MIB;

/// Maximum size of a parsed comparison in memory, by [`forge_core::call::weight_of_json`]. A knot
/// sends an object for each line of a diff. For two or more commits, it sends the lines twice.
/// About 59,000 lines fit.
pub(crate) const MAX_COMPARISON_WEIGHT: usize = 4 * MAX_COMPARISON;

/// Maximum size in memory of a parsed answer that is not a comparison, by
/// [`forge_core::call::weight_of_json`].
pub(crate) const MAX_ANSWER_WEIGHT: usize = 2 * MAX_ANSWER;

/// Formats a size for people.
pub(crate) fn human(bytes: usize) -> String {
    match bytes / MIB {
        0 => format!("{} KiB", bytes.div_ceil(1024)),
        whole => format!("{whole} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::call::weight_of_json;
    use serde_json::json;

    use super::*;

    #[test]
    fn byte_budget_refuses_more_than_remains() {
        let budget = Budget::new(10);
        assert_eq!(
            [6, 6, 4, 1].map(|n| budget.take(n)),
            [true, false, true, false]
        );
    }

    #[test]
    fn json_weight_covers_memory_of_small_values() {
        let json = format!("[{}0]", "0,".repeat(1_000));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert!(weight(&value) > 1_000 * size_of::<Value>());
        assert!(weight_of_json(json.as_bytes()) >= weight(&value));
        // Each map has a tree node of its own, even a map of one field.
        let maps = format!("[{}{{}}]", "{\"\":0},".repeat(1_000));
        let value: Value = serde_json::from_str(&maps).unwrap();
        assert!(weight(&value) > 1_000 * MAP_NODE);
        assert!(weight_of_json(maps.as_bytes()) >= weight(&value));
        let wide: Vec<String> = (0..1_000).map(|n| format!("\"{n}\":0")).collect();
        let wide = format!("{{{}}}", wide.join(","));
        let value: Value = serde_json::from_str(&wide).unwrap();
        assert!(weight_of_json(wide.as_bytes()) >= weight(&value));
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
