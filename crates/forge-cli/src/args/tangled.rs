use clap::{Args, Subcommand};

use super::{output::JsonArgs, pr::WaitArgs};

/// `forge tangled`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct TangledArgs {
    /// The command.
    #[command(subcommand)]
    pub command: TangledCommand,
}

/// The commands on the records of tangled.
#[derive(Debug, Subcommand)]
pub enum TangledCommand {
    /// Look where a record is, who shows it, and why not
    Ingestion(IngestionArgs),
}

/// `forge tangled ingestion`
#[derive(Args, Debug)]
pub struct IngestionArgs {
    /// The record: at://ACCOUNT/COLLECTION/KEY
    #[arg(value_name = "at-uri")]
    pub uri: String,
    /// Write it once more, changed in a way that means nothing, so that an index that has lost it
    /// looks at it again
    #[arg(long)]
    pub put_again: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
