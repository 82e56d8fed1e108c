use clap::{Args, ValueEnum};

use crate::args::output::JsonArgs;

/// `--state`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StateArg {
    /// Open, drafts among them.
    #[default]
    Open,
    /// Closed, merged or not.
    Closed,
    /// Merged.
    Merged,
    /// All.
    All,
}

/// `forge pr list`
#[derive(Args, Debug, Default)]
pub struct ListArgs {
    /// By the GitHub app that opened it
    #[arg(long, value_name = "app", conflicts_with = "author")]
    pub app: Option<String>,
    /// By assignee
    #[arg(short, long, value_name = "login")]
    pub assignee: Option<String>,
    /// By author
    #[arg(short = 'A', long, value_name = "login")]
    pub author: Option<String>,
    /// By base branch
    #[arg(short = 'B', long, value_name = "branch")]
    pub base: Option<String>,
    /// Drafts alone, or with =false none of them
    #[arg(short, long, value_name = "bool", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub draft: Option<bool>,
    /// By head branch
    #[arg(short = 'H', long, value_name = "branch")]
    pub head: Option<String>,
    /// By labels, all of which it must have
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// How many at most
    #[arg(short = 'L', long, value_name = "number", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Words and qualifiers in GitHub's search syntax
    #[arg(short = 'S', long, value_name = "query")]
    pub search: Option<String>,
    /// By state
    #[arg(
        short,
        long,
        value_name = "state",
        value_enum,
        ignore_case = true,
        default_value_t
    )]
    pub state: StateArg,
    /// Open the list in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge pr status`
#[derive(Args, Debug, Default)]
pub struct StatusArgs {
    /// Show whether each can be merged
    #[arg(short, long)]
    pub conflict_status: bool,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge pr view`
#[derive(Args, Debug, Default)]
pub struct ViewArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Show the comments and reviews too
    #[arg(short, long)]
    pub comments: bool,
    /// Show who opened, edited, closed, merged it, and when
    #[arg(long, conflicts_with_all = ["comments", "json", "web"])]
    pub history: bool,
    /// Open it in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge pr checks`
#[derive(Args, Debug, Default)]
pub struct ChecksArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Leave the watch at the first failure
    #[arg(long, requires = "watch")]
    pub fail_fast: bool,
    /// Seconds between two looks
    #[arg(
        short,
        long,
        value_name = "seconds",
        default_value_t = 10,
        requires = "watch"
    )]
    pub interval: u64,
    /// Only those that the base branch requires
    #[arg(long)]
    pub required: bool,
    /// Wait until they have finished
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Open them in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge pr diff`
#[derive(Args, Debug, Default)]
pub struct DiffArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Write terminal escapes as they are
    #[arg(long)]
    pub allow_escape_sequences: bool,
    /// Leave out files that match these globs, by path or by base name
    #[arg(short, long, value_name = "patterns", value_delimiter = ',')]
    pub exclude: Vec<String>,
    /// Print the names of the changed files alone
    #[arg(long)]
    pub name_only: bool,
    /// Print a patch for each commit, as git format-patch writes it
    #[arg(long, conflicts_with = "name_only")]
    pub patch: bool,
    /// Show this round, counted from 0, in place of the newest
    #[arg(long, value_name = "number", conflicts_with_all = ["name_only", "web"])]
    pub round: Option<usize>,
    /// Leave out the files that this earlier round changed in the same way
    #[arg(long, value_name = "number", conflicts_with_all = ["name_only", "web", "patch"])]
    pub since: Option<usize>,
    /// Open it in the browser
    #[arg(short, long)]
    pub web: bool,
}
