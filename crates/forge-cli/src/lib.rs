//! The `forge` command line: arguments, commands and their output.
//!
//! Control flow of a command: `cli` parses the arguments (no I/O), [`cmd`] runs the command with
//! `ctx::Ctx`, and only `ui` writes to a terminal or a pipe.

pub mod args;
mod cli;
pub mod cmd;
mod context_docs;
mod ctx;
mod docs;
pub mod exit;
mod gh_habits;
mod select;
mod signals;
pub mod ui;

use std::{io::Write as _, process::ExitCode, time::Duration};

use clap::error::ErrorKind;
use forge_core::text;

use crate::{args::GlobalArgs, cli::Cli, cmd::RootCommand, ctx::Ctx, exit::Exit, ui::Ui};

pub use context_docs::context_docs;
pub use docs::{cli_docs, definition};

/// How long the process waits for running threads after a command.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the program with the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    // `--version` and `--help` are printed here, before any other work.
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(e) => return usage(e),
    };
    let ui = Ui::from_env(cli.global.color.when(), cli.named);
    let result = run(cli.global, cli.command, ui.clone());
    signals::wait_for_end();
    match result {
        Ok(exit) => exit.into(),
        Err(e) => exit::report(&ui, &e).into(),
    }
}

fn run(global: GlobalArgs, command: RootCommand, ui: Ui) -> forge_core::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ui::io_error)?;
    signals::end_on_signals();
    let ctx = Ctx::new(ui, global)?.waiting(command.wait());
    let exit = runtime.block_on(forge_core::call::command(cmd::run(&ctx, command)));
    // If the command failed, its error takes precedence over an error of printing.
    let printed = ctx.ui.flush();
    drop(ctx);
    // The wait is limited, because a thread may block while it writes to an output that nobody
    // reads.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    exit.and_then(|exit| printed.map(|()| exit))
}

/// Prints help, version or a usage error.
/// - Help and version go to stdout, with exit code 0. A command group without a subcommand also
///   prints help.
/// - A usage error goes to stderr, with gh's exit code 1 (clap's is 2).
fn usage(e: clap::Error) -> ExitCode {
    if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(std::io::stdout(), "{}", e.render());
        return Exit::Ok.into();
    }
    // Write errors are ignored, because a closed output is not a failure.
    if e.use_stderr() {
        // The message repeats the arguments. Because these may contain text from other people,
        // control characters are made harmless.
        let advice = gh_habits::advice(&e);
        let mut said = gh_habits::without_odd_tips(e, advice).render().to_string();
        if let Some(advice) = advice {
            said.push_str(&format!("Recovery: {advice}\n"));
        }
        let _ = write!(std::io::stderr(), "{}", text::neutralise(&said));
        Exit::Failure.into()
    } else {
        let _ = e.print();
        Exit::Ok.into()
    }
}
