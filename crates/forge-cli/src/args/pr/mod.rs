//! `forge pr …`.

mod attach;
mod change;
mod context;
mod create;
mod read;
mod resubmit;
mod review;
mod thread;
mod wait;

use clap::{Args, Subcommand};

pub use attach::AttachArgs;
pub use change::{
    CloseArgs, CommentArgs, EditArgs, MergeArgs, ReadyArgs, ReopenArgs, UpdateBranchArgs,
};
pub use context::ContextArgs;
pub use create::CreateArgs;
pub use read::{ChecksArgs, DiffArgs, ListArgs, StateArg, StatusArgs, ViewArgs};
pub use resubmit::ResubmitArgs;
pub use review::{LineComment, ReviewArgs};
pub use thread::{ThreadArgs, ThreadCommand, ThreadListArgs, ThreadReplyArgs, ThreadResolveArgs};
pub use wait::{Wait, WaitArgs};

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
    /// Show everything that is needed to understand or judge a pull request
    Context(ContextArgs),
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
    /// Submit another round of changes
    Resubmit(ResubmitArgs),
    /// Review a pull request, with comments on lines
    Review(ReviewArgs),
    /// Work with review threads
    Thread(ThreadArgs),
    /// Bring the branch of a pull request up to date with its base
    UpdateBranch(UpdateBranchArgs),
}

impl PrCommand {
    /// The flags that say how long to wait; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Create(args) => Some(&args.wait),
            Self::Close(args) => Some(&args.wait),
            Self::Comment(args) => Some(&args.wait),
            Self::Edit(args) => Some(&args.wait),
            Self::Merge(args) => Some(&args.wait),
            Self::Ready(args) => Some(&args.wait),
            Self::Reopen(args) => Some(&args.wait),
            Self::Resubmit(args) => Some(&args.wait),
            Self::Review(args) => Some(&args.wait),
            Self::UpdateBranch(args) => Some(&args.wait),
            Self::Thread(args) => args.command.wait(),
            Self::List(_)
            | Self::Status(_)
            | Self::View(_)
            | Self::Checks(_)
            | Self::Context(_)
            | Self::Diff(_) => None,
        }
    }
}
