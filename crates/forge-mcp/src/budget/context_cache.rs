//! Caches the most recent bundles, which are the results of `pr_context`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge::context::PullContext;
use forge_core::{
    call::MAX_KEPT,
    model::{MergeState, PrState},
};

/// Maximum number of cached bundles.
const MAX_ENTRIES: usize = 4;

struct CachedContext {
    key: u64,
    found: Arc<PullContext>,
    /// The memory that the answers in the bundle take; see [`forge_core::call::kept_weight`].
    weight: usize,
    gathered: Instant,
}

#[derive(Default)]
struct ContextCacheState {
    entries: Vec<CachedContext>,
    /// The number of writes that have ended.
    writes: u64,
}

/// Caches bundles by account, pull request and arguments, until a write of this server ends.
#[derive(Default)]
pub(crate) struct ContextCache(Mutex<ContextCacheState>);

/// Number of writes at the start of a gathering, from [`ContextCache::begin`].
/// [`ContextCache::put`] uses it to detect later writes.
#[derive(Clone, Copy)]
pub(crate) struct Gathering(u64);

impl ContextCache {
    /// Returns a bundle that is at most `ttl` old. An unsettled bundle is returned only if the call
    /// asks for a further page of it (`is_page`).
    pub fn get(&self, key: u64, ttl: Duration, is_page: bool) -> Option<Arc<PullContext>> {
        let mut kept = self.lock_state();
        kept.entries.retain(|e| e.gathered.elapsed() < ttl);
        let entry = kept.entries.iter().find(|e| e.key == key)?;
        (is_page || is_settled(&entry.found)).then(|| Arc::clone(&entry.found))
    }

    /// Starts a gathering; call this before reading.
    pub fn begin(&self) -> Gathering {
        Gathering(self.lock_state().writes)
    }

    /// Caches a bundle of this weight, replacing the oldest bundles. Does nothing if a write has
    /// ended since `begun`.
    pub fn put(&self, key: u64, found: &Arc<PullContext>, weight: usize, begun: Gathering) {
        let mut kept = self.lock_state();
        if kept.writes != begun.0 {
            return;
        }
        kept.entries.retain(|e| e.key != key);
        let over = (kept.entries.len() + 1).saturating_sub(MAX_ENTRIES);
        kept.entries.drain(..over);
        let all = |entries: &[CachedContext]| entries.iter().map(|e| e.weight).sum::<usize>();
        while !kept.entries.is_empty() && weight.saturating_add(all(&kept.entries)) > MAX_KEPT {
            kept.entries.remove(0);
        }
        kept.entries.push(CachedContext {
            key,
            found: Arc::clone(found),
            weight,
            gathered: Instant::now(),
        });
    }

    /// Drops all bundles; call this after a write.
    pub fn forget(&self) {
        let mut kept = self.lock_state();
        kept.writes += 1;
        kept.entries.clear();
    }

    fn lock_state(&self) -> std::sync::MutexGuard<'_, ContextCacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if gathering again would give the same bundle: all sections were read, the index
/// has the record, and the mergeability is known.
fn is_settled(found: &PullContext) -> bool {
    let pull = &found.pull;
    let state = pull.mergeability.as_ref().map(|m| m.state);
    let shown = pull.ingestion.as_ref().map(|record| record.verdict.word());
    let is_shown = shown.is_none_or(|word| matches!(word, "immediate" | "confirmed"));
    !found.partial
        && is_shown
        && (pull.state != PrState::Open || state != Some(MergeState::Unknown))
}
