//! `forge workflow …`: workflow definitions and the issues in them.

mod advance;
mod claim;
mod convergence;
mod graph;
mod group;
mod heartbeat;
mod init;
mod lint;
mod new;
mod pick;
mod position;
mod reconcile;
mod release;
mod resolve;
mod set_state;
mod shared;
mod show;

use std::{fs, io::Read as _, path::PathBuf};

use clap::{Args, Subcommand};
use forge::workflow::Definition;
use forge_core::{Error, Result};

use crate::{
    args::{single_repo, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
};

/// Maximum size of a definition file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// `forge workflow`
#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
--command is the workflow's command that moves the issue, such as research. `forge workflow show` \
lists the commands, the states from which pick takes issues for each, and those to which it may move \
them. The prefix of their names, such as ralph_, may be left out. set-state moves an issue from any \
state, unless the workflow has strict_transitions, and gives a new issue its first state.

  forge workflow set-state 7 \"Research Needed\" --command triage
  forge workflow pick --command research --claim
  forge workflow set-state 7 __COMPLETE__ --command research --claim <id>"
)]
pub struct WorkflowArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Vec<String>,
    /// The command.
    #[command(subcommand)]
    pub command: WorkflowCommand,
}

/// The commands on workflows.
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    /// Print the phase that the group of an issue is in, and what to do
    Position(position::WorkflowPositionArgs),
    /// Check that the group of an issue has reached a state; exit code 8 if not
    Convergence(convergence::WorkflowConvergenceArgs),
    /// List the group of an issue: its sub-issues, its blockers, and theirs
    Group(group::WorkflowGroupArgs),
    /// Print the issue to work on next, and claim it with --claim; exit code 8 if there is none
    Pick(pick::WorkflowPickArgs),
    /// Claim an issue for a workflow command, and move it to that command's working state
    Claim(claim::WorkflowClaimArgs),
    /// Renew the lease of a claim
    Heartbeat(heartbeat::WorkflowHeartbeatArgs),
    /// Give a claim up
    Release(release::WorkflowReleaseArgs),
    /// Move an issue to a state
    SetState(set_state::WorkflowSetStateArgs),
    /// Move an issue to a following state of the workflow, with a reason
    Handoff(set_state::WorkflowSetStateArgs),
    /// Move the sub-issues of an issue to a state; with --parent, move the parent to a gate
    Advance(advance::WorkflowAdvanceArgs),
    /// Move or close the issues that a merged pull request closes, if that has not happened yet
    Reconcile(reconcile::WorkflowReconcileArgs),
    /// Create the fields, options and labels that the workflow needs
    Init(init::WorkflowInitArgs),
    /// Write a definition to start from
    New(new::WorkflowNewArgs),
    /// List every mistake of a definition, with line and column
    Lint(lint::WorkflowLintArgs),
    /// Show states and commands; --json also has the intents, such as COMPLETE
    Show(show::WorkflowShowArgs),
    /// Print the states as a Mermaid diagram
    Graph(graph::WorkflowGraphArgs),
    /// Print the state that a state name or an intent resolves to
    Resolve(resolve::WorkflowResolveArgs),
}

impl WorkflowCommand {
    /// Returns `--wait` and `--no-wait`; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Pick(args) => Some(&args.wait),
            Self::Claim(args) => Some(&args.wait),
            Self::Heartbeat(args) => Some(&args.wait),
            Self::Release(args) => Some(&args.wait),
            Self::SetState(args) | Self::Handoff(args) => Some(&args.wait),
            Self::Advance(args) => Some(&args.wait),
            Self::Reconcile(args) => Some(&args.wait),
            _ => None,
        }
    }
}

/// The definition to use.
#[derive(Args, Clone, Debug, Default)]
pub struct DefinitionArgs {
    /// Read the definition from a file, TOML or JSON; - is standard input
    #[arg(short, long, value_name = "file")]
    pub file: Option<PathBuf>,
    /// Use a preset: ralph, small
    #[arg(long, value_name = "name", conflicts_with = "file")]
    pub preset: Option<String>,
}

