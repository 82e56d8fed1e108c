//! `forge pr edit`.

use clap::Args;
use forge_core::{
    Error, Result,
    model::{EditPull, PrFields, SetChange},
};

use super::{
    attach::Files,
    body, edit_prompt,
    shared::{names, reviewers},
};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::pr::attach::AttachArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// `forge pr edit`
#[derive(Args, Debug, Default)]
#[command(mut_args(BodyArgs::with_help(
    "The new description",
    "Read the new description from a file (\"-\" for standard input)",
)))]
pub struct EditArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Assign people by login; "@me" assigns yourself
    #[arg(long, value_name = "login", value_delimiter = ',')]
    pub add_assignee: Vec<String>,
    /// Add labels by name
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub add_label: Vec<String>,
    /// Add the pull request to projects, by title
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
    /// Set the milestone, by name
    #[arg(short, long, value_name = "name", conflicts_with = "remove_milestone")]
    pub milestone: Option<String>,
    /// Remove assignees; "@me" removes yourself
    #[arg(long, value_name = "login", value_delimiter = ',')]
    pub remove_assignee: Vec<String>,
    /// Remove labels
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub remove_label: Vec<String>,
    /// Remove the milestone
    #[arg(long)]
    pub remove_milestone: bool,
    /// Remove the pull request from projects, by title
    #[arg(long, value_name = "title", value_delimiter = ',')]
    pub remove_project: Vec<String>,
    /// Withdraw review requests
    #[arg(long, value_name = "handle", value_delimiter = ',')]
    pub remove_reviewer: Vec<String>,
    /// The new title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Edits a pull request.
///
/// # Errors
///
/// Fails if no change is given, or a change is refused. Nothing is changed then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: EditArgs) -> Result<Exit> {
    let mut selected = select::pull(
        ctx,
        repo,
        args.selector.as_deref(),
        Unnamed::Current,
        PrFields::TO_CHANGE,
    )
    .await?;
    let files = Files::read(
        ctx,
        &args.attach,
        &selected.repo,
        args.body.body_file.as_deref(),
    )?;
    let mut description = body::read(&args.body, &selected.repo)?;
    // As in gh, files without a text are appended to the current text.
    let mut expected_version = None;
    if description.is_none() && !files.is_empty() {
        let pull = selected.view(PrFields::NONE).await?;
        description = Some(pull.description);
        expected_version = Some(pull.version);
    }
    let attached = files
        .upload(&selected.repo, description.clone().unwrap_or_default())
        .await?;
    let description = description.map(|_| attached.text.clone());
    // Flags with empty lists change nothing, but are accepted.
    let listed = [
        &args.add_label,
        &args.remove_label,
        &args.add_assignee,
        &args.remove_assignee,
        &args.add_reviewer,
        &args.remove_reviewer,
        &args.add_project,
        &args.remove_project,
    ]
    .iter()
    .any(|list| !list.is_empty());
    let mut edit = EditPull::default();
    edit.title = args.title;
    edit.description = description;
    edit.base = args.base;
    edit.labels = SetChange {
        add: names(&args.add_label),
        remove: names(&args.remove_label),
    };
    edit.assignees = SetChange {
        add: names(&args.add_assignee),
        remove: names(&args.remove_assignee),
    };
    edit.reviewers = SetChange {
        add: reviewers(&args.add_reviewer),
        remove: reviewers(&args.remove_reviewer),
    };
    // As in gh, an empty name removes the milestone.
    edit.milestone = args
        .milestone
        .map(|title| Some(title).filter(|t| !t.is_empty()))
        .or(args.remove_milestone.then_some(None));
    edit.projects = SetChange {
        add: names(&args.add_project),
        remove: names(&args.remove_project),
    };
    edit.expected_version = expected_version;
    if edit.is_empty() && listed {
        let pull = selected.view(PrFields::NONE).await?;
        ctx.ui.caution("nothing was changed");
        ctx.ui.url(&pull.url)?;
        return Ok(Exit::Ok);
    }
    if edit.is_empty() {
        if !ctx.ui.can_prompt() {
            return Err(Error::invalid(
                "title",
                "a flag that names what to edit is required when not running interactively",
            )
            .with_hint("pass a flag for each change: --title, --body, --base, --add-label, …"));
        }
        let fields = edit_prompt::fields(&selected.repo);
        let pull = selected.view(fields).await?;
        edit = edit_prompt::ask_edits(ctx, &selected.repo, &pull).await?;
        if edit.is_empty() {
            ctx.ui.caution("nothing was changed");
            ctx.ui.url(&pull.url)?;
            return Ok(Exit::Ok);
        }
    }
    let pull = ctx
        .ui
        .outcome(selected.repo.edit_pull(&selected.id, &edit).await?)?;
    ctx.ui.url(&pull.url)?;
    Ok(attached.report(ctx))
}
