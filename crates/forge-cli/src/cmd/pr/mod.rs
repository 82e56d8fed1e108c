//! `forge pr …`.

mod across;
pub(crate) mod attach;
pub(crate) mod body;
mod checkout;
mod checkout_place;
mod checks;
mod clone_branch;
mod close;
pub(crate) mod comment;
mod context;
mod context_html;
mod context_text;
mod create;
mod create_metadata;
mod create_plan;
mod create_push;
mod create_text;
mod diff;
pub(crate) mod draft;
mod edit;
mod edit_prompt;
mod edits;
mod fill;
mod list;
mod lock;
mod merge;
mod merge_prompt;
pub(crate) mod merged_issues;
mod patch_source;
mod pushed_head;
mod ready;
mod reopen;
mod resubmit;
mod revert;
mod review;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod shared;
mod status;
pub(crate) mod templates;
mod thread;
mod update_branch;
pub(crate) mod view;
pub(crate) mod view_text;
mod watch;

use clap::{Args, Subcommand};
use forge_core::Result;

use crate::{
    args::{single_repo, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
};

/// `forge pr`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct PrArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    ///
    /// "list" and "status" accept several. "@mine" means the repositories of your accounts on every
    /// host with a login; for "status", all pull requests on these hosts that concern you.
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Vec<String>,
    /// The command.
    #[command(subcommand)]
    pub command: PrCommand,
}

/// `forge co`, which gh predefines as an alias of `pr checkout`.
#[derive(Args, Debug)]
pub struct CoArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    #[arg(short = 'R', long, value_name = "repository")]
    pub repo: Vec<String>,
    /// The arguments of `pr checkout`.
    #[command(flatten)]
    pub checkout: checkout::CheckoutArgs,
}

impl From<CoArgs> for PrArgs {
    fn from(args: CoArgs) -> Self {
        Self {
            repo: args.repo,
            command: PrCommand::Checkout(args.checkout),
        }
    }
}

/// The commands on pull requests.
#[derive(Debug, Subcommand)]
pub enum PrCommand {
    /// Open a pull request
    #[command(alias = "new")]
    Create(Box<create::CreateArgs>),
    /// List pull requests
    #[command(alias = "ls")]
    List(list::ListArgs),
    /// Show the pull requests that concern you
    Status(status::StatusArgs),
    /// Show a pull request
    View(view::ViewArgs),
    /// Check out the head of a pull request in git
    #[command(alias = "co")]
    Checkout(checkout::CheckoutArgs),
    /// Show the checks of a pull request
    ///
    /// "forge pr context --include ci_logs" has the logs of failed checks.
    Checks(checks::ChecksArgs),
    /// Show everything that is needed to understand or judge a pull request
    Context(context::ContextArgs),
    /// Close a pull request
    Close(close::CloseArgs),
    /// Comment on a pull request
    Comment(comment::CommentArgs),
    /// Show the changes of a pull request
    Diff(diff::DiffArgs),
    /// Edit a pull request
    Edit(Box<edit::EditArgs>),
    /// Lock the conversation of a pull request
    Lock(lock::LockArgs),
    /// Merge a pull request
    Merge(merge::MergeArgs),
    /// Mark a draft as ready for review
    Ready(ready::ReadyArgs),
    /// Reopen a pull request
    Reopen(reopen::ReopenArgs),
    /// Submit another round of changes
    Resubmit(resubmit::ResubmitArgs),
    /// Open a pull request that reverts a merged one
    Revert(revert::RevertArgs),
    /// Review a pull request, with comments on lines
    Review(review::ReviewArgs),
    /// Work with review threads
    Thread(thread::ThreadArgs),
    /// Unlock the conversation of a pull request
    Unlock(lock::UnlockArgs),
    /// Bring the branch of a pull request up to date with its base
    UpdateBranch(update_branch::UpdateBranchArgs),
    /// Wait until something happens to a pull request
    Watch(watch::WatchArgs),
}

