//! What can be typed: clap structs and nothing else. No I/O, no environment, no defaults that
//! depend on a repository.

pub(crate) mod auth;
mod capabilities;
mod color;
mod completion;
pub(crate) mod config;
mod demo;
pub mod issue;
pub(crate) mod label;
pub mod mcp;
pub mod output;
pub mod pr;
mod tangled;

use std::time::Duration;

use clap::{Args, Parser, Subcommand};

pub use auth::AuthArgs;
pub use capabilities::CapabilitiesArgs;
pub use color::{ColorArg, ColorChoice};
pub use completion::CompletionArgs;
pub use config::ConfigArgs;
pub use demo::DemoArgs;
pub use label::LabelArgs;
pub use mcp::McpArgs;
pub use tangled::{IngestionArgs, TangledArgs, TangledCommand};

/// Pull requests on GitHub, on tangled, and inside plain git repositories.
#[derive(Debug, Parser)]
#[command(
    name = "forge",
    version,
    propagate_version = false,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// When to use colour; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are honoured
    #[arg(long, global = true, value_name = "when", value_parser = ColorArg::when_parser(), default_value = "auto")]
    pub color: ColorArg,
    /// Say on stderr what is asked of the forge, and how long it took
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Work with pull requests
    Pr(pr::PrArgs),
    /// Work with issues
    Issue(issue::IssueArgs),
    /// Work with the labels of a repository
    Label(LabelArgs),
    /// Work with the records of tangled
    Tangled(TangledArgs),
    /// Show what a repository's forge can do
    Capabilities(CapabilitiesArgs),
    /// Log in to a host and out of it
    Auth(AuthArgs),
    /// Read, set and check the configuration
    Config(ConfigArgs),
    /// Serve pull requests to agents over MCP
    Mcp(McpArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
    /// See a pull request live and merge, in a repository made for it
    Demo(DemoArgs),
}

impl Command {
    /// How long its writes wait for an index to show them, where the command line says so.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Pr(args) => args.command.wait()?.duration(),
            Self::Issue(args) => args.command.wait()?.duration(),
            Self::Tangled(args) => match &args.command {
                TangledCommand::Ingestion(args) => args.wait.duration(),
            },
            _ => None,
        }
    }
}
