//! Our doubles and lexicons, compared with the real atproto: a PDS, a directory and the reference
//! implementation of Lexicon, as npm has them (`tests/atproto-world`).
//!
//! Without them nothing can be compared: the tests say so and pass, unless
//! `FORGE_REQUIRE_ATPROTO_WORLD` is set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod atrium;
mod context;
#[path = "../mcp/context_facts.rs"]
mod context_facts;
mod firehose;
mod issues;
mod lexicons;
mod records;
mod twins;
mod two_accounts;
mod workflow;
#[path = "../peers/workflow_client.rs"]
mod workflow_client;
