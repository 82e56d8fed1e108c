//! Arguments shared by several commands; a command's own arguments are next to its code.
//!
//! These clap structs do no I/O and read no environment variable. No default depends on a
//! repository.

mod color;
mod named;
pub mod output;
pub mod wait;

use clap::Args;
use forge_core::{Error, Result};

pub use color::{ColorArg, ColorWhen};
pub use named::CommandNames;

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// When to use colour: auto, always or never
    #[arg(long, global = true, value_name = "when", value_parser = ColorArg::when_parser(), default_value = "auto", hide_possible_values = true, hide_default_value = true)]
    pub color: ColorArg,
    /// Log each request to the forge and its duration to stderr
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Returns the repository of `-R` for a command that takes only one.
///
/// # Errors
///
/// `invalid_input` for two different repositories, because the user probably made a mistake. (gh
/// silently uses the last one.)
pub fn single_repo(repos: &[String]) -> Result<Option<&str>> {
    let Some((last, others)) = repos.split_last() else {
        return Ok(None);
    };
    match others.iter().find(|other| *other != last) {
        None => Ok(Some(last.as_str())),
        Some(other) => Err(Error::invalid(
            "repo",
            format!("-R is given twice: '{other}' and '{last}'"),
        )
        .with_hint("name one repository with -R, and run the command once for each")),
    }
}
