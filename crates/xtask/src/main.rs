//! The commands of this workspace: `cargo xtask test | api | docs | picture | bench | dist`.

mod api;
mod atproto;
mod bench;
mod cargo;
mod chromium;
mod count;
mod dist;
mod docs;
mod gh;
mod git;
mod jira;
mod mcp;
mod myworld;
mod picture;
mod python;
mod quick;
mod tang;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

commands:
  test             run every lane of tests
  test --quick     run the tests of the crates that have changed, in a few minutes
  test --mcp       run the MCP server with the programs of others alone
  test --adversary run 10,000 cases of lying servers and clients alone, for half an hour
  api [--update]   compare the public API with docs/reference/api/; --update writes it
  docs             write the generated pages of docs/
  picture          draw a session of the demo, as docs/demo.svg
  bench            measure, and write docs/reference/benchmarks.md
  bench --busy     measure 64 clients of the MCP server at once, and print it
  dist             build the archive to install, for this kind of machine
";

fn main() -> ExitCode {
    if let Some(rustdoc) = std::env::var_os(api::RUSTDOC) {
        return api::run_rustdoc(&rustdoc);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run(),
        ["test", "--quick"] => test::run_quick(),
        ["test", "--mcp"] => test::run_mcp(),
        ["test", "--adversary"] => test::run_adversary(),
        ["api"] => api::run(),
        ["api", "--update"] => api::update(),
        ["docs"] => docs::run(),
        ["picture"] => picture::run(),
        ["bench"] => bench::run(bench::BenchExtent::All),
        ["bench", "--busy"] => bench::run(bench::BenchExtent::Busy),
        ["dist"] => dist::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}
