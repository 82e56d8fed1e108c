//! Repositories on tangled: the real binary against the doubles' world.

mod accounts;
mod check;
mod context;
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
