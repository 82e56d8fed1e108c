//! Compares our doubles and lexicons with real atproto software from npm (`tests/atproto-world`): a
//! PDS, a directory and the reference implementation of Lexicon.
//!
//! Without the npm packages, the tests print a note and pass, unless `FORGE_REQUIRE_ATPROTO_WORLD`
//! is set.
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
