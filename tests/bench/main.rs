//! Runs the measurements and writes `docs/reference/benchmarks.md`. `cargo xtask bench` builds the
//! binaries and starts this program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be made stops"
)]

mod checkout;
mod context;
mod diffs;
mod gh;
mod github;
mod hub;
mod mcp;
mod measure;
mod page;
mod pulls;
#[path = "../../crates/forge-tangled/tests/it/stage.rs"]
mod stage;
mod start;
mod tangled;

use std::{fs, path::PathBuf, process::ExitCode};

use forge_testkit::git_program;

use crate::page::Page;

fn main() -> ExitCode {
    // `cargo xtask bench --busy` runs only the measurement that needs a quiet machine for a minute.
    if std::env::args().any(|arg| arg == "busy") {
        let mut page = Page::new(&[git_program()], "not used");
        page.table("MCP server", "Many clients at once.", &["What", "Measured"]);
        mcp::busy(&mut page);
        let (text, holds) = page.finish();
        print!("{text}");
        return exit_code(holds);
    }
    let Some(out) = std::env::var_os("FORGE_BENCH_OUT").map(PathBuf::from) else {
        eprintln!("run `cargo xtask bench`");
        return ExitCode::FAILURE;
    };
    let gh = std::env::var_os("FORGE_GH")
        .map(PathBuf::from)
        .expect("FORGE_GH");
    let older = std::env::var_os("FORGE_BENCH_OLDER_GIT").map(PathBuf::from);
    let gits: Vec<_> = std::iter::once(git_program()).chain(older).collect();
    let mut page = Page::new(&gits, &gh::version(&gh));
    start::measure(&mut page, &gh);
    github::measure(&mut page, &gh);
    context::measure(&mut page, &gh);
    mcp::measure(&mut page);
    pulls::measure(&mut page, &gits);
    checkout::measure(&mut page, &gits);
    diffs::measure(&mut page, &gits);
    tangled::measure(&mut page);
    let (text, holds) = page.finish();
    print!("{text}");
    fs::write(&out, text).expect("docs/reference/benchmarks.md");
    exit_code(holds)
}

fn exit_code(holds: bool) -> ExitCode {
    match holds {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
