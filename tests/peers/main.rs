//! The real gh and forge take turns on the GitHub double: what one makes, the other finds, reads,
//! changes, closes and merges.
//!
//! gh is the program at `FORGE_GH`, else `target/peers/gh`, where `cargo xtask test` puts it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod attach;
mod bots;
mod fields;
mod life;
mod reading;
mod refusals;
mod world;
