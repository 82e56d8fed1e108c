//! Values that are worked out once and kept for a while, also when many ask at the same time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;

/// A value that is kept, and since when.
#[derive(Debug)]
struct Entry<T> {
    cell: Arc<OnceCell<T>>,
    since: Instant,
}

#[derive(Debug)]
struct Entries<T> {
    by_key: HashMap<String, Entry<T>>,
    /// When those that are too old were last thrown away.
    cleared: Instant,
}

/// Values by key, each for so long and no longer: a process may run for weeks, in which handles,
/// rights and declarations change.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    kept: Duration,
    entries: Mutex<Entries<T>>,
}

impl<T> Cache<T> {
    /// Nothing yet; each value is going to be kept this long.
    pub fn new(kept: Duration) -> Self {
        Self {
            kept,
            entries: Mutex::new(Entries {
                by_key: HashMap::new(),
                cleared: Instant::now(),
            }),
        }
    }

    /// The place of `key`, empty until somebody fills it, and again once it is too old.
    pub fn cell(&self, key: &str) -> Arc<OnceCell<T>> {
        self.cell_at(key, Instant::now())
    }

    fn cell_at(&self, key: &str, now: Instant) -> Arc<OnceCell<T>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let young = |since: Instant| now.saturating_duration_since(since) < self.kept;
        // Not each time: one call may look a thousand accounts up.
        if !young(entries.cleared) {
            entries.by_key.retain(|_, entry| young(entry.since));
            entries.cleared = now;
        }
        if let Some(entry) = entries.by_key.get(key).filter(|entry| young(entry.since)) {
            return Arc::clone(&entry.cell);
        }
        let cell = Arc::new(OnceCell::new());
        let entry = Entry {
            cell: Arc::clone(&cell),
            since: now,
        };
        entries.by_key.insert(key.to_owned(), entry);
        cell
    }

    /// Forgets `key`.
    pub fn forget(&self, key: &str) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.by_key.remove(key);
    }

    /// Forgets every value of this kind, whatever its keys are.
    pub fn forget_such(&self, is: impl Fn(&T) -> bool) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let stays = |entry: &Entry<T>| !entry.cell.get().is_some_and(&is);
        entries.by_key.retain(|_, entry| stays(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_for_a_while_and_then_asked_for_anew() {
        let cache = Cache::new(Duration::from_secs(300));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        cache.cell_at("a", at(0)).set(1).unwrap();
        assert_eq!(cache.cell_at("a", at(299)).get(), Some(&1));
        assert_eq!(cache.cell_at("b", at(299)).get(), None);
        cache.cell_at("b", at(299)).set(2).unwrap();
        // Whoever has it already keeps it; who asks now gets an empty place.
        let held = cache.cell_at("a", at(299));
        assert_eq!(cache.cell_at("a", at(300)).get(), None);
        assert_eq!(held.get(), Some(&1));
        cache.cell_at("a", at(300)).set(3).unwrap();
        assert_eq!(cache.cell_at("a", at(599)).get(), Some(&3));
        assert_eq!(cache.cell_at("b", at(598)).get(), Some(&2));
        cache.forget("a");
        assert_eq!(cache.cell_at("a", at(598)).get(), None);
        cache.forget_such(|value| *value == 3);
        assert_eq!(cache.cell_at("b", at(598)).get(), Some(&2));
        cache.forget_such(|value| *value == 2);
        assert_eq!(cache.cell_at("b", at(598)).get(), None);
    }

    #[test]
    fn what_nobody_asks_for_again_is_thrown_away() {
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
    fn nothing_is_kept_for_no_time() {
        let cache = Cache::new(Duration::ZERO);
        cache.cell("a").set(1).unwrap();
        assert_eq!(cache.cell("a").get(), None);
    }
}
