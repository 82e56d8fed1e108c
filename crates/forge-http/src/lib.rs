//! The one HTTP transport of the workspace.
//!
//! All rules for requests are here: TLS and its roots, proxies, clear text, redirects, concurrency,
//! retries, rate limits, size limits, tracing, and the redaction of secrets. Backends send requests
//! with a [`Class`]; [`Http::send`] returns the server's answer with any status, or a
//! [`forge_core::Error`] that says whether a retry is safe.
//!
//! [`Leaf`] wraps it as a `tower` service, for clients of other crates.

mod address;
mod body;
mod client;
mod connections;
mod failure;
mod gate;
mod leaf;
mod proxy;
mod rate;
mod redact;
mod redirect;
mod resolve;
mod retry;
mod settings;
mod tls;

pub use address::is_public_address;
pub use body::Body;
pub use client::{
    BodyMax, Class, Http, MaxRetries, PublicOnly, Streamed, Unfollowed, check_literal,
};
pub use failure::{is_no_connection, is_private_address, is_too_long};
pub use gate::WritePace;
pub use leaf::Leaf;
pub use proxy::Proxies;
pub use rate::{RateLimit, limited_for, rate_limit_wait};
pub use redact::redact;
pub use redirect::{MOST as REDIRECTS_MOST, redirected};
pub use resolve::{Lookup, SystemLookup};
pub use retry::RetryPolicy;
pub use settings::{ENV, Settings};
pub use tls::{RootSource, Roots};
