//! Runs the real binary on repositories that each test creates. Checks its output, its streams and
//! its exit code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod accounts;
mod across;
mod by_branch;
mod change;
mod checkout;
mod comment;
mod configuration;
mod context;
mod context_html;
mod context_settings;
mod context_since;
mod context_stage;
mod create;
mod demo;
mod diff;
mod docs;
mod doctor;
mod edits;
mod encodings;
mod endless;
mod errors;
mod escapes;
mod faults;
mod general;
mod gh_login;
mod github;
mod hints;
mod hostile_hub;
mod html_tree;
mod hub;
mod issues;
mod jira;
mod json;
mod library;
mod list;
mod merge;
mod packaging;
mod prompts;
mod related;
mod repository;
mod requirements;
mod review;
mod selectors;
mod ssh_names;
mod state;
mod status;
mod tangled;
mod terminal;
mod unprinted;
mod verdict_gaps;
mod verdicts;
mod view;
mod watch;
mod workflow;
mod workflow_claims;
mod workflow_errors;
mod workflow_issues;
mod workflow_merge;
mod workflow_page;
mod workflow_story;
mod workflow_world;
mod world;
