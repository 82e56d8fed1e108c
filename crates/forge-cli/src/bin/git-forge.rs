//! The `forge` program under the name that makes `git forge …` work.

use std::process::ExitCode;

fn main() -> ExitCode {
    forge_cli::main()
}
