//! Tests of the local backend alone: storage, damaged or incomplete data, and kinds of
//! repositories.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod branch_claims;
mod clones;
mod corrupt;
mod criss_cross;
mod diff_counts;
mod issues;
mod issues_edit;
mod issues_history;
mod issues_relations;
mod life;
mod memory;
mod pulls_from_patch;
mod recovery;
mod repo;
mod repo_file;
mod repositories;
mod shared;
mod signing;
mod stack;
mod together;
mod work_trees;
