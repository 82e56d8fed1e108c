//! `cargo xtask bench`: builds the programs and runs the measurements of `tests/bench`.

use anyhow::Result;

use crate::{
    cargo::{cargo, root, watched},
    gh, git,
};

/// The measurements to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchExtent {
    /// Everything, for `docs/reference/benchmarks.md`.
    All,
    /// Only many concurrent clients of the MCP server. The result is only printed.
    Busy,
}

/// Builds the program and measures it.
pub fn run(extent: BenchExtent) -> Result<bool> {
    let (built, _) = watched(&mut cargo(&[
        "build",
        "--release",
        "--locked",
        "-p",
        "forge-cli",
    ]))?;
    if !built {
        return Ok(false);
    }
    let target = root().join("target");
    let mut bench = cargo(&[
        "bench",
        "--locked",
        "-p",
        "forge-tests",
        "--bench",
        "figures",
    ]);
    bench.env("FORGE_BIN", target.join("release").join("forge"));
    if extent == BenchExtent::Busy {
        let (ok, _) = watched(bench.args(["--", "busy"]))?;
        return Ok(ok);
    }
    bench
        .env(
            "FORGE_BENCH_OUT",
            root().join("docs/reference/benchmarks.md"),
        )
        .env("FORGE_GH", gh::find()?);
    if let Some(older) = git::current().and_then(|current| git::find_oldest_git(&current)) {
        bench.env("FORGE_BENCH_OLDER_GIT", older.program);
    }
    let (ok, _) = watched(&mut bench)?;
    Ok(ok)
}
