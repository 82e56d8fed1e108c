use clap::{Args, Subcommand};

use super::{color::ColorArg, output::JsonArgs, pr::WaitArgs};

/// `forge label`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct LabelArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path, or local:.
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Option<String>,
    /// The command.
    #[command(subcommand)]
    pub command: LabelCommand,
}

/// The commands on labels.
#[derive(Debug, Subcommand)]
pub enum LabelCommand {
    /// List the labels
    #[command(alias = "ls")]
    List(LabelListArgs),
    /// Define a label
    Create(LabelCreateArgs),
    /// Delete a label; pull requests lose it
    Delete(LabelDeleteArgs),
}

impl LabelCommand {
    /// The flags that say how long to wait; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Create(args) => Some(&args.wait),
            Self::Delete(args) => Some(&args.wait),
            Self::List(_) => None,
        }
    }
}

/// `forge label list`
#[derive(Args, Debug)]
pub struct LabelListArgs {
    /// At most so many
    #[arg(short = 'L', long, value_name = "number", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Those with this text in name or description
    #[arg(short = 'S', long, value_name = "text")]
    pub search: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge label create`
#[derive(Args, Debug)]
pub struct LabelCreateArgs {
    /// Its name
    pub name: String,
    /// Six hexadecimal digits, with or without '#'
    #[arg(short, long, value_name = "color", value_parser = ColorArg::label_parser())]
    pub color: Option<ColorArg>,
    /// What it is for
    #[arg(short, long, value_name = "text")]
    pub description: Option<String>,
    /// Change the label where it exists
    #[arg(short, long)]
    pub force: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge label delete`
#[derive(Args, Debug)]
pub struct LabelDeleteArgs {
    /// Its name
    pub name: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}
