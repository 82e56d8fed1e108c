//! `forge pr …`.

mod attach;
pub(crate) mod body;
mod checks;
mod clone_branch;
mod close;
pub(crate) mod comment;
mod context;
mod context_text;
mod create;
mod create_text;
mod diff;
mod draft;
mod edit;
mod edits;
mod fill;
mod list;
mod merge;
mod patch;
mod ready;
mod reopen;
mod resubmit;
mod review;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod shared;
mod status;
mod templates;
mod thread;
mod update_branch;
mod view;
pub(crate) mod view_text;

use forge_core::Result;

use crate::ctx::Ctx;
use crate::{
    args::pr::{PrArgs, PrCommand},
    exit::Exit,
};

/// Runs a command on pull requests.
///
/// # Errors
/// Whatever stops it.
pub async fn run(ctx: &Ctx, args: PrArgs) -> Result<Exit> {
    let repo = args.repo.as_deref();
    match args.command {
        PrCommand::Create(args) => Box::pin(create::run(ctx, repo, *args)).await,
        PrCommand::List(args) => Box::pin(list::run(ctx, repo, &args)).await,
        PrCommand::Status(args) => Box::pin(status::run(ctx, repo, &args)).await,
        PrCommand::View(args) => Box::pin(view::run(ctx, repo, &args)).await,
        PrCommand::Checks(args) => Box::pin(checks::run(ctx, repo, &args)).await,
        PrCommand::Context(args) => Box::pin(context::run(ctx, repo, &args)).await,
        PrCommand::Close(args) => Box::pin(close::run(ctx, repo, &args)).await,
        PrCommand::Comment(args) => Box::pin(comment::run(ctx, repo, &args)).await,
        PrCommand::Diff(args) => Box::pin(diff::run(ctx, repo, args)).await,
        PrCommand::Edit(args) => Box::pin(edit::run(ctx, repo, *args)).await,
        PrCommand::Merge(args) => Box::pin(merge::run(ctx, repo, args)).await,
        PrCommand::Ready(args) => Box::pin(ready::run(ctx, repo, &args)).await,
        PrCommand::Reopen(args) => Box::pin(reopen::run(ctx, repo, &args)).await,
        PrCommand::Resubmit(args) => Box::pin(resubmit::run(ctx, repo, &args)).await,
        PrCommand::Review(args) => Box::pin(review::run(ctx, repo, args)).await,
        PrCommand::Thread(args) => Box::pin(thread::run(ctx, repo, args)).await,
        PrCommand::UpdateBranch(args) => Box::pin(update_branch::run(ctx, repo, &args)).await,
    }
}
