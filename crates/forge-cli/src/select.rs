//! Resolves the user's selector to one pull request.

use forge::SelectedPull;
use forge_core::{
    Error, PrKey, PrSelector, Result, locator,
    model::{HeadRef, PrFields},
};

use crate::ctx::Ctx;

/// How a command selects the pull request if the user names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// By the current branch; an error with `-R`.
    NotWithRepo,
    /// By the current branch, even with `-R` (as gh's `edit`).
    Current,
}

/// Resolves a selector, or the current branch, for a command that changes the pull request.
///
/// `fields` are the parts of the pull request that the caller will read with
/// [`SelectedPull::view`].
///
/// # Errors
///
/// `not_found` if the branch has no pull request; `invalid_input` if the branch has several open
/// ones, or if the selector is invalid.
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

/// Like [`pull`], for a command that only reads. If the branch has several open pull requests, uses
/// the newest, as gh does, and warns about the others. This is safe, because a command that only
/// reads does no harm to the wrong pull request.
///
/// # Errors
///
/// The errors of [`pull`], except the one for several open pull requests.
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

/// Like [`pull`], but uses the newest if the branch has several open pull requests.
///
/// # Errors
///
/// The errors of [`pull`], except the one for several open pull requests.
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
            let mut head = HeadRef::branch(branch);
            head.owner = owner;
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
