use std::{env, path::PathBuf};

use forge_core::Result;

use crate::{
    args::GlobalArgs,
    ui::{Ui, io_error},
};

/// What every command has at hand.
#[derive(Debug)]
pub struct Ctx {
    /// Where output goes.
    pub ui: Ui,
    /// The directory it was started in.
    pub cwd: PathBuf,
    /// The flags of every command.
    pub global: GlobalArgs,
}

impl Ctx {
    /// From the process.
    ///
    /// # Errors
    /// When the working directory is gone.
    pub fn new(ui: Ui, global: GlobalArgs) -> Result<Self> {
        Ok(Self { ui, cwd: env::current_dir().map_err(io_error)?, global })
    }
}
