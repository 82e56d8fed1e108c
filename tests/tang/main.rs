//! Compares the doubles of tangled with another project's client, `tang` (`tangled-cli` on
//! crates.io), which writes records of 2026. Each program reads and continues what the other has
//! made. `docs/explanation/tangled-world.md` lists these exchanges in a table.
//!
//! Without `tang` and a desktop keyring, the tests print a note and pass, unless
//! `FORGE_REQUIRE_TANG` is set. One test also needs the PDS from npm, and is skipped without it
//! (`FORGE_REQUIRE_ATPROTO_WORLD`).
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
