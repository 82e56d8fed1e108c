//! `cargo xtask test`: runs every lane from one build and adds up the results.

use std::{
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread::{self, available_parallelism},
    time::Instant,
};

use anyhow::{Context, Result, anyhow};

use crate::{
    api, atproto,
    cargo::{cargo, has, in_ci, root, watched},
    chromium,
    count::{Count, failed_tests},
    gh, git, jira, mcp, myworld, quick, tang,
};

/// A word in every test token. No output may contain this word.
const CANARY: &str = include_str!("../../forge-testkit/src/canary.txt");

/// The results of the lanes that have run.
#[derive(Debug, Default)]
struct TestReport {
    count: Count,
    broken: Vec<String>,
    left_out: Vec<String>,
    seconds: Vec<(String, u64)>,
}

impl TestReport {
    /// Runs one lane, and adds its [`Count::of`] to the report.
    fn lane(&mut self, name: &str, mut command: Command) -> Result<()> {
        println!("\n== {name}");
        // nextest stores the output of passing tests in this file instead of printing it.
        let kept = root().join("target/nextest/default/junit.xml");
        let _ = fs::remove_file(&kept);
        let begun = Instant::now();
        let (ok, output) = watched(&mut command)?;
        let seconds = begun.elapsed().as_secs();
        self.seconds.push((name.to_owned(), seconds));
        let hidden = fs::read(&kept).unwrap_or_default();
        let hidden = String::from_utf8_lossy(&hidden);
        if ok && hidden.is_empty() && command.get_args().next().is_some_and(|a| a == "nextest") {
            self.broken.push(format!(
                "{name} (nextest has not stored the output of the tests)"
            ));
            self.count.failed += 1;
        }
        let count = Count::of(ok, &output);
        if count.failed > 0 {
            self.broken.push(name.to_owned());
            let tests = failed_tests(&output).into_iter();
            self.broken
                .extend(tests.map(|test| format!("{name}: {test}")));
        }
        self.count += count;
        self.search(name, &[output.as_str(), &*hidden]);
        Ok(())
    }

    /// Fails a lane whose output contains a test token.
    fn search(&mut self, name: &str, printed: &[impl AsRef<str>]) {
        if printed.iter().any(|text| text.as_ref().contains(CANARY)) {
            self.broken
                .push(format!("{name} (its output holds a token of a test)"));
            self.count.failed += 1;
        }
    }

    /// Counts a lane that reports no tests as one test, which passes if the exit status is 0.
    /// Prints the lane's stderr.
    fn record_output(&mut self, name: &str, output: &Output) {
        println!("\n== {name}");
        let said = String::from_utf8_lossy(&output.stderr);
        print!("{said}");
        self.search(name, &[String::from_utf8_lossy(&output.stdout), said]);
        if output.status.success() {
            self.count.passed += 1;
        } else {
            self.count.failed += 1;
            self.broken.push(name.to_owned());
        }
    }

    /// Checks the format of all files with rustfmt, as one test.
    fn format(&mut self) -> Result<()> {
        let name = "format";
        if !has(&["fmt", "--version"]) {
            self.lacks(name, "no rustfmt");
            return Ok(());
        }
        println!("== {name}");
        let (formatted, _) = watched(&mut cargo(&["fmt", "--all", "--check"]))?;
        if formatted {
            self.count.passed += 1;
        } else {
            self.count.failed += 1;
            self.broken.push(format!("{name}: run `cargo fmt`"));
        }
        Ok(())
    }

    /// Builds everything; `false` if that fails. One build gives program and tests the same features,
    /// so that nothing is compiled twice.
    fn build(&mut self) -> Result<bool> {
        println!("== build");
        let begun = Instant::now();
        let (built, _) = watched(&mut cargo(&BUILD))?;
        let seconds = begun.elapsed().as_secs();
        self.seconds.push(("build".to_owned(), seconds));
        if !built {
            self.broken.push("build".into());
            self.count.failed += 1;
        }
        Ok(built)
    }

    /// Tests the MCP server with independent programs.
    fn mcp_peers(&mut self, peers: Result<mcp::McpPeers>) {
        let name = "peers of the MCP server";
        let peers = match peers {
            Ok(peers) => peers,
            Err(why) => return self.lacks(name, &format!("{why:#}")),
        };
        println!("\n== {name}");
        let ran = peers.run(|which, passed| {
            if passed {
                self.count.passed += 1;
            } else {
                self.count.failed += 1;
                self.broken.push(format!("{name}: {which}"));
            }
        });
        match ran {
            Ok(printed) => self.search(name, &[printed]),
            Err(why) => {
                self.count.failed += 1;
                self.broken.push(format!("{name}: {why:#}"));
            }
        }
    }

