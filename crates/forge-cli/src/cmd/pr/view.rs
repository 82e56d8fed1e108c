//! `forge pr view`.

use clap::Args;
use forge::SelectedPull;
use forge_core::{
    Capability, Repo, Result,
    model::{PrFields, StatusEvent, StatusEventKind},
    text,
};

use super::{
    merge_prompt::linked_names,
    shared::has,
    view_text::{open_threads, piped, piped_comments, render_pull},
};
use crate::{
    args::output::JsonArgs,
    cmd::pages::collect,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{
        browser,
        json::{PULL_FIELDS, Selection},
    },
};

/// `forge pr view`
#[derive(Args, Debug, Default)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct ViewArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Also show the comments and reviews
    #[arg(short, long)]
    pub comments: bool,
    /// Show who opened, edited, closed and merged the pull request, and when
    #[arg(long, conflicts_with_all = ["comments", "json", "web"])]
    pub history: bool,
    /// Open the pull request in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints a pull request.
///
/// # Errors
///
/// Fails if the pull request cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ViewArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, PULL_FIELDS)?;
    // Reads only the parts that are shown, because each part costs at least one request.
    let head = PrFields::STATS | PrFields::PROJECTS | PrFields::AUTO_MERGE | PrFields::DEPENDS_ON;
    let mut fields = match &selection {
        Some(selection) => selection.sections(),
        None if args.web || args.history => PrFields::NONE,
        None if args.comments => head | PrFields::COMMENTS | PrFields::REVIEWS | PrFields::THREADS,
        None => head,
    };
    let named = args.selector.as_deref();
    let mut selected = select::pull_to_read(ctx, repo, named, Unnamed::NotWithRepo, fields).await?;
    if args.history {
        return history(ctx, &selected).await;
    }
    if selection.is_none() && !args.web && ctx.ui.is_tty() {
        fields |= on_terminal(&selected.repo, args.comments);
    }
    let mut pull = selected.view(fields).await?;
    if fields.contains(PrFields::FILES) && pull.head_patch.is_some() {
        let clone = ctx.clone_of(&selected.repo).await;
        let warnings = selected.repo.patch_warnings(&pull, clone).await?;
        pull.warnings.extend(warnings);
    }
    for warning in &pull.warnings {
        // Few tokens can read boards (GitHub projects). As in gh, warnings about boards are printed
        // only if `--json` requests the boards.
        let boards = selection.is_none() && warning.section == Some("projects");
        if !boards {
            ctx.ui.warning(warning);
        }
    }
    let closes = linked_names(ctx, &selected.repo, &pull);
    if args.web {
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &pull.url)?;
    } else if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.object(&pull))?;
    } else if ctx.ui.is_tty() {
        ctx.ui
            .page(&render_pull(ctx, &pull, closes.as_deref(), args.comments))?;
    } else if args.comments {
        ctx.ui.write(piped_comments(&pull).as_bytes())?;
        // The line is on stderr, because standard output has exactly gh's lines.
        if let Some(line) = open_threads(&ctx.ui, &pull) {
            ctx.ui.note(&line);
        }
    } else {
        ctx.ui.write(piped(&pull, closes.as_deref()).as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// Returns the optional parts that are shown on a terminal but not on a pipe.
fn on_terminal(repo: &Repo, comments: bool) -> PrFields {
    let mut fields = PrFields::REACTIONS;
    if has(repo, Capability::Checks) {
        fields |= PrFields::CHECKS;
    }
    if has(repo, Capability::PrCommits) {
        fields |= PrFields::COMMITS;
    }
    if !comments {
        // Only the newest comment is shown, so `NEWEST` saves the requests for older ones.
        fields |= PrFields::COMMENTS | PrFields::REVIEWS | PrFields::NEWEST;
    }
    fields
}

async fn history(ctx: &Ctx, selected: &SelectedPull) -> Result<Exit> {
    let SelectedPull { repo, id, .. } = selected;
    let found = collect(ctx, repo, u32::MAX, async |page| {
        repo.history(id, page).await
    })
    .await?;
    for event in &found.items {
        print_event(ctx, event)?;
    }
    Ok(Exit::Ok)
}

/// Prints one line of a history.
///
/// # Errors
///
/// Fails if stdout cannot be written.
pub(crate) fn print_event(ctx: &Ctx, event: &StatusEvent) -> Result<()> {
    let what = event_name(event.kind);
    let detail = event
        .detail
        .as_deref()
        .map(text::one_line)
        .unwrap_or_default();
    let by = text::one_line(&event.actor.login);
    if ctx.ui.is_tty() {
        let line = format!("{} {what} by {by} {detail}", event.created_at);
        return ctx.ui.line(line.trim_end());
    }
    let authority = text::one_line(event.authority.as_deref().unwrap_or(""));
    ctx.ui.line(&format!(
        "{}\t{what}\t{by}\t{authority}\t{detail}",
        event.created_at
    ))
}

fn event_name(kind: StatusEventKind) -> &'static str {
    match kind {
        StatusEventKind::Opened => "opened",
        StatusEventKind::Closed => "closed",
        StatusEventKind::Reopened => "reopened",
        StatusEventKind::Merged => "merged",
        StatusEventKind::ReadyForReview => "ready_for_review",
        StatusEventKind::ConvertedToDraft => "converted_to_draft",
        StatusEventKind::Edited => "edited",
        StatusEventKind::HeadChanged => "head_changed",
        StatusEventKind::Labeled => "labeled",
        StatusEventKind::Assigned => "assigned",
        StatusEventKind::Related => "related",
        StatusEventKind::Commented => "commented",
        _ => "changed",
    }
}
