//! The commands: one file each.

mod auth;
mod capabilities;
mod completion;
mod config;
mod demo;
mod issue;
mod label;
#[cfg(feature = "mcp")]
mod mcp;
mod pages;
pub(crate) mod pr;
#[cfg(feature = "tangled")]
mod tangled;

use forge_core::Result;

use crate::{args::Command, ctx::Ctx, exit::Exit};

/// Runs a command.
///
/// # Errors
/// Whatever stops it.
pub async fn run(ctx: &Ctx, command: Command) -> Result<Exit> {
    // Boxed: the futures of the commands are large, and one at a time is needed.
    match command {
        Command::Pr(args) => Box::pin(pr::run(ctx, args)).await,
        Command::Issue(args) => Box::pin(issue::run(ctx, &args)).await,
        Command::Label(args) => Box::pin(label::run(ctx, &args)).await,
        #[cfg(feature = "tangled")]
        Command::Tangled(args) => Box::pin(tangled::run(ctx, &args)).await,
        Command::Capabilities(args) => Box::pin(capabilities::run(ctx, &args)).await,
        Command::Auth(args) => Box::pin(auth::run(ctx, &args)).await,
        Command::Config(args) => Box::pin(config::run(ctx, &args)).await,
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => Box::pin(mcp::run(ctx, &args)).await,
        Command::Completion(args) => Box::pin(completion::run(ctx, &args)).await,
        Command::Demo(args) => Box::pin(demo::run(ctx, &args)).await,
    }
}
