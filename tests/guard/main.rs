//! Rules of the workspace that no compiler checks: dependencies between crates, licences, places
//! that may distinguish forges, and that no test is forgotten or missing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod canary;
mod dependencies;
mod golden;
mod metadata;
mod security;
mod sources;
mod targets;
