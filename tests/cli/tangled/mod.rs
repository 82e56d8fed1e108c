//! Runs the real binary on repositories in a world of tangled doubles.

mod accounts;
mod check;
mod context;
mod context_since;
mod doctor;
mod ingestion;
mod issues;
mod limits;
mod lists;
mod matrix;
mod opt_in;
mod requirements;
mod rounds;
mod said_merged;
mod strangers;
mod tickets;
mod walk;
mod words;
pub mod world;
