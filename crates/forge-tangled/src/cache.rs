//! Caches values with an expiry. Concurrent lookups of a key compute its value once.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;

/// Maximum number of values in a cache, however small they are. One call may look up a thousand
/// accounts.
const MAX_ENTRIES: usize = 4_000;

/// Lifetime of a value that only records a failure.
const FAILURE_KEPT: Duration = Duration::from_secs(60);

/// A cached value, and the time at which its entry was made.
#[derive(Debug)]
struct Entry<T> {
    cell: Arc<OnceCell<T>>,
    since: Instant,
}

#[derive(Debug)]
struct Entries<T> {
    by_key: HashMap<String, Entry<T>>,
    /// The keys with their times, oldest first. Keys of removed or replaced entries stay until they
    /// are the oldest.
    order: VecDeque<(String, Instant)>,
}

/// Caches values by key, with limits on their age, their bytes and their number. The age is limited
/// because a process may run for weeks, in which handles, permissions and declarations change.
pub(crate) struct Cache<T> {
    kept: Duration,
    /// Maximum size of all values in bytes; `weigh` returns the size of one value.
    most: usize,
    weigh: fn(&T) -> usize,
    is_failure: fn(&T) -> bool,
    entries: Mutex<Entries<T>>,
}

impl<T> Cache<T> {
    /// Returns an empty cache whose values expire after `kept`. Only for small values of bounded
    /// size.
    pub fn new(kept: Duration) -> Self {
        Self::weighed(kept, usize::MAX, |_| 0)
    }

    /// As [`Self::new`], for values of any size. `weigh` returns the bytes of a value. If the
    /// values and their keys exceed `most` bytes, the oldest are evicted.
    pub fn weighed(kept: Duration, most: usize, weigh: fn(&T) -> usize) -> Self {
        Self {
            kept,
            most,
            weigh,
            is_failure: |_| false,
            entries: Mutex::new(Entries {
                by_key: HashMap::new(),
                order: VecDeque::new(),
            }),
        }
    }

    /// Lets a value expire after a minute if it only records a failure.
    pub fn retrying(self, is_failure: fn(&T) -> bool) -> Self {
        Self { is_failure, ..self }
    }

    /// Returns the cell of `key`, which is empty before its first value and after the value
    /// expires.
    pub fn cell(&self, key: &str) -> Arc<OnceCell<T>> {
        self.cell_at(key, Instant::now())
    }

    fn cell_at(&self, key: &str, now: Instant) -> Arc<OnceCell<T>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let young = |since: Instant| now.saturating_duration_since(since) < self.kept;
        let is_stale = |entry: &Entry<T>| {
            let failed = entry.cell.get().is_some_and(self.is_failure);
            failed && now.saturating_duration_since(entry.since) >= FAILURE_KEPT
        };
        let known = entries.by_key.get(key);
        if let Some(entry) = known.filter(|it| young(it.since) && !is_stale(it)) {
            return Arc::clone(&entry.cell);
        }
        let cell = Arc::new(OnceCell::new());
        let entry = Entry {
            cell: Arc::clone(&cell),
            since: now,
        };
        entries.by_key.insert(key.to_owned(), entry);
        entries.order.push_back((key.to_owned(), now));
        self.evict(&mut entries, young);
        cell
    }

    /// Evicts the oldest values if all values together are too large. Callers do this after they
    /// have set a value, because its entry is made before its size is known.
    pub fn shed(&self) {
        let now = Instant::now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let young = |since: Instant| now.saturating_duration_since(since) < self.kept;
        self.evict(&mut entries, young);
    }

    /// Evicts expired values, and the oldest values above the limits. The newest entry stays,
    /// because its caller is about to fill it.
    fn evict(&self, entries: &mut Entries<T>, young: impl Fn(Instant) -> bool) {
        // Each key is stored twice: in `by_key` and in `order`.
        let weigh =
            |key: &str, entry: &Entry<T>| 2 * key.len() + entry.cell.get().map_or(0, self.weigh);
        let mut bytes: usize = match self.most {
            usize::MAX => 0,
            _ => {
                let all = entries.by_key.iter();
                all.map(|(key, entry)| weigh(key, entry)).sum()
            }
        };
        while entries.order.len() > 1
            && let Some((_, since)) = entries.order.front()
        {
            let fits = bytes <= self.most && entries.order.len() <= MAX_ENTRIES;
            if fits && young(*since) {
                break;
            }
            let Some((key, since)) = entries.order.pop_front() else {
                break;
            };
            if entries.by_key.get(&key).is_some_and(|it| it.since == since)
                && let Some(gone) = entries.by_key.remove(&key)
            {
                bytes = bytes.saturating_sub(weigh(&key, &gone));
            }
        }
    }

    pub fn forget(&self, key: &str) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.by_key.remove(key);
    }

    /// Removes every value that matches `is`.
    pub fn forget_matching(&self, is: impl Fn(&T) -> bool) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let stays = |entry: &Entry<T>| !entry.cell.get().is_some_and(&is);
        entries.by_key.retain(|_, entry| stays(entry));
    }
}

