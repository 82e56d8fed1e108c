//! The behaviour suite on tangled's doubles. Trials are named `tangled::<module>::<case>`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../it/stage.rs"]
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
            names_ends: true,
            diff_lines: 20_000,
            writers_moderate: false,
            checks_qualifiers: false,
            author_email: "alice@example.org",
        }
    }

    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        const ROUNDS: &str = "a pull request holds the rounds that were submitted, not its branch";
        const AUTHOR: &str = "only its author can edit a record";
        &[
            ("create::numbers_ascend", "records have no numbers"),
            ("view::the_head_follows_its_branch", ROUNDS),
            ("diff::it_follows_the_branch", ROUNDS),
            ("mergeability::both_ends_are_named", ROUNDS),
            ("mergeability::a_conflict_that_was_solved", ROUNDS),
            ("state::reopen_without_its_head_branch", ROUNDS),
            ("edit::a_stale_version", AUTHOR),
            ("edit::an_edit_is_in_the_history", AUTHOR),
            (
                "comments::edit_mine",
                "a record does not say when it was changed",
            ),
            ("labels::a_label_is_read_back", "labels have no description"),
            (
                "reviews::the_author_can_comment",
                "a review is a comment, and listed as one",
            ),
            (
                "diff::bytes_that_are_no_text",
                "a knot sends patches as JSON, which is UTF-8",
            ),
        ]
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
