//! `forge issue …`.

use clap::{Args, Subcommand, ValueEnum};

use super::{
    output::{BodyArgs, JsonArgs},
    pr::WaitArgs,
};

/// `forge issue`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct IssueArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path, or local:.
    #[arg(short = 'R', long, global = true, value_name = "repository")]
    pub repo: Option<String>,
    /// The command.
    #[command(subcommand)]
    pub command: IssueCommand,
}

/// The commands on issues.
#[derive(Debug, Subcommand)]
pub enum IssueCommand {
    /// Open an issue
    #[command(alias = "new")]
    Create(IssueCreateArgs),
    /// List issues
    #[command(alias = "ls")]
    List(IssueListArgs),
    /// Show an issue
    View(IssueViewArgs),
    /// Close an issue
    Close(IssueCloseArgs),
    /// Comment on an issue
    Comment(IssueCommentArgs),
    /// Edit title, body and labels of an issue
    Edit(IssueEditArgs),
    /// Reopen an issue
    Reopen(IssueReopenArgs),
}

impl IssueCommand {
    /// The flags that say how long to wait; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::Create(args) => Some(&args.wait),
            Self::Close(args) => Some(&args.wait),
            Self::Comment(args) => Some(&args.wait),
            Self::Edit(args) => Some(&args.wait),
            Self::Reopen(args) => Some(&args.wait),
            Self::List(_) | Self::View(_) => None,
        }
    }
}

/// `--state`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IssueStateArg {
    /// Open.
    #[default]
    Open,
    /// Closed.
    Closed,
    /// All.
    All,
}

/// `--reason`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReasonArg {
    /// It is done.
    Completed,
    /// Nobody is going to do it.
    #[value(name = "not planned", alias = "not_planned")]
    NotPlanned,
    /// Another one says the same.
    Duplicate,
}

/// `forge issue create`
#[derive(Args, Debug, Default)]
pub struct IssueCreateArgs {
    /// Assign people by login; "@me" assigns yourself
    #[arg(short, long, value_name = "login", value_delimiter = ',')]
    pub assignee: Vec<String>,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Add labels by name
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// The title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge issue list`
#[derive(Args, Debug, Default)]
pub struct IssueListArgs {
    /// By assignee
    #[arg(short, long, value_name = "login")]
    pub assignee: Option<String>,
    /// By author
    #[arg(short = 'A', long, value_name = "login")]
    pub author: Option<String>,
    /// By labels, all of which it must have
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// How many at most
    #[arg(short = 'L', long, value_name = "number", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// By state
    #[arg(
        short,
        long,
        value_name = "state",
        value_enum,
        ignore_case = true,
        default_value_t
    )]
    pub state: IssueStateArg,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge issue view`
#[derive(Args, Debug, Default)]
pub struct IssueViewArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Show the comments too
    #[arg(short, long)]
    pub comments: bool,
    /// Open it in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge issue close`
#[derive(Args, Debug, Default)]
pub struct IssueCloseArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Leave a comment with it
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// Why it is closed
    #[arg(short, long, value_name = "reason", value_enum, ignore_case = true)]
    pub reason: Option<ReasonArg>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge issue comment`
#[derive(Args, Debug, Default)]
pub struct IssueCommentArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Write the text in an editor
    #[arg(short, long, conflicts_with_all = ["body", "body_file"])]
    pub editor: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge issue edit`
#[derive(Args, Debug, Default)]
pub struct IssueEditArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Add labels by name
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub add_label: Vec<String>,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Take labels off
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub remove_label: Vec<String>,
    /// The new title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge issue reopen`
#[derive(Args, Debug, Default)]
pub struct IssueReopenArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Leave a comment with it
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}
