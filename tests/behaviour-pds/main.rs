//! Runs the behaviour suite on tangled with a real PDS (`tests/atproto-world`). Trials are named
//! `tangled-pds::<module>::<case>`.
//!
//! cargo runs all trials in one process, because they share one PDS; nextest would start a PDS for
//! each trial. Without the npm packages no trial runs, unless `FORGE_REQUIRE_ATPROTO_WORLD` is set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../behaviour/promises.rs"]
mod promises;
mod rig;
#[allow(dead_code, reason = "the rig of the doubles is another suite's")]
#[path = "../behaviour/tangled.rs"]
mod tangled;

use std::{process::ExitCode, sync::Arc};

use forge_tangled_world::RealWorld;
use forge_testkit::behaviour::{SharedRig, trials};
use libtest_mimic::{Arguments, Trial};

use crate::{promises::Promises, rig::PdsRig};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Trials mostly wait for the disk, so there are more threads than cores.
    arguments.test_threads.get_or_insert(8);
    let rig: SharedRig = Arc::new(PdsRig::default());
    let mut all: Vec<Trial> = Vec::new();
    if RealWorld::installed().is_some() {
        let chosen = trials(&rig);
        all.extend(Promises::read().trials(&rig, chosen.len()));
        all.extend(chosen);
    }
    libtest_mimic::run(&arguments, all).exit_code()
}
