//! The commands, one file each.

mod auth;
mod capabilities;
mod complete;
mod completion;
mod config;
mod demo;
mod doctor;
mod git_credential;
mod help;
mod issue;
pub(crate) mod label;
#[cfg(feature = "mcp")]
mod mcp;
mod pages;
pub(crate) mod pr;
#[cfg(feature = "tangled")]
mod tangled;
mod version;
mod workflow;

use std::time::Duration;

use clap::Subcommand;
use forge_core::Result;

use crate::{ctx::Ctx, exit::Exit};

/// The commands.
#[derive(Debug, Subcommand)]
pub enum RootCommand {
    /// Work with pull requests
    Pr(pr::PrArgs),
    /// Check out the head of a pull request in git
    #[command(hide = true)]
    Co(pr::CoArgs),
    /// Work with issues
    Issue(issue::IssueArgs),
    /// Work with the labels of a repository
    Label(label::LabelArgs),
    /// Work with the records of tangled
    #[cfg(feature = "tangled")]
    Tangled(tangled::TangledArgs),
    /// Work with the states of issues
    Workflow(workflow::WorkflowArgs),
    /// Show what a repository's forge can do
    Capabilities(capabilities::CapabilitiesArgs),
    /// Log in to a host and out of it
    Auth(auth::AuthArgs),
    /// Read, set and check the configuration
    Config(config::ConfigArgs),
    /// Report the configuration, and what the services answer
    Doctor(doctor::DoctorArgs),
    /// Serve pull requests to agents over MCP
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpArgs),
    /// Print a completion script for a shell
    Completion(completion::CompletionArgs),
    /// Print what is completed, for the scripts
    #[command(name = "__complete", hide = true)]
    Complete(complete::CompleteArgs),
    /// Follow a pull request from opening to merge, in a temporary repository
    Demo(demo::DemoArgs),
    /// Show the help of a command or a topic
    Help(help::HelpArgs),
    /// Print the version
    Version,
}

impl RootCommand {
    /// Returns the duration of `--wait` or `--no-wait`, if the user passed one of these flags.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Pr(args) => args.command.wait()?.duration(),
            Self::Issue(args) => args.command.wait()?.duration(),
            Self::Label(args) => args.command.wait()?.duration(),
            Self::Workflow(args) => args.command.wait()?.duration(),
            #[cfg(feature = "tangled")]
            Self::Tangled(args) => match &args.command {
                tangled::TangledCommand::Ingestion(args) => args.wait.duration(),
            },
            _ => None,
        }
    }
}

/// Runs a command.
///
/// # Errors
///
/// Fails if the command fails.
pub async fn run(ctx: &Ctx, command: RootCommand) -> Result<Exit> {
    // The futures are boxed because they are large, and only one of them runs.
    match command {
        RootCommand::Pr(args) => Box::pin(pr::run(ctx, args)).await,
        RootCommand::Co(args) => Box::pin(pr::run(ctx, args.into())).await,
        RootCommand::Issue(args) => Box::pin(issue::run(ctx, &args)).await,
        RootCommand::Label(args) => Box::pin(label::run(ctx, &args)).await,
        #[cfg(feature = "tangled")]
        RootCommand::Tangled(args) => Box::pin(tangled::run(ctx, &args)).await,
        RootCommand::Workflow(args) => Box::pin(workflow::run(ctx, &args)).await,
        RootCommand::Capabilities(args) => Box::pin(capabilities::run(ctx, &args)).await,
        RootCommand::Auth(args) => Box::pin(auth::run(ctx, &args)).await,
        RootCommand::Config(args) => Box::pin(config::run(ctx, &args)).await,
        RootCommand::Doctor(args) => Box::pin(doctor::run(ctx, &args)).await,
        #[cfg(feature = "mcp")]
        RootCommand::Mcp(args) => Box::pin(mcp::run(ctx, &args)).await,
        RootCommand::Completion(args) => Box::pin(completion::run(ctx, &args)).await,
        RootCommand::Complete(args) => Box::pin(complete::run(ctx, &args)).await,
        RootCommand::Help(args) => help::run(ctx, &args),
        RootCommand::Version => version::run(ctx),
        RootCommand::Demo(args) => Box::pin(demo::run(ctx, &args)).await,
    }
}