impl DefinitionArgs {
    /// Returns the text of the definition: from the file, the preset, or the configuration.
    ///
    /// # Errors
    ///
    /// `invalid_input` (field `file`) for an unreadable file; `config` for an unknown preset.
    pub async fn text(&self, ctx: &Ctx, repo: Option<&str>) -> Result<String> {
        let Some(path) = &self.file else {
            return match &self.preset {
                Some(name) => Ok(Definition::preset_text(name)?.to_owned()),
                None => configured(ctx, repo).await,
            };
        };
        let name = path.display().to_string();
        let failed = |e: std::io::Error| {
            Error::invalid("file", format!("{name} cannot be read: {e}"))
                .with_hint("name a file with a definition, or write one: forge workflow new")
                .with_source(e)
        };
        let mut text = String::new();
        let read = match name == "-" {
            true => std::io::stdin()
                .take(MAX_FILE + 1)
                .read_to_string(&mut text),
            false => fs::File::open(ctx.cwd.join(path))
                .and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text)),
        };
        read.map_err(failed)?;
        if text.len() as u64 > MAX_FILE {
            let message = format!("{name} is not a definition: it is larger than 1 MiB");
            return Err(Error::invalid("file", message));
        }
        Ok(text)
    }

    /// Returns the parsed definition.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::text`]; `config` for an invalid definition, with a list of all
    /// mistakes.
    pub async fn read(&self, ctx: &Ctx, repo: Option<&str>) -> Result<Definition> {
        Definition::parse(&self.text(ctx, repo).await?)
    }
}

/// Returns the configured definition. The repository is opened in two cases:
/// - The repository contains the definition.
/// - The definition is a file. This file must not be in one of the repository's work trees.
async fn configured(ctx: &Ctx, repo: Option<&str>) -> Result<String> {
    let forges = ctx.forges()?;
    let repo = match forges.config().workflow_definition() {
        None => None,
        Some(named) if repo.is_some() || named.starts_with(forge::DEFINITION_IN_REPO) => {
            Some(ctx.repo(repo).await?)
        }
        // A failure to open is ignored, because outside of a repository the file cannot be part of
        // a pull request's changes.
        Some(_) => ctx.repo(None).await.ok(),
    };
    forges.definition_text(repo.as_ref()).await
}

/// Runs a command on workflows.
///
/// # Errors
///
/// Fails if the command fails.
pub async fn run(ctx: &Ctx, args: &WorkflowArgs) -> Result<Exit> {
    let repo = single_repo(&args.repo)?;
    match &args.command {
        WorkflowCommand::Position(args) => position::run(ctx, repo, args).await,
        WorkflowCommand::Convergence(args) => convergence::run(ctx, repo, args).await,
        WorkflowCommand::Group(args) => group::run(ctx, repo, args).await,
        WorkflowCommand::Pick(args) => pick::run(ctx, repo, args).await,
        WorkflowCommand::Claim(args) => claim::run(ctx, repo, args).await,
        WorkflowCommand::Heartbeat(args) => heartbeat::run(ctx, repo, args).await,
        WorkflowCommand::Release(args) => release::run(ctx, repo, args).await,
        WorkflowCommand::SetState(args) => set_state::run(ctx, repo, args, false).await,
        WorkflowCommand::Handoff(args) => set_state::run(ctx, repo, args, true).await,
        WorkflowCommand::Advance(args) => advance::run(ctx, repo, args).await,
        WorkflowCommand::Reconcile(args) => reconcile::run(ctx, repo, args).await,
        WorkflowCommand::Init(args) => init::run(ctx, repo, args).await,
        WorkflowCommand::New(args) => new::run(ctx, args),
        WorkflowCommand::Lint(args) => lint::run(ctx, repo, args).await,
        WorkflowCommand::Show(args) => show::run(ctx, repo, args).await,
        WorkflowCommand::Graph(args) => graph::run(ctx, repo, args).await,
        WorkflowCommand::Resolve(args) => resolve::run(ctx, repo, args).await,
    }
}
