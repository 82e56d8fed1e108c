use clap::Args;

use super::output::JsonArgs;

/// `forge capabilities`
#[derive(Args, Debug)]
pub struct CapabilitiesArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path, or local:.
    #[arg(short = 'R', long, value_name = "repository")]
    pub repo: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
