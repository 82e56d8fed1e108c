//! `forge issue create`.

use clap::Args;
use forge_core::{Error, Result, model::NewIssue};

use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{
            body,
            shared::{names, repo_name},
        },
    },
    exit::Exit,
    ui::{editor, prompt},
};

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

/// Runs it.
///
/// # Errors
/// When there is no title, or the forge refuses it; then nothing is made.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCreateArgs) -> Result<Exit> {
    let has_body = args.body.body.is_some() || args.body.body_file.is_some();
    let complete = args.title.is_some() && has_body;
    if !complete && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "title",
            "must provide `--title` and `--body` when not running interactively",
        ));
    }
    let repo = ctx.repo(repo).await?;
    let text = body::read(&args.body, &repo)?;
    let title = match &args.title {
        Some(title) => title.clone(),
        None => prompt::line("Title", "")?,
    };
    let text = match text {
        Some(text) => text,
        None => editor::edit(ctx.config()?.editor().as_deref(), "")?,
    };
    let new = NewIssue {
        title,
        body: text,
        labels: names(&args.label),
        assignees: names(&args.assignee),
        ..NewIssue::default()
    };
    if ctx.ui.is_tty() {
        let name = repo_name(repo.id());
        ctx.ui.note(&format!("\nCreating issue in {name}\n"));
    }
    let made = ctx.ui.outcome(repo.create_issue(&new).await?)?;
    ctx.ui.url(&made.url)?;
    Ok(Exit::Ok)
}
