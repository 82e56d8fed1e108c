use clap::Args;

use super::WaitArgs;
use crate::args::output::JsonArgs;

/// `forge pr resubmit`
#[derive(Args, Debug, Default)]
pub struct ResubmitArgs {
    /// Number, URL, at-uri or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Leave a comment on the new round
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// Take the changes from this branch of your clone, not from the head branch on the forge
    #[arg(short = 'H', long, value_name = "branch", conflicts_with = "patch")]
    pub head: Option<String>,
    /// Take the changes from a file, as git format-patch writes it ("-" for standard input)
    #[arg(long, value_name = "file")]
    pub patch: Option<String>,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}
