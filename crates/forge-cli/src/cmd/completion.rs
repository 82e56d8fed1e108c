//! `forge completion`: the script that completes commands and flags in a shell.

use clap::Args;
use clap_complete::Shell;
use forge_core::Result;

use crate::{ctx::Ctx, exit::Exit};

/// `forge completion`
#[derive(Args, Debug)]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints it.
///
/// # Errors
/// When stdout cannot be written.
pub async fn run(ctx: &Ctx, args: &CompletionArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut ctx.ui.named().definition.clone(),
        "forge",
        &mut script,
    );
    ctx.ui.write(&script)?;
    Ok(Exit::Ok)
}
