//! From what a user types to one pull request.

use forge::SelectedPull;
use forge_core::{
    Error, PrKey, PrSelector, Result, locator,
    model::{HeadRef, PrFields},
};

use crate::ctx::Ctx;

/// What a command allows when nothing is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// `-R` needs a name beside it.
    NotWithRepo,
    /// The current branch counts, whatever `-R` says (gh's `edit`).
    Current,
}

/// The pull request of a selector, or of the current branch, for a command that changes it.
///
/// `fields` are the sections that the caller is going to [`SelectedPull::view`].
///
/// # Errors
/// `not_found` when no pull request has the branch; `invalid_input` when two open ones have it, or
/// for a selector that names no pull request.
pub async fn pull(
    ctx: &Ctx,
    flag: Option<&str>,
    selector: Option<&str>,
    unnamed: Unnamed,
    fields: PrFields,
) -> Result<SelectedPull> {
    let found = newest_pull(ctx, flag, selector, unnamed, fields).await?;
    found.unambiguous()
}

/// As [`pull`], for a command that changes nothing on the forge: where two open ones have the branch,
/// the newest as in gh, and a warning names the others. A wrong guess costs another look there; a
/// wrong merge or comment could not be taken back.
///
/// # Errors
/// As [`pull`], but for a branch of two.
pub async fn pull_to_read(
    ctx: &Ctx,
    flag: Option<&str>,
    selector: Option<&str>,
    unnamed: Unnamed,
    fields: PrFields,
) -> Result<SelectedPull> {
    let found = newest_pull(ctx, flag, selector, unnamed, fields).await?;
    if found.is_ambiguous()
        && let Some(warning) = found.ambiguity()
    {
        ctx.ui.warning(&warning);
    }
    Ok(found)
}

/// As [`pull`]; where two open ones have the branch, the newest.
///
/// # Errors
/// As [`pull`], but for a branch of two.
pub async fn newest_pull(
    ctx: &Ctx,
    flag: Option<&str>,
    selector: Option<&str>,
    unnamed: Unnamed,
    fields: PrFields,
) -> Result<SelectedPull> {
    let Some(text) = selector else {
        if flag.is_some() && unnamed == Unnamed::NotWithRepo {
            return Err(
                Error::invalid("repo", "argument required when using the --repo flag")
                    .with_hint("name the pull request: a number, a URL or a branch"),
            );
        }
        let repo = ctx.repo(flag).await?;
        return ctx.working_copy()?.current_pull(repo, fields).await;
    };
    match locator::parse_selector(text, ctx.forges()?.hosts())? {
        PrSelector::Number(number) => {
            let repo = ctx.repo(flag).await?;
            Ok(SelectedPull::by_key(repo, PrKey::Number(number)))
        }
        PrSelector::Current => {
            let repo = ctx.repo(flag).await?;
            ctx.working_copy()?.current_pull(repo, fields).await
        }
        PrSelector::Branch { owner, branch } => {
            let head = HeadRef {
                owner,
                ..HeadRef::branch(branch)
            };
            SelectedPull::by_head(ctx.repo(flag).await?, &head, fields).await
        }
        PrSelector::Locator(_) => match ctx.forges()?.open_locator(text, ctx.policy()?).await? {
            (repo, Some(key)) => Ok(SelectedPull::by_key(repo, key)),
            (repo, None) => Err(Error::invalid(
                "pull_request",
                format!("'{}' is a repository, not a pull request", repo.id()),
            )
            .with_hint(format!("pass '{}#<number>'", repo.id()))),
        },
    }
}
