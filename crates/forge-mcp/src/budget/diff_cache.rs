//! The diffs that were read last, so that the pages of one are the pages of one.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::Warning;

use super::diff::File;

/// How many are kept.
const KEPT: usize = 4;

/// The longest diff that is kept, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long one is kept after it was last read.
const TTL: Duration = Duration::from_secs(300);

/// A diff as a whole.
#[derive(Debug)]
pub(crate) struct Whole {
    /// The head that it ends at; empty where nobody knows it.
    pub head: String,
    pub files: Vec<File>,
    pub warnings: Vec<Warning>,
    /// Its length in bytes.
    pub bytes: usize,
}

struct Entry {
    key: (String, String),
    whole: Arc<Whole>,
    read: Instant,
}

/// Diffs by pull request and head. One server has one principal, so nobody can see another's.
#[derive(Default)]
pub(crate) struct DiffCache(Mutex<Vec<Entry>>);

impl DiffCache {
    /// The diff of a pull request at this head.
    pub fn get(&self, pr: &str, head: &str) -> Option<Arc<Whole>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.read.elapsed() < TTL);
        let entry = entries
            .iter_mut()
            .find(|e| e.key.0 == pr && e.key.1 == head)?;
        entry.read = Instant::now();
        Some(Arc::clone(&entry.whole))
    }

    /// Keeps one, in the place of the one that was not read for the longest time.
    pub fn put(&self, pr: &str, head: &str, whole: &Arc<Whole>) {
        if whole.bytes > LONGEST || head.is_empty() {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.key.0 != pr && e.read.elapsed() < TTL);
        entries.sort_by_key(|e| std::cmp::Reverse(e.read));
        entries.truncate(KEPT - 1);
        entries.push(Entry {
            key: (pr.to_owned(), head.to_owned()),
            whole: Arc::clone(whole),
            read: Instant::now(),
        });
    }
}
