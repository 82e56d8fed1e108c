//! Workflows on git repositories, on the double of GitHub, and on a ledger in memory.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod claims;
mod crowd;
mod hub;
mod local;
mod memory;
mod merges;
mod moves;
mod partial;
mod properties;
mod races;
mod trust;
