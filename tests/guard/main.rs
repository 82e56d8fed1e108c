//! Checks rules of the workspace that the compiler does not check: dependencies between crates,
//! licences, which code may distinguish forges, and tests that are missing or do not run.
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
mod names;
mod security;
mod sources;
mod targets;