impl<T> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_value_expires_after_lifetime() {
        let cache = Cache::new(Duration::from_secs(300));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        cache.cell_at("a", at(0)).set(1).unwrap();
        assert_eq!(cache.cell_at("a", at(299)).get(), Some(&1));
        assert_eq!(cache.cell_at("b", at(299)).get(), None);
        cache.cell_at("b", at(299)).set(2).unwrap();
        // An expired cell keeps its value for its holders; a new lookup gets an empty cell.
        let held = cache.cell_at("a", at(299));
        assert_eq!(cache.cell_at("a", at(300)).get(), None);
        assert_eq!(held.get(), Some(&1));
        cache.cell_at("a", at(300)).set(3).unwrap();
        assert_eq!(cache.cell_at("a", at(599)).get(), Some(&3));
        assert_eq!(cache.cell_at("b", at(598)).get(), Some(&2));
        cache.forget("a");
        assert_eq!(cache.cell_at("a", at(598)).get(), None);
        cache.forget_matching(|value| *value == 3);
        assert_eq!(cache.cell_at("b", at(598)).get(), Some(&2));
        cache.forget_matching(|value| *value == 2);
        assert_eq!(cache.cell_at("b", at(598)).get(), None);
    }

    #[test]
    fn expired_entries_are_removed_from_cache() {
        let cache = Cache::new(Duration::from_secs(300));
        let start = Instant::now();
        for n in 0..1_000 {
            cache.cell_at(&n.to_string(), start).set(n).unwrap();
        }
        let size = || cache.entries.lock().unwrap().by_key.len();
        assert_eq!(size(), 1_000);
        let later = start + Duration::from_secs(700);
        cache.cell_at("another", later);
        assert_eq!(size(), 1);
    }

    #[test]
    fn cache_over_byte_limit_evicts_oldest_entries() {
        let hour = Duration::from_secs(3_600);
        let cache = Cache::weighed(hour, 1_000, String::len);
        let start = Instant::now();
        let size = || {
            let entries = cache.entries.lock().unwrap();
            let texts = entries.by_key.values().filter_map(|it| it.cell.get());
            texts.map(String::len).sum::<usize>()
        };
        for n in 0..50 {
            let cell = cache.cell_at(&n.to_string(), start);
            cell.set("x".repeat(300)).unwrap();
            // The newest entry gets its value after the eviction, so the limit is exceeded by one
            // value.
            assert!(size() <= 1_300, "{}", size());
        }
        assert!(cache.cell_at("49", start).get().is_some());
        assert!(cache.cell_at("0", start).get().is_none());
        // A value over the limit is evicted when the next key is looked up.
        cache.cell_at("huge", start).set("x".repeat(9_000)).unwrap();
        assert!(cache.cell_at("huge", start).get().is_some());
        cache.cell_at("small", start);
        assert_eq!(size(), 0);
    }

    #[test]
    fn cache_evicts_long_keys_without_values() {
        let cache = Cache::weighed(Duration::from_secs(3_600), 1_000, String::len);
        let start = Instant::now();
        for n in 0..50 {
            // The cell stays empty, as after a lookup that failed.
            cache.cell_at(&format!("{n:0300}"), start);
        }
        let entries = cache.entries.lock().unwrap();
        assert!(entries.by_key.len() <= 2, "{}", entries.by_key.len());
        assert!(entries.order.len() <= 2, "{}", entries.order.len());
    }

    #[test]
    fn cached_values_over_byte_limit_are_shed() {
        let cache = Cache::weighed(Duration::from_secs(3_600), 1_000, String::len);
        let cells: Vec<_> = (0..8).map(|n| cache.cell(&n.to_string())).collect();
        for cell in &cells {
            cell.set("x".repeat(600)).unwrap();
            cache.shed();
        }
        let entries = cache.entries.lock().unwrap();
        let texts = entries.by_key.values().filter_map(|it| it.cell.get());
        assert!(texts.map(String::len).sum::<usize>() <= 1_000);
    }

    #[test]
    fn cache_of_small_values_stays_within_entry_limit() {
        let cache = Cache::new(Duration::from_secs(3_600));
        let start = Instant::now();
        for n in 0..3 * MAX_ENTRIES {
            cache.cell_at(&n.to_string(), start).set(n).unwrap();
            // A key that is removed and looked up again counts once.
            cache.forget("0");
            cache.cell_at("0", start);
        }
        let entries = cache.entries.lock().unwrap();
        assert!(entries.by_key.len() <= MAX_ENTRIES);
        assert!(entries.order.len() <= MAX_ENTRIES);
    }

    #[test]
    fn cached_failure_expires_after_a_minute() {
        let hour = Duration::from_secs(3_600);
        let cache = Cache::new(hour).retrying(|found: &Option<u8>| found.is_none());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        cache.cell_at("a", at(0)).set(None).unwrap();
        cache.cell_at("b", at(0)).set(Some(1)).unwrap();
        assert_eq!(cache.cell_at("a", at(59)).get(), Some(&None));
        assert_eq!(cache.cell_at("a", at(60)).get(), None);
        assert_eq!(cache.cell_at("b", at(3_599)).get(), Some(&Some(1)));
    }

    #[test]
    fn cache_without_lifetime_keeps_no_value() {
        let cache = Cache::new(Duration::ZERO);
        cache.cell("a").set(1).unwrap();
        assert_eq!(cache.cell("a").get(), None);
    }
}
