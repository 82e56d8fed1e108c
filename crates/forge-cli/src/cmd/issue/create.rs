//! `forge issue create`.

use clap::Args;
use forge_core::{
    Error, ErrorKind, Op, Outcome, Repo, Result, WebPage,
    model::{EditIssue, Issue, IssueId, NewIssue, SetChange},
    text,
};
use forge_git::command_line;
use serde::{Deserialize, Serialize};

use super::shared::{ValueArgs, all_related, related};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{
            attach::{self, AttachArgs, AttachedText, Files},
            body, draft,
            shared::{names, non_empty, repo_name},
            templates::{self, TemplateKind},
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
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
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
    /// Add the issue to projects, by title
    #[arg(short, long, value_name = "title", value_delimiter = ',')]
    pub project: Vec<String>,
    /// Restore the input of a failed attempt from the file that the attempt saved
    #[arg(long, value_name = "file")]
    pub recover: Option<String>,
    /// Start the text from this template: its name, or a file
    #[arg(short = 'T', long, value_name = "name", conflicts_with_all = ["body", "body_file"])]
    pub template: Option<String>,
    /// The title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// Set the type, by name
    #[arg(long = "type", value_name = "name")]
    pub issue_type: Option<String>,
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

/// The user's input, saved to a file if the issue cannot be created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct IssueDraft {
    title: String,
    body: String,
    assignees: Vec<String>,
    labels: Vec<String>,
    milestone: Option<String>,
    issue_type: Option<String>,
    projects: Vec<String>,
    parent: Option<String>,
    blocked_by: Vec<String>,
    blocking: Vec<String>,
    values: ValueArgs,
    attach: Vec<String>,
}

impl IssueDraft {
    /// Returns the draft of `--recover`, overridden by flags.
    fn read(ctx: &Ctx, args: &IssueCreateArgs, repo: &Repo) -> Result<Self> {
        let mut draft: Self = match &args.recover {
            Some(path) => draft::load(path, COMMAND)?,
            None => Self::default(),
        };
        draft.title = args.title.clone().unwrap_or(draft.title);
        let (body, file) = (args.body.body.as_deref(), args.body.body_file.as_deref());
        draft.body = body::read_new(ctx, body, file, repo)?.unwrap_or(draft.body);
        for (list, flag) in [
            (&mut draft.assignees, &args.assignee),
            (&mut draft.labels, &args.label),
            (&mut draft.projects, &args.project),
            (&mut draft.blocked_by, &args.blocked_by),
            (&mut draft.blocking, &args.blocking),
        ] {
            if !flag.is_empty() {
                *list = names(flag);
            }
        }
        draft.milestone = non_empty(args.milestone.as_ref()).or(draft.milestone);
        draft.issue_type = non_empty(args.issue_type.as_ref()).or(draft.issue_type);
        draft.parent = non_empty(args.parent.as_ref()).or(draft.parent);
        let values = args.values.clone();
        draft.values.estimate = values.estimate.or(draft.values.estimate);
        draft.values.priority = values.priority.or(draft.values.priority);
        if !args.attach.attach.is_empty() {
            draft.attach.clone_from(&args.attach.attach);
        }
        Ok(draft)
    }
}

/// The command name under which drafts are saved and restored.
const COMMAND: &str = "issue create";

impl IssueCreateArgs {
    fn has_body(&self) -> bool {
        self.body.body.is_some() || self.body.body_file.is_some()
    }

    /// Checks the flags without reading anything.
    fn check(&self, ctx: &Ctx) -> Result<()> {
        editor::check_flag(&ctx.ui, self.editor)?;
        // A template may propose the title.
        let complete = self.recover.is_some()
            || self.template.is_some()
            || self.title.is_some() && self.has_body();
        if !complete && !self.web && !ctx.ui.can_prompt() {
            return Err(Error::invalid(
                "title",
                "must provide `--title` and `--body` when not running interactively",
            ));
        }
        if self.web && !self.attach.attach.is_empty() {
            return Err(attach::attach_conflict_error("--web"));
        }
        // GitHub's form selects projects by number, but `--project` takes titles.
        if self.web && !self.project.is_empty() {
            return Err(Error::invalid(
                "projects",
                "the `--project` flag is not supported with `--web`",
            )
            .with_hint("omit one of them"));
        }
        Ok(())
    }
}

