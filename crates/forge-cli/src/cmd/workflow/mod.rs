//! `forge workflow …`: definitions of workflows.
//!
//! These commands ask no forge: a definition is a file, or comes with the program.

mod graph;
mod init;
mod lint;
mod resolve;
mod show;

use std::{fs, io::Read as _, path::PathBuf};

use clap::{Args, Subcommand};
use forge::workflow::Definition;
use forge_core::{Error, Result};

use crate::{ctx::Ctx, exit::Exit};

/// A larger file is no definition, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The definition where neither a flag nor the configuration names one.
const DEFAULT_PRESET: &str = "ralph";

/// `forge workflow`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct WorkflowArgs {
    /// The command.
    #[command(subcommand)]
    pub command: WorkflowCommand,
}

/// The commands on workflows.
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    /// Write a definition to start from
    Init(init::WorkflowInitArgs),
    /// List every mistake of a definition, with line and column
    Lint(lint::WorkflowLintArgs),
    /// Show states, commands and intents
    Show(show::WorkflowShowArgs),
    /// Print the states as a Mermaid diagram
    Graph(graph::WorkflowGraphArgs),
    /// Print the state that a word means for a command
    Resolve(resolve::WorkflowResolveArgs),
}

/// Which definition.
#[derive(Args, Clone, Debug, Default)]
pub struct DefinitionArgs {
    /// Read the definition from a file, TOML or JSON; - is standard input
    #[arg(short, long, value_name = "file")]
    pub file: Option<PathBuf>,
    /// Take one that comes with forge: ralph, small
    #[arg(long, value_name = "name", conflicts_with = "file")]
    pub preset: Option<String>,
}

impl DefinitionArgs {
    /// The text of the definition.
    ///
    /// # Errors
    /// `invalid_input` (field `file`) for a file that cannot be read; `config` for an unknown preset.
    pub fn text(&self, ctx: &Ctx) -> Result<String> {
        let Some(path) = &self.file else {
            let preset = match &self.preset {
                Some(name) => Some(name.clone()),
                None => ctx.config()?.workflow_preset(),
            };
            let name = preset.as_deref().unwrap_or(DEFAULT_PRESET);
            return Ok(Definition::preset_text(name)?.to_owned());
        };
        let name = path.display().to_string();
        let failed = |e: std::io::Error| {
            Error::invalid("file", format!("{name} cannot be read: {e}"))
                .with_hint("name a file with a definition, or write one: forge workflow init")
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
            let message = format!("{name} is no definition: it is larger than 1 MiB");
            return Err(Error::invalid("file", message));
        }
        Ok(text)
    }

    /// The definition.
    ///
    /// # Errors
    /// As [`Self::text`]; `config` with every mistake of it.
    pub fn read(&self, ctx: &Ctx) -> Result<Definition> {
        Definition::parse(&self.text(ctx)?)
    }
}

/// Runs a command on workflows.
///
/// # Errors
/// Whatever stops it.
pub fn run(ctx: &Ctx, args: &WorkflowArgs) -> Result<Exit> {
    match &args.command {
        WorkflowCommand::Init(args) => init::run(ctx, args),
        WorkflowCommand::Lint(args) => lint::run(ctx, args),
        WorkflowCommand::Show(args) => show::run(ctx, args),
        WorkflowCommand::Graph(args) => graph::run(ctx, args),
        WorkflowCommand::Resolve(args) => resolve::run(ctx, args),
    }
}
