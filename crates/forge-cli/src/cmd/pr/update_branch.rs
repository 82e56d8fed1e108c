//! `forge pr update-branch`.

use clap::Args;
use forge::SelectedPull;
use forge_core::{
    Result,
    model::{PrFields, UpdateBranch, UpdateMethod},
    text,
};

use crate::{
    args::wait::WaitArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::prompt,
};

/// `forge pr update-branch`
#[derive(Args, Debug, Default)]
pub struct UpdateBranchArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Rebase the commits onto the base branch instead of making a merge commit
    #[arg(long)]
    pub rebase: bool,
    /// Do not update the files of work trees that have the branch checked out (git repositories
    /// only)
    #[arg(long)]
    pub leave_checkout: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Updates the head branch from the base.
///
/// # Errors
///
/// Fails if the pull request is not open, head and base conflict, or the forge cannot update
/// branches.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &UpdateBranchArgs) -> Result<Exit> {
    let mut selected = select::pull(
        ctx,
        repo,
        args.selector.as_deref(),
        Unnamed::NotWithRepo,
        PrFields::TO_MERGE,
    )
    .await?;
    confirm_foreign_head(ctx, &mut selected).await?;
    let mut req = UpdateBranch::by(if args.rebase {
        UpdateMethod::Rebase
    } else {
        UpdateMethod::Merge
    });
    req.leave_checkout = args.leave_checkout;
    let mut outcome = selected.repo.update_branch(&selected.id, &req).await?;
    let done = if outcome.unchanged {
        // The warning is dropped, because the line printed below has the same meaning.
        outcome.warnings.clear();
        "PR branch already up-to-date"
    } else {
        "PR branch updated"
    };
    ctx.ui.outcome(outcome)?;
    // gh prints this on stdout, also on a pipe.
    let mark = ctx.ui.palette().green("✓");
    ctx.ui.line(&format!("{mark} {done}"))?;
    Ok(Exit::Ok)
}

/// Asks before a branch is changed that does not belong to the author of the pull request: everybody
/// can open a pull request from a branch of others. Without a terminal, warns.
async fn confirm_foreign_head(ctx: &Ctx, selected: &mut SelectedPull) -> Result<()> {
    let pull = selected.view(PrFields::TO_MERGE).await?;
    if pull.head_is_authors(None) {
        return Ok(());
    }
    let viewer = selected.repo.viewer().await.ok();
    if pull.head_is_authors(viewer.as_ref()) {
        return Ok(());
    }
    let place = pull.head_repo.as_ref().unwrap_or(&pull.id.repo);
    let what = text::one_line(&format!(
        "'{}' is a branch of {place}, and {} is the author of the pull request",
        pull.head_branch, pull.author.login
    ))
    .into_owned();
    if !ctx.ui.can_prompt() {
        ctx.ui.caution(&what);
        return Ok(());
    }
    if !prompt::confirm(&format!("{what}. Update the branch?"))? {
        return Err(prompt::cancelled());
    }
    Ok(())
}
