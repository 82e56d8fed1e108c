use clap::Args;

use crate::args::output::JsonArgs;

/// `forge pr context`
#[derive(Args, Debug, Default)]
pub struct ContextArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Sections: comments, reviews, ci, ci_logs, linked_issues, related_prs, diff, files, history
    /// [default: comments,reviews,ci,linked_issues,diff, or those of --json]
    #[arg(short, long, value_name = "sections", value_delimiter = ',')]
    pub include: Vec<String>,
    /// Show so many bytes of the diff
    #[arg(long, value_name = "bytes", default_value_t = forge::context::DEFAULT_DIFF_BYTES)]
    pub max_diff: usize,
    /// Lines of context around changes, where the forge can choose
    #[arg(short = 'U', long, value_name = "lines")]
    pub context_lines: Option<u32>,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
