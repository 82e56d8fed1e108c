//! Arguments shared by several commands: clap structs only, without I/O, environment or defaults
//! that depend on a repository. A command's own arguments are next to its code.

mod color;
mod named;
pub mod output;
pub mod wait;

use clap::Args;

pub use color::{ColorArg, ColorWhen};
pub use named::CommandNames;

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// When to use colour: auto, always or never; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are honoured
    #[arg(long, global = true, value_name = "when", value_parser = ColorArg::when_parser(), default_value = "auto", hide_possible_values = true, hide_default_value = true)]
    pub color: ColorArg,
    /// Log each request to the forge and its duration to stderr
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}
