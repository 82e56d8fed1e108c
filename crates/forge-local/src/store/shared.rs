//! A cache that is shared by all calls of a server.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::OwnedMutexGuard, time::timeout};

use super::LoggedEvent;

/// Maximum memory of cached events, in bytes.
const MAX_WEIGHT: usize = 16 * 1024 * 1024;

/// Caches the events of recently read pull requests, and queues the writers of this process.
///
/// Events are immutable commits, so a cached chain stays valid, and only newer events have to be
/// read. The tip of the chain is always read from git.
#[derive(Debug, Default)]
pub struct StoreCache {
    logs: Mutex<Vec<KeptLog>>,
    writers: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

/// The cached events of one pull request.
#[derive(Clone, Debug)]
pub(crate) struct KeptLog {
    /// The key: the directory of the repository, and the number of the pull request.
    pub of: (PathBuf, u64),
    /// The commit of the last event.
    pub tip: String,
    pub events: Arc<Vec<LoggedEvent>>,
    /// The memory of the events, in bytes.
    pub weight: usize,
}

impl StoreCache {
    fn logs(&self) -> MutexGuard<'_, Vec<KeptLog>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached events of a pull request.
    pub(crate) fn log(&self, of: &(PathBuf, u64)) -> Option<KeptLog> {
        let mut logs = self.logs();
        let at = logs.iter().position(|kept| kept.of == *of)?;
        let kept = logs.remove(at);
        logs.push(kept.clone());
        Some(kept)
    }

    /// Caches events. Removes the least recently read events if the cache is full.
    pub(crate) fn keep(&self, new: KeptLog) {
        let mut logs = self.logs();
        logs.retain(|kept| kept.of != new.of);
        logs.push(new);
        let mut weight: usize = logs.iter().map(|kept| kept.weight).sum();
        while weight > MAX_WEIGHT && !logs.is_empty() {
            weight -= logs.remove(0).weight;
        }
    }

    /// Waits for at most `patience` until earlier writers of this process have finished with the
    /// repository. The file lock alone would not keep the order of the waiting writers.
    pub(crate) async fn writer(
        &self,
        dir: &Path,
        patience: Duration,
    ) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
            writers.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(writers.entry(dir.to_owned()).or_default())
        };
        timeout(patience, turn.lock_owned()).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(number: u64, weight: usize) -> KeptLog {
        KeptLog {
            of: (PathBuf::from("/r"), number),
            tip: "a".to_owned(),
            events: Arc::default(),
            weight,
        }
    }

    #[test]
    fn cached_logs_are_limited_by_bytes() {
        let shared = StoreCache::default();
        let of = |number| (PathBuf::from("/r"), number);
        for number in 1..=3 {
            shared.keep(kept(number, MAX_WEIGHT / 3));
        }
        assert!(shared.log(&of(1)).is_some());
        shared.keep(kept(4, MAX_WEIGHT / 3));
        // Number 2 was removed, because it was read least recently.
        assert!(shared.log(&of(2)).is_none());
        assert!(shared.log(&of(1)).is_some() && shared.log(&of(4)).is_some());
        shared.keep(kept(5, MAX_WEIGHT + 1));
        assert!(shared.logs().is_empty());
    }

    #[tokio::test]
    async fn second_writer_of_one_repository_must_wait() {
        let shared = StoreCache::default();
        let wait = Duration::from_millis(20);
        let first = shared.writer(Path::new("/a"), wait).await;
        assert!(first.is_some());
        assert!(shared.writer(Path::new("/b"), wait).await.is_some());
        assert!(shared.writer(Path::new("/a"), wait).await.is_none());
        drop(first);
        assert!(shared.writer(Path::new("/a"), wait).await.is_some());
    }
}
