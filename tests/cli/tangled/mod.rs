//! Repositories on tangled: the real binary against the doubles' world.

mod accounts;
mod check;
mod context;
mod context_since;
mod doctor;
mod ingestion;
mod issues;
mod lists;
mod matrix;
mod opt_in;
mod rounds;
mod said_merged;
mod tickets;
mod walk;
mod words;
pub mod world;
