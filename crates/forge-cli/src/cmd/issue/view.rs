//! `forge issue view`.

use clap::Args;
use forge_core::{Result, model::IssueFields};

use super::{
    shared::{select, selected_sections, shown_sections, with_values},
    view_text::{piped, piped_comments, render_issue},
};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        browser,
        json::{ISSUE_FIELDS, Selection},
    },
};

/// `forge issue view`
#[derive(Args, Debug, Default)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct IssueViewArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Also show the comments
    #[arg(short, long)]
    pub comments: bool,
    /// Open the issue in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints an issue.
///
/// # Errors
///
/// Fails if the issue cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueViewArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, ISSUE_FIELDS)?;
    let selected = select(ctx, repo, &args.selector).await?;
    let fields = match &selection {
        Some(selection) => selected_sections(ctx, &selected.repo, selection)?,
        None if args.web => IssueFields::NONE,
        None => shown_sections(ctx, &selected.repo, args.comments)?,
    };
    let issue = selected.repo.issue(&selected.id, &fields).await?;
    for warning in &issue.warnings {
        ctx.ui.warning(warning);
    }
    if args.web {
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &issue.url)?;
    } else if let Some(selection) = selection {
        for issue in with_values(ctx, &selected.repo, vec![issue], &selection).await? {
            selection.print(&ctx.ui, &selection.object(&issue))?;
        }
    } else if ctx.ui.is_tty() {
        ctx.ui.page(&render_issue(ctx, &issue))?;
    } else if args.comments {
        ctx.ui.write(piped_comments(&issue).as_bytes())?;
    } else {
        ctx.ui.write(piped(&issue).as_bytes())?;
    }
    Ok(Exit::Ok)
}
