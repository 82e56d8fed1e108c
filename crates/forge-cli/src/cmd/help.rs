//! `forge help`.

use clap::{Args, error::ErrorKind};
use forge::config::Var;
use forge_core::{Error, Result};

use crate::{ctx::Ctx, docs, exit::Exit, ui::markdown};

/// `forge help`
#[derive(Args, Debug)]
pub struct HelpArgs {
    /// The command, such as "pr create", or a topic: environment, exit-codes, formatting, reference
    #[arg(value_name = "command")]
    pub command: Vec<String>,
}

/// Prints the help text of a command, or the text of a topic, as `gh help` does.
///
/// # Errors
///
/// `invalid_input` (field `command`) for an unknown command.
pub fn run(ctx: &Ctx, args: &HelpArgs) -> Result<Exit> {
    if let [name] = args.command.as_slice()
        && let Some(text) = topic(name)
    {
        let text = match ctx.ui.is_tty() {
            true => markdown::render(&text, ctx.ui.width(), ctx.ui.palette()),
            false => text,
        };
        ctx.ui.page(&text)?;
        return Ok(Exit::Ok);
    }
    let words = args.command.iter().flat_map(|words| words.split(' '));
    let asked = ["forge"].into_iter().chain(words).chain(["--help"]);
    let definition = ctx.ui.named().definition.clone();
    let help = match definition.try_get_matches_from(asked) {
        Err(e) if e.kind() == ErrorKind::DisplayHelp => e.render(),
        _ => {
            let typed = args.command.join(" ");
            return Err(
                Error::invalid("command", format!("there is no command '{typed}'"))
                    .with_hint("list the commands and topics: forge help"),
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

/// Returns the Markdown of a topic.
fn topic(name: &str) -> Option<String> {
    let output = docs::notes_below("## Output and exit codes");
    match name {
        "environment" => {
            let line = |var: &Var| format!("- `{}`: {}\n", var.name(), var.doc());
            Some(Var::ALL.iter().map(line).collect())
        }
        "exit-codes" => Some(format!("{output}\n")),
        "formatting" => {
            let json = docs::notes_below("### JSON, templates and text");
            Some(format!("{output}\n\n{json}\n"))
        }
        "reference" => Some(docs::cli_docs()),
        _ => None,
    }
}
