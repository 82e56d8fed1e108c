//! `forge issue …`.

mod close;
mod comment;
mod create;
mod edit;
mod list;
mod reopen;
mod shared;
mod view;
mod view_text;

use forge_core::Result;

use crate::ctx::Ctx;
use crate::{
    args::issue::{IssueArgs, IssueCommand},
    exit::Exit,
};

/// Runs a command on issues.
///
/// # Errors
/// Whatever stops it.
pub async fn run(ctx: &Ctx, args: &IssueArgs) -> Result<Exit> {
    let repo = args.repo.as_deref();
    match &args.command {
        IssueCommand::Create(args) => create::run(ctx, repo, args).await,
        IssueCommand::List(args) => list::run(ctx, repo, args).await,
        IssueCommand::View(args) => view::run(ctx, repo, args).await,
        IssueCommand::Close(args) => close::run(ctx, repo, args).await,
        IssueCommand::Comment(args) => comment::run(ctx, repo, args).await,
        IssueCommand::Edit(args) => edit::run(ctx, repo, args).await,
        IssueCommand::Reopen(args) => reopen::run(ctx, repo, args).await,
    }
}
