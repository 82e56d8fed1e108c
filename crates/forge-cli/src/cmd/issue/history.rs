//! `forge issue history`.

use clap::Args;
use forge_core::Result;

use super::shared::select;
use crate::{
    args::output::JsonArgs,
    cmd::{pages::collect, pr::view::print_event},
    ctx::Ctx,
    exit::Exit,
    ui::json::{EVENT_FIELDS, Selection},
};

/// `forge issue history`
#[derive(Args, Debug, Default)]
pub struct IssueHistoryArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints the history.
///
/// # Errors
///
/// Fails if the history cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueHistoryArgs) -> Result<Exit> {
    let json = args.json.or_all(EVENT_FIELDS.iter().map(|f| f.name));
    let selection = Selection::from_args(&json, EVENT_FIELDS)?;
    let selected = select(ctx, repo, &args.selector).await?;
    let found = collect(ctx, &selected.repo, u32::MAX, async |page| {
        selected.repo.issue_history(&selected.id, page).await
    })
    .await?;
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.array(&found.items))?,
        None => {
            for event in &found.items {
                print_event(ctx, event)?;
            }
        }
    }
    Ok(Exit::Ok)
}
