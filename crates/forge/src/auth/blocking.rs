//! Reads credentials without blocking the caller's thread.

use forge_core::{Error, ErrorKind, Result};

use super::{Accounts, Credential};

/// Like [`Accounts::credential`], on a thread that may block on the store's files.
///
/// # Errors
/// The errors of [`Accounts::credential`]; `internal` if the thread panicked.
pub(crate) async fn credential(accounts: &Accounts, host: &str) -> Result<Option<Credential>> {
    let (accounts, host) = (accounts.clone(), host.to_owned());
    let read = tokio::task::spawn_blocking(move || accounts.credential(&host));
    read.await.unwrap_or_else(|e| {
        let message = format!("the accounts could not be read: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}
