//! `forge completion`.

use forge_core::{Error, ErrorKind, Result};

use super::Ctx;
use crate::{args::CompletionArgs, exit::Exit};

/// Runs it.
///
/// # Errors
/// What the command cannot do.
pub async fn run(_ctx: &Ctx, _args: &CompletionArgs) -> Result<Exit> {
    Err(Error::new(ErrorKind::Internal, "this slot is not filled yet"))
}
