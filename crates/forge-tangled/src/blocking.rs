//! Work that may block a thread: files, and the packing of patches.

use forge_core::{Error, ErrorKind, Result};

/// Does `work` on a thread that may block, so that no other call waits for it.
///
/// # Errors
/// Those of `work`; `internal` where it broke off.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let work = tokio::task::spawn_blocking(work);
    work.await.unwrap_or_else(|e| {
        let message = format!("work on another thread broke off: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}
