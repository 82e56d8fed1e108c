//! Tests the transport with servers that answer, refuse, lie and break off.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that fails here has failed"
)]

mod addresses;
mod body;
mod clear_text;
mod double;
mod interim;
mod redirects;
mod retries;
mod secrets;
mod tls;
