use clap::{Args, Subcommand};

use super::WaitArgs;
use crate::args::output::{BodyArgs, JsonArgs};

/// `forge pr thread`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ThreadArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ThreadCommand,
}

/// The commands on review threads.
#[derive(Debug, Subcommand)]
pub enum ThreadCommand {
    /// List the threads of a pull request
    #[command(alias = "ls")]
    List(ThreadListArgs),
    /// Resolve threads
    Resolve(ThreadResolveArgs),
    /// Unresolve threads
    Unresolve(ThreadResolveArgs),
    /// Answer in a thread
    Reply(ThreadReplyArgs),
}

impl ThreadCommand {
    /// The flags that say how long to wait; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::List(_) => None,
            Self::Resolve(args) | Self::Unresolve(args) => Some(&args.wait),
            Self::Reply(args) => Some(&args.wait),
        }
    }
}

/// `forge pr thread list`
#[derive(Args, Debug)]
pub struct ThreadListArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Only those that nobody has resolved
    #[arg(long, conflicts_with = "resolved")]
    pub unresolved: bool,
    /// Only resolved ones
    #[arg(long)]
    pub resolved: bool,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge pr thread resolve` and `unresolve`
#[derive(Args, Debug)]
pub struct ThreadResolveArgs {
    /// Number, URL or branch; "." is that of the current branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// The ids of the threads, as "thread list" prints them
    #[arg(value_name = "thread", required = true)]
    pub threads: Vec<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr thread reply`
#[derive(Args, Debug)]
pub struct ThreadReplyArgs {
    /// Number, URL or branch; "." is that of the current branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// The id of the thread, as "thread list" prints it
    #[arg(value_name = "thread")]
    pub thread: String,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}
