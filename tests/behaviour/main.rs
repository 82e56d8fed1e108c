//! Runs the behaviour suite on every rig of this workspace. Trials are named
//! `<rig>::<module>::<case>`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod github;
mod local;
mod promises;
mod tangled;

use std::{process::ExitCode, sync::Arc};

use forge_testkit::behaviour::{SharedRig, trials};
use libtest_mimic::{Arguments, Trial};

use crate::{
    github::GitHubRig,
    local::LocalRig,
    promises::Promises,
    tangled::{OptInRig, TangledRig},
};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let rigs: [SharedRig; 5] = [
        Arc::new(LocalRig::ordinary()),
        Arc::new(LocalRig::bare_sha256()),
        Arc::new(GitHubRig),
        Arc::new(TangledRig),
        Arc::new(OptInRig),
    ];
    let promises = Promises::read();
    let mut all: Vec<Trial> = Vec::new();
    for rig in &rigs {
        let chosen = trials(rig);
        all.extend(promises.trials(rig, chosen.len()));
        all.extend(chosen);
    }
    libtest_mimic::run(&arguments, all).exit_code()
}
