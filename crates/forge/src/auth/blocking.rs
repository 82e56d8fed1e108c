//! Reads and writes the store of accounts without blocking the caller's thread.

#[cfg(feature = "github")]
use forge_core::ForgeKind;
use forge_core::{Error, ErrorKind, Result};

#[cfg(feature = "tangled")]
use super::Pin;
use super::{Accounts, Credential};

/// Like [`Accounts::credential`], on a thread that may block on the store's files.
///
/// # Errors
/// The errors of [`Accounts::credential`]; `internal` if the thread panicked.
pub(crate) async fn credential(accounts: &Accounts, host: &str) -> Result<Option<Credential>> {
    let (accounts, host) = (accounts.clone(), host.to_owned());
    run(move || accounts.credential(&host)).await
}

/// Like [`Accounts::stored_hosts`], on a thread that may block on the store's files.
///
/// # Errors
/// The errors of [`Accounts::stored_hosts`]; `internal` if the thread panicked.
#[cfg(feature = "github")]
pub(crate) async fn stored_hosts(accounts: &Accounts, kind: &ForgeKind) -> Result<Vec<String>> {
    let (accounts, kind) = (accounts.clone(), kind.clone());
    run(move || accounts.stored_hosts(&kind)).await
}

/// Like [`Accounts::keep_pin`], on a thread that may wait for the lock of the store.
///
/// # Errors
/// The errors of [`Accounts::keep_pin`]; `internal` if the thread panicked.
#[cfg(feature = "tangled")]
pub(crate) async fn keep_pin(
    accounts: &Accounts,
    host: &str,
    account: String,
    pin: Pin,
) -> Result<()> {
    let (accounts, host) = (accounts.clone(), host.to_owned());
    run(move || accounts.keep_pin(&host, &account, &pin)).await
}

async fn run<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work);
    done.await.unwrap_or_else(|e| {
        let message = format!("the accounts could not be read or written: {e}");
        Err(Error::new(ErrorKind::Internal, message).with_source(e))
    })
}
