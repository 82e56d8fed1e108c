//! Caches the most recent bundles. A bundle is all that `pr_context` has read of a pull request.

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
    /// Memory of the forge's answers from which the bundle was made; see
    /// [`forge_core::call::kept_weight`].
    weight: usize,
    gathered: Instant,
}

#[derive(Default)]
struct ContextCacheState {
    entries: Vec<CachedContext>,
    /// The number of ended tool calls that may have written.
    writes: u64,
}

/// Caches bundles by account, pull request and arguments. Every write by this server empties the
/// cache.
#[derive(Default)]
pub(crate) struct ContextCache(Mutex<ContextCacheState>);

/// The number of writes at the time when a bundle began to be read; see [`ContextCache::begin`].
/// [`ContextCache::put`] compares it to detect writes since then.
#[derive(Clone, Copy)]
pub(crate) struct Gathering(u64);

impl ContextCache {
    /// Returns a bundle that is at most `ttl` old. A bundle that may soon change (see
    /// [`is_settled`]) is returned only for another page of the same bundle (`is_page`).
    pub fn get(&self, key: u64, ttl: Duration, is_page: bool) -> Option<Arc<PullContext>> {
        let mut kept = self.lock_state();
        kept.entries.retain(|e| e.gathered.elapsed() < ttl);
        let entry = kept.entries.iter().find(|e| e.key == key)?;
        (is_page || is_settled(&entry.found)).then(|| Arc::clone(&entry.found))
    }

    /// Records the number of writes. Call this before reading a bundle.
    pub fn begin(&self) -> Gathering {
        Gathering(self.lock_state().writes)
    }

    /// Caches a bundle of `weight` bytes, and drops the oldest bundles to make room. Does nothing
    /// if a write has ended since `begun`, because the bundle may then be outdated.
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

/// Returns true if reading the bundle again would give the same result. The conditions:
/// - All sections were read.
/// - On tangled, the appview (the index of records) shows the pull request's record.
/// - The mergeability is known.
fn is_settled(found: &PullContext) -> bool {
    let pull = &found.pull;
    let state = pull.mergeability.as_ref().map(|m| m.state);
    let shown = pull.ingestion.as_ref().map(|record| record.verdict.word());
    let is_shown = shown.is_none_or(|word| matches!(word, "immediate" | "confirmed"));
    !found.partial
        && is_shown
        && (pull.state != PrState::Open || state != Some(MergeState::Unknown))
}
