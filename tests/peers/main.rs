//! Runs the real gh and `forge` on the GitHub double. The programs take turns: each lists, reads,
//! changes, closes and merges what the other has made. Both also run the same commands in two equal
//! worlds, with every flag that both have (`flags` checks this), and must reach the same state.
//!
//! `FORGE_GH` names gh; the default is `target/peers/gh`, where `cargo xtask test` puts it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod accounts;
mod attach;
mod bots;
mod change;
mod checkout;
mod checks;
mod create;
mod create_prompts;
mod differences;
mod fields;
mod flags;
mod fork_clones;
mod forks;
mod issues;
mod jira;
mod large;
mod life;
mod list;
mod lock;
mod merge;
mod prompts;
mod reading;
mod refusals;
mod revert;
mod second;
mod selectors;
mod twins;
mod unpushed;
mod update_branch;
mod upstream_branch;
mod view;
mod workflow;
mod workflow_client;
mod world;
