//! `forge workflow graph`: the states as a picture.

use clap::Args;
use forge::workflow::mermaid;
use forge_core::Result;

use super::DefinitionArgs;
use crate::{ctx::Ctx, exit::Exit};

/// `forge workflow graph`
#[derive(Args, Debug)]
pub struct WorkflowGraphArgs {
    /// Which definition.
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

pub fn run(ctx: &Ctx, args: &WorkflowGraphArgs) -> Result<Exit> {
    ctx.ui
        .write(mermaid(&args.definition.read(ctx)?).as_bytes())?;
    Ok(Exit::Ok)
}
