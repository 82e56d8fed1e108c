use clap::Args;

use super::{AttachArgs, WaitArgs};

/// What else would say what the changes are.
const EDITS_ALONE: [&str; 6] = [
    "patch",
    "depends_on",
    "fill",
    "fill_first",
    "fill_verbose",
    "web",
];

/// `forge pr create`
#[derive(Args, Debug, Default)]
pub struct CreateArgs {
    /// Assign people by login; "@me" assigns yourself
    #[arg(short, long, value_name = "login", value_delimiter = ',')]
    pub assignee: Vec<String>,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// The branch into which you want your changes merged
    #[arg(short = 'B', long, value_name = "branch")]
    pub base: Option<String>,
    /// The description
    #[arg(short, long, value_name = "text", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// Read the description from a file ("-" for standard input)
    #[arg(short = 'F', long, value_name = "file")]
    pub body_file: Option<String>,
    /// Take a file out, without a clone; more than once for more files
    #[arg(long, value_name = "path", conflicts_with_all = EDITS_ALONE)]
    pub delete: Vec<String>,
    /// Open it on top of another pull request, which has to be merged first: its number, URL, at-uri
    /// or branch
    #[arg(long, value_name = "pull request")]
    pub depends_on: Option<String>,
    /// Open it as a draft
    #[arg(short, long)]
    pub draft: bool,
    /// Print what would be opened, and open nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Give a file of the repository the content of a file here ("-" for standard input), without a
    /// clone; more than once for more files. --head names the new branch
    #[arg(long, value_name = "path>=<file", conflicts_with_all = EDITS_ALONE)]
    pub edit: Vec<String>,
    /// Write title and description in an editor: the first line is the title
    #[arg(short, long)]
    pub editor: bool,
    /// Take title and description from the commits
    #[arg(short, long)]
    pub fill: bool,
    /// Take title and description from the first commit
    #[arg(long)]
    pub fill_first: bool,
    /// Take the description from the messages of all commits in full
    #[arg(long)]
    pub fill_verbose: bool,
    /// The branch with your changes, or owner:branch [default: the current branch]
    #[arg(short = 'H', long, value_name = "branch")]
    pub head: Option<String>,
    /// Add labels by name
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Add it to a milestone by name
    #[arg(short, long, value_name = "name")]
    pub milestone: Option<String>,
    /// Keep the base repository's maintainers from pushing to a fork's branch
    #[arg(long)]
    pub no_maintainer_edit: bool,
    /// Take the changes from a file, as git format-patch writes it ("-" for standard input), not
    /// from a branch
    #[arg(long, value_name = "file", conflicts_with_all = ["head", "fill", "fill_first", "fill_verbose", "web"])]
    pub patch: Option<String>,
    /// Add it to projects by title
    #[arg(short, long, value_name = "title", value_delimiter = ',')]
    pub project: Vec<String>,
    /// Take title and description from the file that a failed attempt has kept
    #[arg(long, value_name = "file")]
    pub recover: Option<String>,
    /// Ask people or teams for a review, by login or org/team
    #[arg(short, long, value_name = "handle", value_delimiter = ',')]
    pub reviewer: Vec<String>,
    /// Start the description from this template file
    #[arg(short = 'T', long, value_name = "file", conflicts_with_all = ["body", "body_file"])]
    pub template: Option<String>,
    /// The title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// Open the form in the browser instead
    #[arg(short, long)]
    pub web: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}
