//! Runs work that may block a thread: file access, and the packing of patches.

use forge_core::{Error, ErrorKind, Result};

/// Proof that a thread may block. Only [`run_long`] creates this token, so a function that takes it
/// runs only on a thread that may block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MayBlock(());

#[cfg(test)]
impl MayBlock {
    pub const IN_TEST: Self = Self(());
}

/// Runs `work` on a thread that may block, so that no other call waits for it.
///
/// # Errors
/// The errors of `work`; `internal` if its thread panicked.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    run_long(move |_| work()).await
}

/// Like [`run`], for work that takes a [`MayBlock`].
///
/// # Errors
/// The errors of [`run`].
pub(crate) async fn run_long<T: Send + 'static>(
    work: impl FnOnce(MayBlock) -> Result<T> + Send + 'static,
) -> Result<T> {
    let work = tokio::task::spawn_blocking(move || work(MayBlock(())));
    work.await.unwrap_or_else(|e| {
        let message = format!("a background thread ended unexpectedly: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::run;

    #[tokio::test]
    async fn blocking_work_runs_on_another_thread() {
        let other = run(|| Ok(thread::current().id())).await.unwrap();
        assert_ne!(other, thread::current().id());
    }
}
