//! The same program as `forge`, under the name by which git finds it: `git forge …`.

use std::process::ExitCode;

fn main() -> ExitCode {
    forge_cli::main()
}
