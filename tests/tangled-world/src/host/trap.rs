//! Stops a client at a chosen request, so that a test can kill the client there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

struct State {
    at: u64,
    after: bool,
    /// True if only writes, and the first read after each write, are counted.
    only_around_writes: bool,
    follows_write: AtomicBool,
    count: AtomicU64,
    sprung: AtomicBool,
}

/// A trap that leaves one request unanswered. It counts the requests of all hosts that have this
/// trap.
#[derive(Clone)]
pub struct Trap(Arc<State>);

impl Trap {
    /// Creates a trap at request `at`, counted from 1. With 0, the trap only counts. If `after` is
    /// true, the host executes the trapped request.
    #[must_use]
    pub fn new(at: u64, after: bool) -> Self {
        Self::of(at, after, false)
    }

    /// Creates a trap at request `at` of those that write, and of those that directly follow a
    /// write. All other requests leave the servers as they are, so stopping a client there differs
    /// in nothing from stopping it at one of these.
    #[must_use]
    pub fn around_writes(at: u64, after: bool) -> Self {
        Self::of(at, after, true)
    }

    fn of(at: u64, after: bool, only_around_writes: bool) -> Self {
        Self(Arc::new(State {
            at,
            after,
            only_around_writes,
            follows_write: AtomicBool::new(false),
            count: AtomicU64::new(0),
            sprung: AtomicBool::new(false),
        }))
    }

    /// Returns the number of requests so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Returns true if a client has sent the trapped request.
    #[must_use]
    pub fn has_sprung(&self) -> bool {
        self.0.sprung.load(Ordering::SeqCst)
    }

    /// Waits until a client sends the trapped request, `over` returns true, or the time `patience`
    /// has passed. Returns true if a client sent the trapped request.
    pub fn wait(&self, mut over: impl FnMut() -> bool, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !self.has_sprung() {
            if over() || Instant::now() > end {
                return self.has_sprung();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Counts a request, and returns true if it is the trapped one.
    pub(super) fn counts_trapped(&self, is_write: bool) -> bool {
        let follows_write = self.0.follows_write.swap(is_write, Ordering::SeqCst);
        if self.0.only_around_writes && !is_write && !follows_write {
            return false;
        }
        self.0.count.fetch_add(1, Ordering::SeqCst) + 1 == self.0.at
    }

    pub(super) fn executes_request(&self) -> bool {
        self.0.after
    }

    pub(super) fn spring(&self) {
        self.0.sprung.store(true, Ordering::SeqCst);
    }
}
