//! Holds the doubles of tangled and GitHub against what the real services answered.
//!
//! `github.json` and `tangled.json` have requests and records of ours, with people and texts that
//! are made up; each names the recording that it stands for. The files of shapes are made from the
//! recordings by `shapes.py`. The table in `docs/explanation/recordings.md` has every difference
//! between a double and a recording, and the reason.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod github;
mod shape;
mod table;
mod tangled;
