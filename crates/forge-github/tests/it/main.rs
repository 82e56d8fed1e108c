//! The backend against scripted answers: what it sends, how often, and what it makes of the answer.
//!
//! A script is a list of answers in order. A request that the script does not expect fails the test,
//! and so does an answer that nobody asked for.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that fails here has failed"
)]

mod attachments;
mod auth;
mod checks;
mod comments;
mod create;
mod diff;
mod double;
mod edit;
mod edits;
mod fault_plans;
mod issue_edits;
mod issue_reads;
mod issues;
mod labels;
mod links;
mod lists;
mod lost;
mod merge;
mod on_top;
mod partial;
mod repos;
mod reviews;
mod rules;
mod script;
mod state;
mod unread;
mod update;
mod view;
mod wire;