impl PrCommand {
    /// Returns `--wait` and `--no-wait`; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Create(args) => Some(&args.wait),
            Self::Close(args) => Some(&args.wait),
            Self::Comment(args) => Some(&args.wait),
            Self::Edit(args) => Some(&args.wait),
            Self::Lock(args) => Some(&args.wait),
            Self::Merge(args) => Some(&args.wait),
            Self::Ready(args) => Some(&args.wait),
            Self::Reopen(args) => Some(&args.wait),
            Self::Resubmit(args) => Some(&args.wait),
            Self::Revert(args) => Some(&args.wait),
            Self::Review(args) => Some(&args.wait),
            Self::Unlock(args) => Some(&args.wait),
            Self::UpdateBranch(args) => Some(&args.wait),
            Self::Thread(args) => args.command.wait(),
            Self::List(_)
            | Self::Status(_)
            | Self::View(_)
            | Self::Checkout(_)
            | Self::Checks(_)
            | Self::Context(_)
            | Self::Diff(_)
            | Self::Watch(_) => None,
        }
    }
}

/// Runs a command on pull requests.
///
/// # Errors
///
/// Fails if the command fails.
pub async fn run(ctx: &Ctx, args: PrArgs) -> Result<Exit> {
    let repos = &args.repo;
    let repo = match args.command {
        PrCommand::List(_) | PrCommand::Status(_) => repos.last().map(String::as_str),
        _ => single_repo(repos)?,
    };
    match args.command {
        PrCommand::Create(args) => Box::pin(create::run(ctx, repo, *args)).await,
        PrCommand::List(args) => match across::places(repos, &args.owner) {
            Some(places) => Box::pin(across::list(ctx, &places, &args)).await,
            None => Box::pin(list::run(ctx, repo, &args)).await,
        },
        PrCommand::Status(args) => match across::places(repos, &args.owner) {
            Some(places) => Box::pin(across::status(ctx, &places, &args)).await,
            None => Box::pin(status::run(ctx, repo, &args)).await,
        },
        PrCommand::View(args) => Box::pin(view::run(ctx, repo, &args)).await,
        PrCommand::Checkout(args) => Box::pin(checkout::run(ctx, repo, &args)).await,
        PrCommand::Checks(args) => Box::pin(checks::run(ctx, repo, &args)).await,
        PrCommand::Context(args) => Box::pin(context::run(ctx, repo, &args)).await,
        PrCommand::Close(args) => Box::pin(close::run(ctx, repo, &args)).await,
        PrCommand::Comment(args) => Box::pin(comment::run(ctx, repo, &args)).await,
        PrCommand::Diff(args) => Box::pin(diff::run(ctx, repo, args)).await,
        PrCommand::Edit(args) => Box::pin(edit::run(ctx, repo, *args)).await,
        PrCommand::Lock(args) => Box::pin(lock::lock(ctx, repo, &args)).await,
        PrCommand::Merge(args) => Box::pin(merge::run(ctx, repo, args)).await,
        PrCommand::Ready(args) => Box::pin(ready::run(ctx, repo, &args)).await,
        PrCommand::Reopen(args) => Box::pin(reopen::run(ctx, repo, &args)).await,
        PrCommand::Resubmit(args) => Box::pin(resubmit::run(ctx, repo, &args)).await,
        PrCommand::Revert(args) => Box::pin(revert::run(ctx, repo, &args)).await,
        PrCommand::Review(args) => Box::pin(review::run(ctx, repo, args)).await,
        PrCommand::Thread(args) => Box::pin(thread::run(ctx, repo, args)).await,
        PrCommand::Unlock(args) => Box::pin(lock::unlock(ctx, repo, &args)).await,
        PrCommand::UpdateBranch(args) => Box::pin(update_branch::run(ctx, repo, &args)).await,
        PrCommand::Watch(args) => Box::pin(watch::run(ctx, repo, &args)).await,
    }
}
