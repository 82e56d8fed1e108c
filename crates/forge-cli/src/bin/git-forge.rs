//! `forge` under the name that git looks for: `git forge …`.

use std::process::ExitCode;

fn main() -> ExitCode {
    forge_cli::main()
}
