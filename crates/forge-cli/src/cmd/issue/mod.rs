//! `forge issue …`.

mod close;
mod comment;
mod create;
mod delete;
mod edit;
mod history;
mod list;
mod reopen;
pub(crate) mod shared;
mod view;
mod view_text;

use clap::{Args, Subcommand};
use forge_core::Result;

use crate::{
    args::{single_repo, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
};

/// `forge issue`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct IssueArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Vec<String>,
    /// The command.
    #[command(subcommand)]
    pub command: IssueCommand,
}

/// The commands on issues.
#[derive(Debug, Subcommand)]
pub enum IssueCommand {
    /// Open an issue
    #[command(alias = "new")]
    Create(Box<create::IssueCreateArgs>),
    /// List issues
    #[command(alias = "ls")]
    List(list::IssueListArgs),
    /// Show an issue
    View(view::IssueViewArgs),
    /// Close an issue
    Close(close::IssueCloseArgs),
    /// Comment on an issue
    Comment(comment::IssueCommentArgs),
    /// Delete an issue
    #[command(alias = "rm")]
    Delete(delete::IssueDeleteArgs),
    /// Edit one or more issues
    Edit(Box<edit::IssueEditArgs>),
    /// Show what happened to an issue, and when
    History(history::IssueHistoryArgs),
    /// Reopen an issue
    Reopen(reopen::IssueReopenArgs),
}

impl IssueCommand {
    /// Returns `--wait` and `--no-wait`; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Create(args) => Some(&args.wait),
            Self::Close(args) => Some(&args.wait),
            Self::Comment(args) => Some(&args.wait),
            Self::Delete(args) => Some(&args.wait),
            Self::Edit(args) => Some(&args.wait),
            Self::Reopen(args) => Some(&args.wait),
            Self::History(_) | Self::List(_) | Self::View(_) => None,
        }
    }
}

/// Runs a command on issues.
///
/// # Errors
///
/// Fails if the command fails.
pub async fn run(ctx: &Ctx, args: &IssueArgs) -> Result<Exit> {
    let repo = single_repo(&args.repo)?;
    match &args.command {
        IssueCommand::Create(args) => create::run(ctx, repo, args).await,
        IssueCommand::List(args) => list::run(ctx, repo, args).await,
        IssueCommand::View(args) => view::run(ctx, repo, args).await,
        IssueCommand::Close(args) => close::run(ctx, repo, args).await,
        IssueCommand::Comment(args) => comment::run(ctx, repo, args).await,
        IssueCommand::Delete(args) => delete::run(ctx, repo, args).await,
        IssueCommand::Edit(args) => edit::run(ctx, repo, args).await,
        IssueCommand::History(args) => history::run(ctx, repo, args).await,
        IssueCommand::Reopen(args) => reopen::run(ctx, repo, args).await,
    }
}
