//! Threads that the doubles run on.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

/// A thread that is stopped and joined when this value is dropped.
pub(super) struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread that runs `work`. `work` must return once its flag is true.
    pub(super) fn start(
        name: &str,
        work: impl FnOnce(&AtomicBool) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&stopped))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Stops the thread. `wake` wakes the thread and returns false on failure. A thread that was
    /// not woken is not joined.
    pub(super) fn stop(&mut self, wake: impl FnOnce() -> bool) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take().filter(|_| wake()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop(|| true);
    }
}
