//! Open any forge by URI, with the user's configuration and accounts.
#![doc = ""]

pub mod auth;
pub mod config;
mod docs;
mod forges;
mod registry;
mod resolve;

pub use config::Config;
pub use docs::capabilities_docs;
pub use forge_core::*;
pub use forges::{Forges, open};
pub use registry::{Backend, backends};
