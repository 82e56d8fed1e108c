//! Tests which programs a stranger's repository can start. The tests run every tool, resource and
//! command of the real binary in repositories with a canary in every place from which git takes a
//! program. [`liars`] tests lying servers, clients and repositories.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod canaries;
mod commands;
mod keys;
mod liars;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod local_world;
mod places;
mod plant;
#[path = "../mcp/quoting.rs"]
mod quoting;
mod runs;
#[path = "../mcp/schema.rs"]
mod schema;
mod story;
mod trust;
#[path = "../mcp/world.rs"]
#[allow(dead_code, reason = "shared with the tests of the MCP server")]
mod world;
