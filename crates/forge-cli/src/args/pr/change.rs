use clap::Args;

use crate::args::output::BodyArgs;

use super::{AttachArgs, WaitArgs};

/// `forge pr close`
#[derive(Args, Debug, Default)]
pub struct CloseArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// Leave a comment with it
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// Delete the head branch afterwards
    #[arg(short, long)]
    pub delete_branch: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr reopen`
#[derive(Args, Debug, Default)]
pub struct ReopenArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// Leave a comment with it
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr ready`
#[derive(Args, Debug, Default)]
pub struct ReadyArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Make it a draft again
    #[arg(long)]
    pub undo: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr update-branch`
#[derive(Args, Debug, Default)]
pub struct UpdateBranchArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Put its commits on top of the base branch again, in place of a merge commit
    #[arg(long)]
    pub rebase: bool,
    /// Leave the files of a work tree that has the branch checked out as they are
    #[arg(long)]
    pub leave_checkout: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr comment`
#[derive(Args, Debug, Default)]
pub struct CommentArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// With --edit-last: comment if you have not commented yet
    #[arg(long, requires = "edit_last")]
    pub create_if_none: bool,
    /// Delete your last comment
    #[arg(long, conflicts_with_all = ["edit_last", "body", "body_file", "editor", "web"])]
    pub delete_last: bool,
    /// Replace your last comment
    #[arg(long)]
    pub edit_last: bool,
    /// Write the text in an editor
    #[arg(short, long)]
    pub editor: bool,
    /// Comment in the browser instead
    #[arg(short, long)]
    pub web: bool,
    /// With --delete-last: do not ask
    #[arg(long, requires = "delete_last")]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr edit`
#[derive(Args, Debug, Default)]
pub struct EditArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Assign people by login; "@me" assigns yourself
    #[arg(long, value_name = "login", value_delimiter = ',')]
    pub add_assignee: Vec<String>,
    /// Add labels by name
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub add_label: Vec<String>,
    /// Add it to projects by title
    #[arg(long, value_name = "title", value_delimiter = ',')]
    pub add_project: Vec<String>,
    /// Ask people or teams for a review
    #[arg(long, value_name = "handle", value_delimiter = ',')]
    pub add_reviewer: Vec<String>,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// Change the base branch
    #[arg(short = 'B', long, value_name = "branch")]
    pub base: Option<String>,
    /// The description.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Put it on a milestone by name
    #[arg(short, long, value_name = "name", conflicts_with = "remove_milestone")]
    pub milestone: Option<String>,
    /// Take assignees off; "@me" takes yourself off
    #[arg(long, value_name = "login", value_delimiter = ',')]
    pub remove_assignee: Vec<String>,
    /// Take labels off
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub remove_label: Vec<String>,
    /// Take it off its milestone
    #[arg(long)]
    pub remove_milestone: bool,
    /// Take it out of projects by title
    #[arg(long, value_name = "title", value_delimiter = ',')]
    pub remove_project: Vec<String>,
    /// Take back requests for a review
    #[arg(long, value_name = "handle", value_delimiter = ',')]
    pub remove_reviewer: Vec<String>,
    /// The new title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr merge`
#[derive(Args, Debug, Default)]
pub struct MergeArgs {
    /// Number, URL or branch [default: that of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Merge although requirements are not met
    #[arg(long, conflicts_with = "auto")]
    pub admin: bool,
    /// The e-mail address of the merge commit's author
    #[arg(short = 'A', long, value_name = "text")]
    pub author_email: Option<String>,
    /// Merge by itself once the requirements are met
    #[arg(long)]
    pub auto: bool,
    /// The body of the merge commit's message.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Delete the head branch afterwards
    #[arg(short, long)]
    pub delete_branch: bool,
    /// Take back --auto
    #[arg(long, conflicts_with_all = ["auto", "admin", "merge", "rebase", "squash"])]
    pub disable_auto: bool,
    /// Leave the files of a work tree that has the base branch checked out as they are
    #[arg(long)]
    pub leave_checkout: bool,
    /// Refuse unless the head is this commit, given by its full id
    #[arg(long, value_name = "SHA")]
    pub match_head_commit: Option<String>,
    /// Merge with a merge commit
    #[arg(short, long)]
    pub merge: bool,
    /// Rebase the commits onto the base branch
    #[arg(short, long)]
    pub rebase: bool,
    /// Squash the commits into one
    #[arg(short, long)]
    pub squash: bool,
    /// The subject of the merge commit's message
    #[arg(short = 't', long, value_name = "text")]
    pub subject: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}
