//! `cargo xtask bench`: builds the programs and runs the measurements of `tests/bench`.

use anyhow::Result;

use crate::{
    cargo::{cargo, root, watched},
    gh, git,
};

/// Measures, and writes `docs/reference/benchmarks.md`.
pub fn run() -> Result<bool> {
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
    bench
        .env("FORGE_BIN", target.join("release").join("forge"))
        .env(
            "FORGE_BENCH_OUT",
            root().join("docs/reference/benchmarks.md"),
        )
        .env("FORGE_GH", gh::find()?);
    if let Some(older) = git::current().and_then(|current| git::older(&current)) {
        bench.env("FORGE_BENCH_OLDER_GIT", older.program);
    }
    let (ok, _) = watched(&mut bench)?;
    Ok(ok)
}
