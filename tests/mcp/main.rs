//! The MCP server of the real binary, over its real wires.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod attacks;
mod confirm;
mod diffs;
mod github;
mod http;
mod reading;
mod resources;
mod surface;
mod task;
mod world;
mod writing;
