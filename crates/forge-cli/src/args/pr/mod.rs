//! `forge pr …`.

mod attach;
mod change;
mod create;
mod read;
mod review;
mod thread;

use clap::{Args, Subcommand};

pub use attach::AttachArgs;
pub use change::{CloseArgs, CommentArgs, EditArgs, MergeArgs, ReadyArgs, ReopenArgs};
pub use create::CreateArgs;
pub use read::{ChecksArgs, DiffArgs, ListArgs, StateArg, StatusArgs, ViewArgs};
pub use review::{LineComment, ReviewArgs};
pub use thread::{ThreadArgs, ThreadCommand, ThreadListArgs, ThreadReplyArgs, ThreadResolveArgs};

/// `forge pr`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct PrArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path, or local:.
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Option<String>,
    /// The command.
    #[command(subcommand)]
    pub command: PrCommand,
}

/// The commands on pull requests.
#[derive(Debug, Subcommand)]
pub enum PrCommand {
    /// Open a pull request
    #[command(alias = "new")]
    Create(Box<CreateArgs>),
    /// List pull requests
    #[command(alias = "ls")]
    List(ListArgs),
    /// Show what concerns you
    Status(StatusArgs),
    /// Show a pull request
    View(ViewArgs),
    /// Show the checks of a pull request
    Checks(ChecksArgs),
    /// Close a pull request
    Close(CloseArgs),
    /// Comment on a pull request
    Comment(CommentArgs),
    /// Show the changes of a pull request
    Diff(DiffArgs),
    /// Edit a pull request
    Edit(Box<EditArgs>),
    /// Merge a pull request
    Merge(MergeArgs),
    /// Mark a draft as ready for review
    Ready(ReadyArgs),
    /// Reopen a pull request
    Reopen(ReopenArgs),
    /// Review a pull request, with comments on lines
    Review(ReviewArgs),
    /// Work with review threads
    Thread(ThreadArgs),
}
