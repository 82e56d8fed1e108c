//! `forge help`.

use clap::{Args, error::ErrorKind};
use forge_core::{Error, Result};

use crate::{ctx::Ctx, exit::Exit};

/// `forge help`
#[derive(Args, Debug)]
pub struct HelpArgs {
    /// The command, such as "pr create"
    #[arg(value_name = "command")]
    pub command: Vec<String>,
}

/// Prints the same as `--help` of the command.
///
/// # Errors
///
/// `invalid_input` (field `command`) for an unknown command.
pub fn run(ctx: &Ctx, args: &HelpArgs) -> Result<Exit> {
    let words = args.command.iter().flat_map(|words| words.split(' '));
    let asked = ["forge"].into_iter().chain(words).chain(["--help"]);
    let definition = ctx.ui.named().definition.clone();
    let help = match definition.try_get_matches_from(asked) {
        Err(e) if e.kind() == ErrorKind::DisplayHelp => e.render(),
        _ => {
            let typed = args.command.join(" ");
            return Err(
                Error::invalid("command", format!("there is no command '{typed}'"))
                    .with_hint("list the commands with `forge help`"),
            );
        }
    };
    let text = match ctx.ui.palette().on {
        true => help.ansi().to_string(),
        false => help.to_string(),
    };
    ctx.ui.page(&text)?;
    Ok(Exit::Ok)
}
