//! `forge pr …`.

use forge_core::{Error, ErrorKind, Result};

use super::Ctx;
use crate::{args::pr::PrArgs, exit::Exit};

/// Runs a command on pull requests.
///
/// # Errors
/// Whatever stops it.
pub async fn run(_ctx: &Ctx, _args: PrArgs) -> Result<Exit> {
    Err(Error::new(ErrorKind::Internal, "this slot is not filled yet"))
}