    /// Compares the public API of the library with its snapshots.
    fn public_api(&mut self, program: &Path) {
        let name = "public API";
        if !in_ci() {
            return self.skip(name, "only in CI, or with `cargo xtask api`");
        }
        println!("\n== {name}");
        let begun = Instant::now();
        match api::compare(program) {
            Ok(compared) => {
                for (library, current) in compared {
                    if current {
                        self.count.passed += 1;
                    } else {
                        self.count.failed += 1;
                        self.broken.push(format!(
                            "{name}: {library} has changed: run `cargo xtask api --update`"
                        ));
                    }
                }
            }
            Err(why) => {
                self.count.failed += 1;
                self.broken.push(format!("{name}: {why:#}"));
            }
        }
        let seconds = begun.elapsed().as_secs();
        self.seconds.push((name.to_owned(), seconds));
    }

    fn skip(&mut self, name: &str, why: &str) {
        self.left_out.push(format!("{name}: {why}"));
    }

    /// Skips a lane because this machine lacks a program. In CI this is a failure.
    fn lacks(&mut self, name: &str, what: &str) {
        if in_ci() {
            self.broken.push(format!("{name} ({what})"));
            self.count.failed += 1;
        } else {
            self.skip(name, what);
        }
    }

    fn print(&self) {
        println!();
        for (name, seconds) in &self.seconds {
            println!("{seconds:>5} s  {name}");
        }
        for name in &self.broken {
            println!("failed: {name}");
        }
        for left in &self.left_out {
            println!("left out: {left}");
        }
        println!("{} passed, {} failed", self.count.passed, self.count.failed);
    }
}

/// The independent programs for later lanes. They are installed while the tests run, because the
/// tests mostly wait.
struct Peers {
    gh: Result<PathBuf>,
    myworld: Result<PathBuf>,
    jira: Result<PathBuf>,
    world: Result<PathBuf>,
    mcp: Result<mcp::McpPeers>,
}

impl Peers {
    fn find() -> Self {
        Self {
            gh: gh::find(),
            myworld: myworld::find(),
            jira: jira::find(),
            world: atproto::find(),
            mcp: mcp::McpPeers::find(),
        }
    }
}

