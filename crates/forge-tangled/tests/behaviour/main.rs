//! The behaviour suite on tangled's doubles. Trials are named `tangled::<module>::<case>`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../stage/mod.rs"]
mod stage;

use std::{process::ExitCode, sync::Arc};

use async_trait::async_trait;
use forge_core::Capabilities;
use forge_testkit::behaviour::{Facts, Fixture, Rig, SharedRig, trials};
use libtest_mimic::Arguments;

use crate::stage::Stage;

/// A world of its own for every trial.
struct TangledRig;

#[async_trait]
impl Rig for TangledRig {
    fn name(&self) -> &str {
        "tangled"
    }

    fn capabilities(&self) -> &'static Capabilities {
        &forge_tangled::CAPABILITIES
    }

    fn facts(&self) -> Facts {
        Facts {
            names_conflicts: true,
            context_lines: false,
            names_ends: false,
            diff_lines: 20_000,
            writers_moderate: false,
            checks_qualifiers: false,
            author_email: "alice@example.org",
        }
    }

    async fn fixture(&self) -> Fixture {
        let stage = Stage::new();
        Fixture {
            author: stage.handle(&stage.alice),
            reviewer: stage.handle(&stage.bob),
            git: forge_testkit::GitDir::at(stage.repo.path()),
            facts: self.facts(),
            keep: Box::new(stage),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let rig: SharedRig = Arc::new(TangledRig);
    libtest_mimic::run(&arguments, trials(&rig)).exit_code()
}
