//! Runs work that may block its thread, such as reading files.

use forge_core::{Error, ErrorKind, Result};

/// Runs `work` on a thread that may block, so that other tasks do not wait for it.
///
/// # Errors
/// The errors of `work`; `internal` if its thread panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work);
    done.await.unwrap_or_else(|e| {
        let message = format!("a background thread ended unexpectedly: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}
