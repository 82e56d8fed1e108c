//! Tests many concurrent processes, killed processes, and large repositories and diffs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod agents;
#[path = "../../crates/forge-tangled/tests/it/claims/mod.rs"]
mod claims;
mod crowd;
mod endings;
mod kill;
mod large;
mod scale;
#[path = "../../crates/forge-tangled/tests/it/stage.rs"]
mod stage;
mod tangled;
#[path = "../../crates/forge-tangled/tests/it/ticket_records.rs"]
mod ticket_records;
mod workflow;
