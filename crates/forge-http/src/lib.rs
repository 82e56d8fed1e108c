//! The one HTTP transport of the workspace.
//!
//! The crate has all rules for requests: TLS and its trusted roots, proxies, HTTP without TLS,
//! redirects, concurrency, retries, rate limits, size limits, tracing, and the redaction of
//! secrets. Backends send each request with an [`Idempotency`]. [`Http::send`] returns a response
//! with any status, or a [`forge_core::Error`] that says whether a retry is safe.
//!
//! [`HttpService`] wraps the transport as a `tower` service, for clients of other crates.

mod address;
mod body;
mod client;
mod connections;
mod failure;
mod host_limiter;
mod http_service;
mod proxy;
mod rate_limit;
mod redact;
mod redirect;
mod resolve;
mod retry_policy;
mod settings;
mod tls;

pub use address::is_public_address;
pub use body::Body;
pub use client::{
    BodyMax, Http, Idempotency, MaxRetries, NoRedirect, PublicOnly, StreamBody, check_literal,
};
pub use failure::{is_no_connection, is_private_address, is_too_long};
pub use host_limiter::WritePace;
pub use http_service::HttpService;
pub use proxy::Proxies;
pub use rate_limit::{RateLimit, limited_for, rate_limit_wait};
pub use redact::{mask_secrets, mask_start, redact};
pub use redirect::{MAX_REDIRECTS, redirected};
pub use resolve::{Lookup, SystemLookup};
pub use retry_policy::RetryPolicy;
pub use settings::{ENV, HttpSettings};
pub use tls::{RootSource, Roots};
