//! `forge issue delete`.

use clap::Args;
use forge_core::{Error, Result, model::IssueFields, text};

use super::shared::{select, with_title};
use crate::{args::wait::WaitArgs, ctx::Ctx, exit::Exit, ui::prompt};

/// `forge issue delete`
#[derive(Args, Debug, Default)]
pub struct IssueDeleteArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    // `--confirm`, gh's older name of this flag, is also accepted.
    /// Do not ask
    #[arg(long, alias = "confirm")]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Deletes an issue.
///
/// # Errors
///
/// Fails if the user does not confirm, or the forge refuses the deletion. Nothing is deleted then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueDeleteArgs) -> Result<Exit> {
    if !args.yes && !ctx.ui.can_prompt() {
        return Err(
            Error::invalid("yes", "--yes required when not running interactively")
                .with_hint("pass --yes to delete it without being asked"),
        );
    }
    let selected = select(ctx, repo, &args.selector).await?;
    let issue = selected
        .repo
        .issue(&selected.id, &IssueFields::NONE)
        .await?;
    if !args.yes {
        let key = issue.id.key.to_string();
        let title = text::one_line(&issue.title);
        ctx.ui.caution(&format!(
            "Deleted issues cannot be recovered: #{key} ({title})"
        ));
        let typed = prompt::line(&format!("Type {key} to confirm deletion"), "")?;
        if typed.trim().trim_start_matches('#') != key {
            return Err(prompt::cancelled());
        }
    }
    ctx.ui
        .removed(selected.repo.delete_issue(&selected.id).await?)?;
    ctx.ui
        .success(&format!("Deleted issue {}", with_title(&issue)));
    Ok(Exit::Ok)
}
