//! Accounts: maps each host to a credential and its origin.
//!
//! Environment variables take precedence over the store. The store is `credentials.toml` in the
//! configuration directory. Only its owner can read this file. A credential belongs to one host,
//! and the port is part of the host.

mod accounts;
#[cfg(any(feature = "github", feature = "tangled"))]
mod blocking;
#[cfg(feature = "github")]
mod gh;
#[cfg(feature = "github")]
mod gh_hosts;
mod jira;
mod secret;
mod store;

pub use accounts::{AccountStatus, Accounts, Credential, CredentialSource, Login, Pin};
#[cfg(any(feature = "github", feature = "tangled"))]
pub(crate) use blocking::credential;
#[cfg(feature = "tangled")]
pub(crate) use blocking::keep_pin;
#[cfg(feature = "github")]
pub(crate) use blocking::stored_hosts;
#[cfg(feature = "github")]
pub(crate) use gh::Gh;
#[cfg(feature = "github")]
pub(crate) use gh_hosts::GhHosts;
pub use jira::JiraLogin;
#[cfg(feature = "jira")]
pub(crate) use jira::{JiraAccount, host_of};
pub use secret::parse_secret;
