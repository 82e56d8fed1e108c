//! Work on files that may block a thread.

use forge_core::{Error, ErrorKind, Result};

/// Does `work` on a thread that may block, so that no other call waits for it.
///
/// # Errors
/// The errors of `work`; `internal` if its thread panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work);
    done.await.unwrap_or_else(|e| {
        let message = format!("work on another thread broke off: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}
