//! `forge issue create`.

use clap::Args;
use forge_core::{
    Error, Repo, Result, WebPage,
    model::{EditIssue, IssueId, NewIssue, SetChange},
};

use super::shared::{ValueArgs, all_related, related};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{
            body,
            shared::{names, non_empty, repo_name},
        },
    },
    exit::Exit,
    ui::{browser, editor, prompt},
};

/// `forge issue create`
#[derive(Args, Debug, Default)]
pub struct IssueCreateArgs {
    /// Assign people by login; "@me" assigns yourself
    #[arg(short, long, value_name = "login", value_delimiter = ',')]
    pub assignee: Vec<String>,
    /// Issues that block this one, by number or URL
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub blocked_by: Vec<String>,
    /// Issues that this one blocks, by number or URL
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub blocking: Vec<String>,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Write title and text in an editor: the first line is the title
    #[arg(short, long, conflicts_with_all = ["web", "body_file"])]
    pub editor: bool,
    /// Add labels by name
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Set the milestone, by name
    #[arg(short, long, value_name = "name")]
    pub milestone: Option<String>,
    /// The parent issue, by number or URL
    #[arg(long, value_name = "issue")]
    pub parent: Option<String>,
    /// The title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// Estimate and priority.
    #[command(flatten)]
    pub values: ValueArgs,
    /// Open the form in the browser instead
    #[arg(short, long)]
    pub web: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Creates an issue.
///
/// # Errors
///
/// Fails if there is no title, or the forge refuses the issue. Nothing is created then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCreateArgs) -> Result<Exit> {
    let has_body = args.body.body.is_some() || args.body.body_file.is_some();
    let complete = args.title.is_some() && has_body;
    if !complete && !args.editor && !args.web && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "title",
            "must provide `--title` and `--body` when not running interactively",
        ));
    }
    let repo = ctx.repo(repo).await?;
    let mut new = NewIssue::new(
        args.title.clone().unwrap_or_default(),
        body::read(&args.body, &repo)?.unwrap_or_default(),
    );
    new.labels = names(&args.label);
    new.assignees = names(&args.assignee);
    new.milestone = non_empty(args.milestone.as_ref());
    if args.web {
        let url = match repo.web_page(&WebPage::NewIssue(&new)) {
            Some(url) => url,
            None => repo.info().await?.url,
        };
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &url)?;
        return Ok(Exit::Ok);
    }
    if let Some(parent) = non_empty(args.parent.as_ref()) {
        new.parent = Some(related(ctx, &repo, &parent).await?);
    }
    new.blocked_by = all_related(ctx, &repo, &args.blocked_by).await?;
    if args.values.is_given() {
        let workflow = ctx.forges()?.workflow(&repo).await?;
        let mut edit = EditIssue::default();
        args.values.put(&workflow, None, &mut edit)?;
        let values = edit.values.into_iter();
        new.values = values.filter_map(|(k, v)| Some((k, v?))).collect();
        new.board = edit.board.filter(|_| !new.values.is_empty());
        new.labels.extend(edit.labels.add);
    }
    let blocking = all_related(ctx, &repo, &args.blocking).await?;
    let program = ctx.config()?.editor();
    if args.editor {
        let written = editor::edit(
            program.as_deref(),
            &format!("{}\n\n{}", new.title, new.body),
        )?;
        let (title, text) = written.split_once('\n').unwrap_or((&written, ""));
        new.title = title.trim().to_owned();
        new.body = text.trim_start_matches(['\r', '\n']).to_owned();
    } else {
        if args.title.is_none() {
            new.title = prompt::line("Title", "")?;
        }
        if !has_body {
            new.body = editor::edit(program.as_deref(), "")?;
        }
    }
    if ctx.ui.is_tty() {
        let name = repo_name(repo.id());
        ctx.ui.note(&format!("\nCreating issue in {name}\n"));
    }
    let made = repo.create_issue(&new).await;
    let made = made.map_err(|e| args.values.with_setup(e))?;
    let made = ctx.ui.outcome(made)?;
    ctx.ui.url(&made.url)?;
    match block(&repo, &made.id, blocking).await {
        Ok(()) => Ok(Exit::Ok),
        Err(e) => {
            // The issue exists already; repeating the command would create a second issue.
            let message = format!("{} is open; {}", made.id, e.message());
            let key = &made.id.key;
            let hint = format!("set what it blocks: forge issue edit {key} --add-blocking <issue>");
            Err(Error::new(e.kind().clone(), message).with_hint(hint))
        }
    }
}

/// Makes the new issue block others.
async fn block(repo: &Repo, new: &IssueId, others: Vec<IssueId>) -> Result<()> {
    let mut edit = EditIssue::default();
    edit.blocked_by = SetChange {
        add: vec![new.clone()],
        remove: Vec::new(),
    };
    let edits: Vec<_> = others.into_iter().map(|id| (id, edit.clone())).collect();
    if edits.is_empty() {
        return Ok(());
    }
    let written = repo.edit_issues(&edits).await?;
    written.into_iter().collect::<Result<Vec<_>>>().map(drop)
}
