//! What is particular to pull requests inside a git repository: how they are stored, what happens
//! when that is damaged or half-written, and the kinds of repositories.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod corrupt;
mod diff_counts;
mod issues;
mod issues_edit;
mod issues_history;
mod issues_relations;
mod life;
mod on_top;
mod patch;
mod recovery;
mod repo;
mod repo_file;
mod repositories;
mod shared;
mod signing;
mod together;
mod work_trees;
