//! `forge demo`.

use forge_core::{Error, ErrorKind, Result};

use super::Ctx;
use crate::{args::DemoArgs, exit::Exit};

/// Runs it.
///
/// # Errors
/// What the command cannot do.
pub async fn run(_ctx: &Ctx, _args: &DemoArgs) -> Result<Exit> {
    Err(Error::new(ErrorKind::Internal, "this slot is not filled yet"))
}
