//! Runs the real binary's MCP server over stdio and HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod attacks;
mod cancel;
mod clients;
mod confirm;
mod context;
mod context_cost;
mod context_facts;
mod context_since;
mod diffs;
mod files;
mod github;
mod hints;
mod hostile;
#[path = "../cli/hostile_hub.rs"]
mod hostile_hub;
mod http;
#[path = "../cli/hub.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod hub;
mod issues;
mod jira;
mod linked;
mod lists;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod local_world;
mod merging;
mod missing;
mod paths;
mod protocol;
mod quoting;
mod reading;
mod resources;
mod schema;
mod signing;
mod stale;
mod strangers;
mod strict;
mod surface;
mod tangled;
#[path = "../cli/tangled/world.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod tangled_world;
mod task;
mod turns;
mod waiting;
mod workflow;
mod workflow_story;
mod world;
mod writing;
