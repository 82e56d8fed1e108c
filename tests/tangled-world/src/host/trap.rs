//! A trap that stops a client at a request, to be killed there.

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
    count: AtomicU64,
    sprung: AtomicBool,
}

/// Stops a client at one of its requests, counted over all hosts with this trap: that request is
/// never answered.
#[derive(Clone)]
pub struct Trap(Arc<State>);

impl Trap {
    /// Creates a trap at request `at`, counted from 1; 0 only counts. If `after` is true, the
    /// request is executed first.
    #[must_use]
    pub fn new(at: u64, after: bool) -> Self {
        Self(Arc::new(State {
            at,
            after,
            count: AtomicU64::new(0),
            sprung: AtomicBool::new(false),
        }))
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Returns true if a client has reached the trap.
    #[must_use]
    pub fn has_sprung(&self) -> bool {
        self.0.sprung.load(Ordering::SeqCst)
    }

    /// Waits until a client reaches the trap, `over` returns true, or `patience` ends; returns true
    /// if the trap was reached.
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

    /// Counts a request; returns true if it is the trapped request.
    pub(super) fn counts_down(&self) -> bool {
        self.0.count.fetch_add(1, Ordering::SeqCst) + 1 == self.0.at
    }

    pub(super) fn lets_it_happen(&self) -> bool {
        self.0.after
    }

    pub(super) fn spring(&self) {
        self.0.sprung.store(true, Ordering::SeqCst);
    }
}
