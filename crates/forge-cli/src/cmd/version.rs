//! `forge version`.

use forge_core::Result;

use crate::{ctx::Ctx, exit::Exit};

/// Prints the version, as `--version` does.
///
/// # Errors
///
/// Fails if stdout cannot be written.
pub fn run(ctx: &Ctx) -> Result<Exit> {
    let version = ctx.ui.named().definition.render_version();
    ctx.ui.line(version.trim_end())?;
    Ok(Exit::Ok)
}
