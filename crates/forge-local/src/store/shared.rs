//! What the repositories that one process opens share, for a server that opens them again and again.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::OwnedMutexGuard, time::timeout};

use super::Logged;

/// The most bytes of events that are kept, as git has them.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The events of the pull requests that were read last, and the order of writers.
///
/// Events are commits that never change, so what was read of a chain stays right; only what is new is
/// read again. Git is asked for the tip of the chain each time.
#[derive(Debug, Default)]
pub struct Shared {
    logs: Mutex<Vec<KeptLog>>,
    writers: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

/// The events of one pull request.
#[derive(Clone, Debug)]
pub(crate) struct KeptLog {
    /// The directory of the repository, and the number.
    pub of: (PathBuf, u64),
    /// The commit of the last event.
    pub tip: String,
    pub events: Arc<Vec<Logged>>,
    /// How long the commits are.
    pub bytes: usize,
}

impl Shared {
    fn logs(&self) -> MutexGuard<'_, Vec<KeptLog>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept of a pull request.
    pub(crate) fn log(&self, of: &(PathBuf, u64)) -> Option<KeptLog> {
        let mut logs = self.logs();
        let at = logs.iter().position(|kept| kept.of == *of)?;
        let kept = logs.remove(at);
        logs.push(kept.clone());
        Some(kept)
    }

    /// Keeps events in the place of those that were not read for the longest time.
    pub(crate) fn keep(&self, new: KeptLog) {
        let mut logs = self.logs();
        logs.retain(|kept| kept.of != new.of);
        logs.push(new);
        let mut bytes: usize = logs.iter().map(|kept| kept.bytes).sum();
        while bytes > MAX_BYTES && !logs.is_empty() {
            bytes -= logs.remove(0).bytes;
        }
    }

    /// Waits until the writers of this process that came before are done with a repository, at most
    /// for `patience`. The lock of the file alone has no order.
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

    fn kept(number: u64, bytes: usize) -> KeptLog {
        KeptLog {
            of: (PathBuf::from("/r"), number),
            tip: "a".to_owned(),
            events: Arc::default(),
            bytes,
        }
    }

    #[test]
    fn kept_logs_are_bounded_by_bytes() {
        let shared = Shared::default();
        let of = |number| (PathBuf::from("/r"), number);
        for number in 1..=3 {
            shared.keep(kept(number, MAX_BYTES / 3));
        }
        assert!(shared.log(&of(1)).is_some());
        shared.keep(kept(4, MAX_BYTES / 3));
        // The second was not read for the longest time.
        assert!(shared.log(&of(2)).is_none());
        assert!(shared.log(&of(1)).is_some() && shared.log(&of(4)).is_some());
        shared.keep(kept(5, MAX_BYTES + 1));
        assert!(shared.logs().is_empty());
    }

    #[tokio::test]
    async fn writers_take_turns_for_each_repository() {
        let shared = Shared::default();
        let wait = Duration::from_millis(20);
        let first = shared.writer(Path::new("/a"), wait).await;
        assert!(first.is_some());
        assert!(shared.writer(Path::new("/b"), wait).await.is_some());
        assert!(shared.writer(Path::new("/a"), wait).await.is_none());
        drop(first);
        assert!(shared.writer(Path::new("/a"), wait).await.is_some());
    }
}
