//! The backend against scripted answers: checks the requests, their number, and the mapped answers.
//!
//! A script is an ordered list of answers. The test fails on an unexpected request and on an unused
//! answer.
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
mod denied;
mod dependents;
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
mod partial;
mod renamed;
mod repos;
mod reviews;
mod rules;
mod script;
mod secondary_limit;
mod stack;
mod state;
mod unread;
mod update;
mod view;
mod wire;
