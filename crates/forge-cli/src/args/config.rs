use clap::{Args, Subcommand};

use super::output::JsonArgs;

/// `forge config`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ConfigArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The commands on the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the value of a key, alone
    Get(ConfigGetArgs),
    /// Set a key, in your config.toml or in the repository's .forge.toml
    Set(ConfigSetArgs),
    /// Take a key out of a file
    Unset(ConfigUnsetArgs),
    /// Show every key, its value, and where that comes from
    #[command(alias = "ls")]
    List(ConfigListArgs),
    /// Name every problem in the files, with line and column
    Validate,
}

/// `forge config get`
#[derive(Args, Debug)]
pub struct ConfigGetArgs {
    /// The key, such as merge.method or hosts.git.example.org.kind
    pub key: String,
}

/// `forge config set`
#[derive(Args, Debug)]
pub struct ConfigSetArgs {
    /// The key, such as merge.method or hosts.git.example.org.kind
    pub key: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// Write the repository's .forge.toml
    #[arg(long)]
    pub repo: bool,
}

/// `forge config unset`
#[derive(Args, Debug)]
pub struct ConfigUnsetArgs {
    /// The key
    pub key: String,
    /// Change the repository's .forge.toml
    #[arg(long)]
    pub repo: bool,
}

/// `forge config list`
#[derive(Args, Debug)]
pub struct ConfigListArgs {
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
