//! Limits the concurrent requests to a host, and the rate of writes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::RetryPolicy;

/// Rate of writes to one host, for a server that limits writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePace {
    /// Number of writes that are sent without a pause.
    pub free: u32,
    /// Minimum time between the end of a write and the start of the next one, once the `free`
    /// writes are used up.
    pub spacing: Duration,
}

#[derive(Debug, Default)]
struct WriteHistory {
    done: u32,
    last: Option<Instant>,
}

#[derive(Debug)]
struct HostSlots {
    slots: Arc<Semaphore>,
    writes: Arc<AsyncMutex<WriteHistory>>,
}

/// Occupies a slot of a host until the end of a request.
#[derive(Debug)]
pub(crate) struct Permit {
    _slot: Option<OwnedSemaphorePermit>,
    write: Option<OwnedMutexGuard<WriteHistory>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(writes) = &mut self.write {
            writes.done = writes.done.saturating_add(1);
            writes.last = Some(Instant::now());
        }
    }
}

#[derive(Debug)]
pub(crate) struct HostLimiter {
    hosts: Mutex<HashMap<String, Arc<HostSlots>>>,
    in_flight: usize,
    pace: Option<WritePace>,
}

impl HostLimiter {
    pub(crate) fn new(in_flight: usize, pace: Option<WritePace>) -> Self {
        Self {
            hosts: Mutex::default(),
            in_flight: in_flight.max(1),
            pace,
        }
    }

    /// Waits for a free slot of `host`. A write first waits until no other write to the host is
    /// running.
    pub(crate) async fn acquire(&self, host: &str, write: bool, policy: &RetryPolicy) -> Permit {
        let gate = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(hosts.entry(host.to_owned()).or_insert_with(|| {
                Arc::new(HostSlots {
                    slots: Arc::new(Semaphore::new(self.in_flight)),
                    writes: Arc::default(),
                })
            }))
        };
        let mut turn = None;
        if write {
            let writes = Arc::clone(&gate.writes).lock_owned().await;
            if let (Some(pace), Some(last)) = (self.pace, writes.last)
                && writes.done >= pace.free
            {
                policy
                    .wait(pace.spacing.saturating_sub(last.elapsed()))
                    .await;
            }
            turn = Some(writes);
        }
        // The semaphore is never closed, so `acquire` always succeeds.
        let slot = Arc::clone(&gate.slots).acquire_owned().await.ok();
        Permit {
            _slot: slot,
            write: turn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn concurrent_reads_share_slots_but_writes_are_serial() {
        let gates = HostLimiter::new(2, None);
        let policy = RetryPolicy::without_pauses();
        let a = gates.acquire("h", false, &policy).await;
        let b = gates.acquire("h", true, &policy).await;
        let blocked = |write| {
            let (gates, policy) = (&gates, &policy);
            async move {
                let pass = gates.acquire("h", write, policy);
                tokio::time::timeout(Duration::from_millis(20), pass)
                    .await
                    .is_err()
            }
        };
        assert!(blocked(false).await, "both slots are taken");
        drop(a);
        assert!(!blocked(false).await);
        assert!(blocked(true).await, "one write at a time");
        drop(b);
        assert!(!blocked(true).await);
        let elsewhere = gates.acquire("other", true, &policy).await;
        assert!(elsewhere.write.is_some(), "each host has its own gate");
    }

    #[tokio::test(start_paused = true)]
    async fn writes_beyond_free_count_are_spaced() {
        let pace = WritePace {
            free: 2,
            spacing: Duration::from_secs(1),
        };
        let policy = RetryPolicy::default();
        for (pace, seconds) in [(Some(pace), 2), (None, 0)] {
            let gates = HostLimiter::new(2, pace);
            let begun = Instant::now();
            for _ in 0..4 {
                drop(gates.acquire("h", true, &policy).await);
            }
            assert_eq!(begun.elapsed().as_secs(), seconds, "{pace:?}");
        }
    }
}
