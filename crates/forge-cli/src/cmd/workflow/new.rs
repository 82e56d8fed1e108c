//! `forge workflow new`: writes a preset to a file, as the start of the user's own definition.

use std::{fs, io::Write as _, path::PathBuf};

use clap::Args;
use forge::workflow::Definition;
use forge_core::{Error, ErrorKind, Result};

use crate::{ctx::Ctx, exit::Exit};

/// `forge workflow new`
#[derive(Args, Debug)]
pub struct WorkflowNewArgs {
    /// The file to write; it must not exist
    #[arg(value_name = "file", default_value = "workflow.toml")]
    pub file: PathBuf,
    /// Start from a preset: ralph, small
    #[arg(long, value_name = "name", default_value = "small")]
    pub preset: String,
}

pub fn run(ctx: &Ctx, args: &WorkflowNewArgs) -> Result<Exit> {
    let text = Definition::preset_text(&args.preset)?;
    let path = ctx.cwd.join(&args.file);
    let shown = args.file.display();
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Error::new(
            ErrorKind::AlreadyExists { existing: None },
            format!("{shown} already exists; nothing was written"),
        )
        .with_hint("name another file, or check the existing file with `forge workflow lint -f`"),
        _ => Error::invalid("file", format!("{shown} cannot be written: {e}")).with_source(e),
    })?;
    ctx.ui
        .success(&format!("wrote the workflow {} to {shown}", args.preset));
    Ok(Exit::Ok)
}
