//! `forge label`.

use forge_core::{Error, ErrorKind, Result};

use super::Ctx;
use crate::{args::LabelArgs, exit::Exit};

/// Runs it.
///
/// # Errors
/// What the command cannot do.
pub async fn run(_ctx: &Ctx, _args: &LabelArgs) -> Result<Exit> {
    Err(Error::new(ErrorKind::Internal, "this slot is not filled yet"))
}
