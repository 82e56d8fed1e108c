//! `forge pr resubmit`.

use forge_core::{
    Result,
    model::{PrFields, Resubmit},
};

use super::{patch, shared::pull_name};
use crate::{
    args::pr::ResubmitArgs,
    cmd::Ctx,
    exit::Exit,
    select::{self, Unnamed},
};

/// Runs it.
///
/// # Errors
/// When there is nothing new to submit from, or the forge has no rounds; then nothing is changed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ResubmitArgs) -> Result<Exit> {
    let named = args.selector.as_deref();
    let mut selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    let patch = match (&args.patch, &args.head) {
        (Some(file), _) => Some(patch::read(file)?),
        (None, Some(branch)) => {
            let pull = selected.view(PrFields::NONE).await?;
            Some(patch::of_branch(ctx, &selected.repo, &pull, branch).await?)
        }
        (None, None) => None,
    };
    let req = Resubmit {
        patch,
        comment: args.comment.clone(),
        expected_version: None,
    };
    let outcome = selected.repo.resubmit(&selected.id, &req).await?;
    let unchanged = outcome.unchanged;
    let pull = ctx.ui.outcome(outcome)?;
    if !unchanged {
        let newest = pull.rounds.unwrap_or_default().saturating_sub(1);
        let name = pull_name(&pull.id);
        ctx.ui
            .success(&format!("Submitted round {newest} of pull request {name}"));
    }
    ctx.ui.line(&pull.url)?;
    Ok(Exit::Ok)
}
