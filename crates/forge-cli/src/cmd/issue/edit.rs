//! `forge issue edit`.

use clap::Args;
use forge_core::{
    Error, Result,
    model::{EditIssue, SetChange},
};

use super::shared::select;
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{body, shared::names},
    },
    exit::Exit,
};

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

/// Runs it.
///
/// # Errors
/// When nothing is named that is to change, or the forge refuses it.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueEditArgs) -> Result<Exit> {
    let has_body = args.body.body.is_some() || args.body.body_file.is_some();
    // Lists that were given with nothing in them change nothing, and are no mistake.
    let has_labels = !args.add_label.is_empty() || !args.remove_label.is_empty();
    if args.title.is_none() && !has_body && !has_labels {
        return Err(Error::invalid("title", "nothing to change was named")
            .with_hint("pass --title, --body, --body-file, --add-label or --remove-label"));
    }
    let selected = select(ctx, repo, &args.selector).await?;
    let edit = EditIssue {
        title: args.title.clone(),
        body: body::read(&args.body, &selected.repo)?,
        labels: SetChange {
            add: names(&args.add_label),
            remove: names(&args.remove_label),
        },
        expected_version: None,
        ..EditIssue::default()
    };
    let edited = selected.repo.edit_issue(&selected.id, &edit).await?;
    let edited = ctx.ui.outcome(edited)?;
    ctx.ui.url(&edited.url)?;
    Ok(Exit::Ok)
}
