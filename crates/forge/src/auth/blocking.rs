//! Accounts for callers that must not block their thread.

use forge_core::{Error, ErrorKind, Result};

use super::{Accounts, Credential};

/// As [`Accounts::credential`], on a thread that may wait for the files of the store.
///
/// # Errors
/// As there; `internal` where that thread broke off.
pub(crate) async fn credential(accounts: &Accounts, host: &str) -> Result<Option<Credential>> {
    let (accounts, host) = (accounts.clone(), host.to_owned());
    let read = tokio::task::spawn_blocking(move || accounts.credential(&host));
    read.await.unwrap_or_else(|e| {
        let message = format!("the accounts could not be read: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}