/// The cargo builds and checks for later lanes, which run beside the tests.
struct Compiled {
    tang: Result<PathBuf>,
    alone: Vec<(&'static str, Result<Output>)>,
}

impl Compiled {
    fn run() -> Self {
        // tang is built first, because it has its own target directory. A check locks our target
        // directory, and would delay the start of the tests.
        let tang = tang::find();
        let checked = |&backend| {
            let output = alone(backend).output();
            (backend, output.context("there is no cargo"))
        };
        Self {
            tang,
            alone: BACKENDS.iter().map(checked).collect(),
        }
    }
}

/// Runs all lanes; `false` if anything failed.
pub fn run() -> Result<bool> {
    let mut report = TestReport::default();
    let nextest = has(&["nextest", "--version"]);
    let program = api::program()?;
    report.format()?;
    if !report.build()? {
        report.print();
        return Ok(false);
    }
    if !nextest {
        report.skip(
            "a search for tokens in the output of passing tests",
            "no nextest",
        );
    }
    let peers_found = thread::spawn(Peers::find);
    let compiled = thread::spawn(Compiled::run);
    report.lane("tests", tests(nextest))?;
    let current = git::current().context("there is no git")?;
    report.lane(
        &format!("behaviour on git {}", current.version),
        behaviour(),
    )?;
    let panicked = || anyhow!("a thread that runs beside the tests has panicked");
    let found = peers_found.join().map_err(|_| panicked())?;
    let compiled = compiled.join().map_err(|_| panicked())?;
    for (backend, checked) in compiled.alone {
        report.record_output(&format!("the program with {backend} alone"), &checked?);
    }
    if !Path::new("/proc/self/status").exists() {
        report.lacks("stress: memory while large diffs stream", "no /proc");
    }
    match git::find_oldest_git(&current) {
        Some(older) => {
            let name = format!(
                "behaviour on git {} (the other lanes: {})",
                older.version, current.version
            );
            let mut command = behaviour();
            command.env("FORGE_GIT", &older.program);
            report.lane(&name, command)?;
        }
        // No extra lane is needed, because all lanes have already run with an old git.
        None if current.is_old() => {}
        None => report.lacks(
            "behaviour on an older git",
            &format!("{} is the only git here", current.version),
        ),
    }
    // With this variable, a test fails instead of passing if it does not find the client.
    let with_mcp_client = |mut command: Command| {
        if let Ok(peers) = &found.mcp {
            command
                .env("FORGE_MCP_PYTHON", peers.python())
                .env("FORGE_REQUIRE_MCP_PYTHON", "1");
        }
        command
    };
    match found.gh {
        Ok(program) => {
            let mut command = with_mcp_client(peers(nextest, &GH));
            command
                .env("FORGE_GH", program)
                .env("FORGE_REQUIRE_GH", "1");
            match found.myworld {
                Ok(program) => {
                    command.env("FORGE_MYWORLD", program);
                }
                Err(why) => report.lacks(
                    "peers: the second opinion",
                    &format!("no myworld {}: {why:#}", myworld::VERSION),
                ),
            }
            match found.jira {
                Ok(python) => {
                    command.env("FORGE_JIRA_PYTHON", python);
                }
                Err(why) => report.lacks(
                    "peers: a client of JIRA",
                    &format!("no jira {} of PyPI: {why:#}", jira::VERSION),
                ),
            }
            report.lane(&format!("peers: gh {}", gh::VERSION), command)?;
        }
        Err(why) => report.lacks("peers", &format!("no gh {}: {why:#}", gh::VERSION)),
    }
    let world = found.world;
    let with_pds = |mut command: Command| {
        if let Ok(dir) = &world {
            command
                .env("FORGE_ATPROTO_WORLD", dir)
                .env("FORGE_REQUIRE_ATPROTO_WORLD", "1");
        }
        command
    };
    match &world {
        Ok(_) => {
            let command = with_mcp_client(with_pds(peers(nextest, &ATPROTO)));
            report.lane("peers: a PDS", command)?;
            // With cargo, all trials run in one process with one PDS; nextest would start a PDS for
            // each trial.
            let command = with_pds(peers(false, &BEHAVIOUR_PDS));
            report.lane("peers: the behaviour suite on a PDS", command)?;
        }
        Err(why) => report.lacks("peers: a PDS", &format!("{why:#}")),
    }
    match compiled.tang {
        Ok(program) => {
            let mut command = with_pds(peers(nextest, &TANG));
            command
                .env("FORGE_TANG", program)
                .env("FORGE_REQUIRE_TANG", "1");
            report.lane(&format!("peers: tang {}", tang::VERSION), command)?;
        }
        Err(why) => report.lacks(
            "peers: tang",
            &format!("no tang {}: {why:#}", tang::VERSION),
        ),
    }
    match chromium::find() {
        Ok(program) => {
            let mut command = peers(nextest, &BROWSER);
            command
                .env("FORGE_CHROMIUM", program)
                .env("FORGE_REQUIRE_CHROMIUM", "1");
            report.lane("the page of pr context in Chromium", command)?;
        }
        Err(why) => report.lacks("the page of pr context in Chromium", &format!("{why:#}")),
    }
    report.mcp_peers(found.mcp);
    report.lane(
        "doc tests",
        cargo(&["test", "--workspace", "--locked", "--doc"]),
    )?;
    report.public_api(&program);
    report.print();
    Ok(report.count.failed == 0)
}

/// Runs only the lane of the MCP server's peers, for work on that server.
pub fn run_mcp() -> Result<bool> {
    let mut report = TestReport::default();
    report.mcp_peers(mcp::McpPeers::find());
    report.print();
    Ok(report.count.failed == 0)
}

/// Runs only the tests that a change of a few crates is likely to break; see [`quick`].
pub fn run_quick() -> Result<bool> {
    let mut report = TestReport::default();
    report.format()?;
    if report.build()? {
        if has(&["nextest", "--version"]) {
            let selected = quick::filter(&quick::changed_folders()?);
            report.lane("tests of what has changed", nextest_of(&selected))?;
        } else {
            let unit = ["--lib", "--bins", "--test", "guard"];
            report.lane("unit tests and guards", cargo(&[&TEST[..], &unit].concat()))?;
            report.skip("suites of what has changed", "no nextest");
        }
        report.skip("all other tests", "--quick");
    }
    report.print();
    Ok(report.count.failed == 0)
}

/// Runs only the adversary suite: hostile repositories, servers and clients. It has 10,000
/// generated cases instead of 300, and takes half an hour. Then runs 20,000 mutated patches.
pub fn run_adversary() -> Result<bool> {
    let mut report = TestReport::default();
    // The cases run the program, but the lane itself builds only tests.
    let (built, _) = watched(&mut cargo(&BUILD))?;
    anyhow::ensure!(built, "the build failed");
    let mut lane = peers(has(&["nextest", "--version"]), &["adversary"]);
    lane.env("FORGE_ADVERSARY_CASES", "10000");
    report.lane("adversary, 10,000 cases", lane)?;
    let mut lane = cargo(&[
        "test",
        "--locked",
        "--package=forge-tangled",
        "--lib",
        "patch_form",
    ]);
    lane.env("FORGE_ADVERSARY_CASES", "20000");
    report.lane("mutated patches, 20,000 cases", lane)?;
    report.print();
    Ok(report.count.failed == 0)
}

const BUILD: [&str; 4] = ["build", "--workspace", "--all-targets", "--locked"];

/// The features of the library, one for each backend.
const BACKENDS: [&str; 3] = ["github", "local", "tangled"];

/// Returns the command that checks the program with one backend and without the MCP server. Nothing
/// is built, because no other lane uses the result.
fn alone(backend: &str) -> Command {
    let program = ["check", "--locked", "--package", "forge-cli", "--bin=forge"];
    cargo(
        &[
            &program[..],
            &["--no-default-features", "--features", backend],
        ]
        .concat(),
    )
}

/// The tests that run the real gh.
const GH: [&str; 2] = ["peers", "gh_on_double"];

/// The tests that run a real PDS.
const ATPROTO: [&str; 1] = ["atproto"];

/// The tests that run the real tang.
const TANG: [&str; 1] = ["tang"];

/// The tests that open pages in Chromium.
const BROWSER: [&str; 1] = ["browser"];

/// The behaviour suite on a real PDS.
const BEHAVIOUR_PDS: [&str; 1] = ["behaviour_pds"];

/// The behaviour suite on our own doubles and on git.
const BEHAVIOUR: [&str; 1] = ["behaviour"];

/// The other targets with tests outside of the sources.
const TARGETS: [&str; 9] = [
    "adversary",
    "cli",
    "guard",
    "it",
    "github_http",
    "tangled",
    "mcp",
    "recorded",
    "stress",
];

/// Returns the command for all tests except doc tests, the behaviour suite and tests that need
/// another program. nextest runs the tests of all binaries in parallel; cargo runs one binary after
/// another.
fn tests(nextest: bool) -> Command {
    if nextest {
        let left_out: Vec<&str> = [
            &GH[..],
            &ATPROTO,
            &BEHAVIOUR_PDS,
            &TANG,
            &BROWSER,
            &BEHAVIOUR,
        ]
        .concat();
        let left_out: Vec<String> = left_out.iter().map(|b| format!("binary({b})")).collect();
        let filter = format!("not ({})", left_out.join(" or "));
        return nextest_of(&filter);
    }
    // `cargo test` can only select tests by target, and any selection omits doc tests.
    let mut args = [&TEST[..], &["--lib", "--bins"]].concat();
    for target in TARGETS {
        args.extend(["--test", target]);
    }
    cargo(&args)
}

/// Returns the command for the tests of some targets that run another program.
fn peers(nextest: bool, targets: &[&str]) -> Command {
    if nextest {
        let filter: Vec<String> = targets.iter().map(|b| format!("binary({b})")).collect();
        return nextest_of(&filter.join(" or "));
    }
    let mut args = TEST.to_vec();
    targets
        .iter()
        .for_each(|target| args.extend(["--test", target]));
    cargo(&args)
}

const NEXTEST: [&str; 5] = [
    "nextest",
    "run",
    "--workspace",
    "--locked",
    "--no-fail-fast",
];
const TEST: [&str; 4] = ["test", "--workspace", "--locked", "--no-fail-fast"];

/// Returns the command for the tests of a filter. Uses three times as many threads as processors,
/// because most tests wait for other processes: with twice as many, the processors are idle for a
/// quarter of the time.
fn nextest_of(filter: &str) -> Command {
    let processors = available_parallelism().map_or(2, NonZero::get);
    let threads = (processors * 3).to_string();
    cargo(&[&NEXTEST[..], &["--test-threads", &threads, "-E", filter]].concat())
}

/// Returns the command for the behaviour suite in one process. nextest would start a process for
/// each trial, which takes longer than the trial.
fn behaviour() -> Command {
    peers(false, &BEHAVIOUR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_printing_token_counts_as_failed() {
        let say = |text: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "echo $T"]).env("T", text);
            shell.output().unwrap()
        };
        let mut report = TestReport::default();
        report.record_output("one", &say("nothing"));
        assert_eq!((report.count.passed, report.count.failed), (1, 0));
        report.record_output("two", &say(&format!("gho_{CANARY}")));
        assert_eq!(report.count.failed, 1);
        assert_eq!(report.broken, ["two (its output holds a token of a test)"]);
    }
}
