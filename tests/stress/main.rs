//! Many processes at once, processes that are killed, and repositories and diffs that are large.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod agents;
mod crowd;
mod kill;
mod large;
mod scale;
