//! Tangled: `forge` killed at each of its requests, many concurrent processes, and two thousand
//! random writes whose reported ingestion state is compared with the index.

mod crowd;
mod hall;
mod kill;
mod workflow;
mod writes;
