//! Writes a manual page for each command: `cargo run -p forge-cli --example man -- <directory>`

use std::{error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from);
    let dir = dir.ok_or("name a directory")?;
    fs::create_dir_all(&dir)?;
    clap_mangen::generate_to(forge_cli::definition(), &dir)?;
    // The page that `git forge --help` opens.
    fs::write(dir.join("git-forge.1"), ".so man1/forge.1\n")?;
    Ok(())
}
