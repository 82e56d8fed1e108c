//! Tests tangled in three ways: kills `forge` at each of its requests, runs many processes
//! concurrently, and compares the reported ingestion state of two thousand random writes with the
//! index.

mod crowd;
mod hall;
mod kill;
mod workflow;
mod writes;
