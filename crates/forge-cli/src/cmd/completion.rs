//! `forge completion`: the script that completes commands and flags in a shell.

use clap::CommandFactory as _;
use forge_core::Result;

use crate::ctx::Ctx;
use crate::{
    args::{Cli, CompletionArgs},
    exit::Exit,
};

/// Prints it.
///
/// # Errors
/// When stdout cannot be written.
pub async fn run(ctx: &Ctx, args: &CompletionArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "forge", &mut script);
    ctx.ui.write(&script)?;
    Ok(Exit::Ok)
}
