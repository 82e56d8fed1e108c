//! The `forge` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    forge_cli::main()
}
