//! Writes a manual page for each command: `cargo run -p forge-cli --example man -- <directory>`

use std::{error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("name a directory")?;
    fs::create_dir_all(&dir)?;
    clap_mangen::generate_to(forge_cli::definition(), &dir)?;
    Ok(())
}
