//! `forge workflow graph`: the states as a diagram.

use clap::Args;
use forge::workflow::mermaid;
use forge_core::Result;

use super::DefinitionArgs;
use crate::{ctx::Ctx, exit::Exit};

/// `forge workflow graph`
#[derive(Args, Debug)]
pub struct WorkflowGraphArgs {
    /// The definition to draw.
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &WorkflowGraphArgs) -> Result<Exit> {
    let definition = args.definition.read(ctx, repo).await?;
    ctx.ui.write(mermaid(&definition).as_bytes())?;
    Ok(Exit::Ok)
}
