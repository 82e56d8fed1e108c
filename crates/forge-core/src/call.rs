//! What the transport says about the call that it works for.
//!
//! [`crate::Client`] opens the scope of a call, and the transport finds it by itself, so no backend
//! hands it on. Outside of a call all of this does nothing.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{Error, ErrorKind, Observer, Retry};

tokio::task_local! {
    static CALL: Arc<CallState>;
}

#[derive(Default)]
pub(crate) struct CallState {
    observer: Option<Arc<dyn Observer>>,
    /// Without a transport, as in a git repository, nobody counts the writes.
    uses_transport: AtomicBool,
    /// How many writes the forge may have carried out.
    writes: AtomicUsize,
}

impl CallState {
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Arc<Self> {
        Arc::new(Self {
            observer,
            ..Self::default()
        })
    }

    /// Runs a call in this scope.
    pub(crate) async fn scope<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        CALL.scope(Arc::clone(self), call).await
    }

    /// Whether it is certain that the forge was sent no write that it may have carried out.
    pub(crate) fn wrote_nothing(&self) -> bool {
        self.uses_transport.load(Ordering::Relaxed) && self.writes.load(Ordering::Relaxed) == 0
    }

    /// The failure of a write, which says so where nothing was written.
    pub(crate) fn of_write(&self, e: Error) -> Error {
        let what = match (e.kind(), e.retry()) {
            (_, Retry::Ambiguous) => return e,
            (ErrorKind::RateLimited { .. }, _) | (_, Retry::After(_)) => "nothing was written",
            (ErrorKind::Network | ErrorKind::Timeout { .. }, _) | (_, Retry::Transient) => {
                "nothing was sent"
            }
            _ => return e,
        };
        if !self.wrote_nothing() {
            return e;
        }
        e.add_to_message(&format!(" ({what})"))
    }
}

fn with(tell: impl FnOnce(&CallState)) {
    // Outside of a call there is nobody to tell.
    let _ = CALL.try_with(|call| tell(call));
}

/// The call uses a transport, which counts its writes.
pub fn uses_transport() {
    with(|call| call.uses_transport.store(true, Ordering::Relaxed));
}

/// A write is about to be sent: from here on the forge may carry it out.
pub fn write_begins() {
    with(|call| {
        call.writes.fetch_add(1, Ordering::Relaxed);
    });
}

/// The write that was begun last was not carried out: it was not sent, or refused before it ran.
pub fn write_refused() {
    with(|call| {
        let one_less = |writes: usize| writes.checked_sub(1);
        let _ = call
            .writes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    });
}

/// The call waits because `host` limits the rate of requests.
pub fn rate_limited(host: &str, wait: Duration) {
    with(|call| {
        if let Some(observer) = &call.observer {
            observer.rate_limited(host, wait);
        }
    });
}
