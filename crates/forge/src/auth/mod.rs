//! Accounts: which credential goes to which host, and where it comes from.
//!
//! Environment variables win over the store, `credentials.toml` in the configuration directory,
//! which only its owner can read. A credential belongs to one host, port included.

mod accounts;
mod secret;
mod store;

pub use accounts::{AccountStatus, Accounts, Credential, CredentialSource, Login};
pub use secret::Secret;
