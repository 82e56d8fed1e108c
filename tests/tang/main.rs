//! The doubles of tangled, judged by a client that is not ours: `tang` (`tangled-cli` on
//! crates.io), which speaks the records of 2026. Each program reads and continues the work of the
//! other. `docs/explanation/tangled-world.md` has the table of these exchanges.
//!
//! Without `tang` and a desktop keyring nothing can be compared: the tests say so and pass, unless
//! `FORGE_REQUIRE_TANG` is set; without the PDS of npm one test less (`FORGE_REQUIRE_ATPROTO_WORLD`).
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod made_by_forge;
mod made_by_tang;
mod merged_by_tang;
mod real_pds;
mod stage;
mod table;