/// Creates an issue.
///
/// # Errors
///
/// Fails if there is no title, or the forge refuses the issue. Nothing is created then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCreateArgs) -> Result<Exit> {
    args.check(ctx)?;
    let repo = ctx.repo(repo).await?;
    // With `--web`, the form in the browser reads the template itself.
    let template = args.template.as_deref().filter(|_| !args.web);
    if let Some(name) = template {
        templates::check_work_tree(ctx, &repo, name).await?;
    }
    let mut draft = IssueDraft::read(ctx, args, &repo)?;
    if args.web {
        let form = with_draft(NewIssue::default(), &draft);
        let page = WebPage::NewIssue {
            request: &form,
            template: args.template.as_deref(),
        };
        let url = match repo.web_page(&page) {
            Some(url) => url,
            None => repo.info().await?.url,
        };
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &url)?;
        return Ok(Exit::Ok);
    }
    let attach = AttachArgs {
        attach: draft.attach.clone(),
    };
    let files = Files::read(ctx, &attach, &repo, args.body.body_file.as_deref())?;
    if let Some(name) = template {
        let template = templates::selected(ctx, TemplateKind::Issue, name).await?;
        // Recovered text takes precedence over the template.
        for (text, start) in [
            (&mut draft.title, template.title),
            (&mut draft.body, template.body),
        ] {
            if text.is_empty() {
                *text = start;
            }
        }
        if draft.title.trim().is_empty() && !ctx.ui.can_prompt() {
            let message = format!("the template '{name}' proposes no title");
            return Err(Error::invalid("title", message).with_hint("pass --title"));
        }
    }
    let mut new = NewIssue::default();
    if let Some(parent) = &draft.parent {
        new.parent = Some(related(ctx, &repo, parent).await?);
    }
    new.blocked_by = all_related(ctx, &repo, &draft.blocked_by).await?;
    let sized = match draft.values.is_given() {
        true => Some(values_edit(ctx, &repo, &draft.values).await?),
        false => None,
    };
    let blocking = all_related(ctx, &repo, &draft.blocking).await?;
    if ctx.ui.is_tty() {
        let name = repo_name(repo.id());
        ctx.ui.note(&format!("\nCreating issue in {name}\n"));
    }
    let has_labels = !draft.labels.is_empty() || !draft.assignees.is_empty();
    ctx.warn_of_index(&repo, Op::IssueCreate, has_labels).await;
    let is_given = args.title.is_some() && args.has_body();
    let typed = args.editor || !is_given && ctx.ui.can_prompt();
    let asked = match typed {
        true => ask_text(ctx, &repo, args, &mut draft).await,
        false => Ok(()),
    };
    if let Err(e) = asked {
        if !matches!(e.kind(), ErrorKind::Cancelled) {
            draft::keep(&ctx.ui, &draft, COMMAND);
        }
        return Err(e);
    }
    let mut new = with_draft(new, &draft);
    if let Some(edit) = sized {
        let values = edit.values.into_iter();
        new.values = values.filter_map(|(k, v)| Some((k, v?))).collect();
        new.board = edit.board.filter(|_| !new.values.is_empty());
        new.labels.extend(edit.labels.add);
    }
    let made = make(&repo, files, new).await;
    let (made, attached) = made.map_err(|e| {
        // Save the text only if the user typed it.
        if typed {
            draft::keep(&ctx.ui, &draft, COMMAND);
        }
        draft.values.with_setup(e)
    })?;
    let made = ctx.ui.outcome(made)?;
    ctx.ui.url(&made.url)?;
    match set_blocked_issues(&repo, &made.id, blocking).await {
        Ok(()) => Ok(attached.report(ctx)),
        Err(e) => {
            // The issue exists already; repeating the command would create a second issue.
            let why = e.message();
            let message = format!(
                "{} was created, but its blocked issues were not set: {why}",
                made.id
            );
            let key = &made.id.key;
            let edit = command_line(["forge", "issue", "edit", &key.to_string()]);
            let hint = format!("set the blocked issues: {edit} --add-blocking <issue>");
            Err(Error::new(e.kind().clone(), message).with_hint(hint))
        }
    }
}

/// Adds title, text and metadata of `draft` to the request.
fn with_draft(mut new: NewIssue, draft: &IssueDraft) -> NewIssue {
    new.title.clone_from(&draft.title);
    new.body.clone_from(&draft.body);
    new.labels.clone_from(&draft.labels);
    new.assignees.clone_from(&draft.assignees);
    new.milestone.clone_from(&draft.milestone);
    new.issue_type.clone_from(&draft.issue_type);
    new.projects.clone_from(&draft.projects);
    new
}

/// Returns an edit that sets estimate and priority of the new issue.
async fn values_edit(ctx: &Ctx, repo: &Repo, values: &ValueArgs) -> Result<EditIssue> {
    let workflow = ctx.forges()?.workflow(repo).await?;
    let mut edit = EditIssue::default();
    values.put(&workflow, None, &mut edit)?;
    Ok(edit)
}

/// Asks for the title and text that no flag sets, then whether to submit the issue.
async fn ask_text(
    ctx: &Ctx,
    repo: &Repo,
    args: &IssueCreateArgs,
    draft: &mut IssueDraft,
) -> Result<()> {
    let program = ctx.config()?.editor();
    if args.editor {
        let start = format!("{}\n\n{}", draft.title, draft.body);
        let written = editor::edit(program.as_deref(), &start)?;
        let (title, text) = written.split_once('\n').unwrap_or((&written, ""));
        draft.title = title.trim().to_owned();
        draft.body = text.trim_start_matches(['\r', '\n']).to_owned();
        return Ok(());
    }
    if args.title.is_none() {
        draft.title = prompt::title(&text::one_line(&draft.title))?;
    }
    if !args.has_body() {
        let chooses = args.template.is_none() && args.recover.is_none();
        if chooses && templates::has_work_tree(ctx, repo).await {
            let blank = "Open a blank issue";
            draft.body = templates::choose(ctx, TemplateKind::Issue, blank).await?;
        }
        body::ask(program.as_deref(), &mut draft.body)?;
    }
    match prompt::choose("What's next?", &["Submit", "Cancel"])? {
        0 => Ok(()),
        _ => Err(prompt::cancelled()),
    }
}

/// Uploads the files and creates the issue.
async fn make(
    repo: &Repo,
    files: Files,
    mut new: NewIssue,
) -> Result<(Outcome<Issue>, AttachedText)> {
    let attached = files.upload(repo, std::mem::take(&mut new.body)).await?;
    new.body.clone_from(&attached.text);
    Ok((repo.create_issue(&new).await?, attached))
}

async fn set_blocked_issues(repo: &Repo, new: &IssueId, others: Vec<IssueId>) -> Result<()> {
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
