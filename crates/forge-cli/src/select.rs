//! From what a user types to one pull request.

use forge::Forges;
use forge_core::{
    Error, Noun, PrId, PrKey, PrSelector, Repo, RepoId, RepoPath, Result, locator,
    model::{HeadRef, LocalClone, PrFields, PrState, PullRequest, StateFilter},
};
use forge_git::{CurrentPull, GitConfig, PushedTo, current_pull};

use crate::cmd::{Ctx, pr::shared::head_ref_label};

/// A pull request that a selector names.
#[derive(Debug)]
pub struct Selected {
    /// Its repository.
    pub repo: Repo,
    /// What names it.
    pub id: PrId,
    /// The pull request, where the search has read it, and the sections that it has.
    found: Option<(PrFields, PullRequest)>,
}

impl Selected {
    fn id(repo: Repo, key: PrKey) -> Self {
        let id = PrId {
            repo: repo.id().clone(),
            key,
        };
        Self {
            repo,
            id,
            found: None,
        }
    }

    /// The pull request with these sections: without another request when [`pull`] has read them.
    ///
    /// # Errors
    /// As [`Repo::view`].
    pub async fn view(&mut self, fields: PrFields) -> Result<PullRequest> {
        match self.found.take() {
            Some((has, found)) if has.contains(fields) => Ok(found),
            _ => self.repo.view(&self.id, fields).await,
        }
    }
}

/// What a command allows when nothing is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// `-R` needs a name beside it.
    NotWithRepo,
    /// The current branch counts, whatever `-R` says (gh's `edit`).
    Current,
}

/// The pull request of a selector, or of the current branch.
///
/// `fields` are the sections that the caller is going to [`Selected::view`].
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
) -> Result<Selected> {
    let Some(text) = selector else {
        if flag.is_some() && unnamed == Unnamed::NotWithRepo {
            return Err(
                Error::invalid("repo", "argument required when using the --repo flag")
                    .with_hint("name the pull request: a number, a URL or a branch"),
            );
        }
        return current(ctx, flag, fields).await;
    };
    match locator::parse_selector(text, ctx.forges()?.hosts())? {
        PrSelector::Number(number) => {
            Ok(Selected::id(ctx.repo(flag).await?, PrKey::Number(number)))
        }
        PrSelector::Current => current(ctx, flag, fields).await,
        PrSelector::Branch { owner, branch } => {
            let head = HeadRef {
                owner,
                ..HeadRef::branch(branch)
            };
            by_head(ctx.repo(flag).await?, head, fields).await
        }
        PrSelector::Locator(_) => match ctx.forges()?.open_locator(text, ctx.policy()?).await? {
            (repo, Some(key)) => Ok(Selected::id(repo, key)),
            (repo, None) => Err(Error::invalid(
                "pull_request",
                format!("'{}' is a repository, not a pull request", repo.id()),
            )
            .with_hint(format!("pass '{}#<number>'", repo.id()))),
        },
    }
}

async fn current(ctx: &Ctx, flag: Option<&str>, fields: PrFields) -> Result<Selected> {
    let repo = ctx.repo(flag).await?;
    if is_here(ctx, &repo).await {
        let head = current_head(ctx, &repo).await?.ok_or_else(detached)?;
        return by_head(repo, head, fields).await;
    }
    let config = ctx.git_config().await?;
    match current_pull(ctx.git(), config)
        .await?
        .ok_or_else(detached)?
    {
        CurrentPull::Number { number, .. } => Ok(Selected::id(repo, PrKey::Number(number))),
        CurrentPull::Head { at, branch } => {
            let head = head_at(ctx.forges()?, &repo, &at, branch, config).await;
            by_head(repo, head, fields).await
        }
    }
}

/// The number that the clone says the current branch belongs to (`branch.<name>.merge` is
/// `refs/pull/<number>/head`).
///
/// # Errors
/// When git fails.
pub async fn current_number(ctx: &Ctx, repo: &Repo) -> Result<Option<u64>> {
    if is_here(ctx, repo).await {
        return Ok(None);
    }
    let config = ctx.git_config().await?;
    Ok(match current_pull(ctx.git(), config).await? {
        Some(CurrentPull::Number { number, .. }) => Some(number),
        None | Some(CurrentPull::Head { .. }) => None,
    })
}

/// Whether a remote of the clone is this repository.
pub async fn is_remote(ctx: &Ctx, repo: &Repo) -> Result<bool> {
    let Ok(config) = ctx.git_config().await else {
        return Ok(false);
    };
    let forges = ctx.forges()?;
    for remote in &config.remotes {
        let id = forges.remote_repo(&remote.url).await;
        if id.is_ok_and(|id| id.comparison_key() == repo.id().comparison_key()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The head of the current branch as `repo` knows it; `None` on a detached head.
///
/// # Errors
/// When git fails.
pub async fn current_head(ctx: &Ctx, repo: &Repo) -> Result<Option<HeadRef>> {
    if is_here(ctx, repo).await {
        let branch = forge_git::current_branch(ctx.git()).await?;
        return Ok(branch.map(HeadRef::branch));
    }
    let config = ctx.git_config().await?;
    Ok(match current_pull(ctx.git(), config).await? {
        None | Some(CurrentPull::Number { .. }) => None,
        Some(CurrentPull::Head { at, branch }) => {
            Some(head_at(ctx.forges()?, repo, &at, branch, config).await)
        }
    })
}

fn detached() -> Error {
    Error::not_found(
        Noun::Branch,
        "no branch is checked out here (HEAD is detached)",
    )
    .with_hint("name the pull request by number, URL or branch")
}

/// Whether the repository is the one that the user stands in. Then its branches are those of the
/// work tree, wherever they are pushed.
pub async fn is_here(ctx: &Ctx, repo: &Repo) -> bool {
    let RepoPath::Dir(dir) = &repo.id().path else {
        return false;
    };
    // What opened a repository has found its canonical directory.
    ctx.here().await == Some(dir.as_path())
}

/// A branch as `repo` knows it: with the owner of the repository that it is pushed to, where that is
/// another one, and with its name, where the owner alone would not tell.
async fn head_at(
    forges: &Forges,
    repo: &Repo,
    at: &PushedTo,
    branch: String,
    config: &GitConfig,
) -> HeadRef {
    let url = match at {
        PushedTo::Here => None,
        PushedTo::Url(url) => Some(url),
        PushedTo::Remote(name) => config.remote(name).map(|remote| &remote.url),
    };
    let head = match url {
        Some(url) => forges.remote_repo(url).await.ok(),
        None => None,
    };
    let head = head.filter(|head| head.comparison_key() != repo.id().comparison_key());
    let named = head.as_ref().and_then(RepoId::owner_and_name);
    let own = repo.id().owner_and_name().map(|(_, name)| name);
    HeadRef {
        owner: named.map(|(owner, _)| owner.to_owned()),
        repo: named
            .filter(|(_, name)| own.is_none_or(|own| !own.eq_ignore_ascii_case(name)))
            .map(|(_, name)| name.to_owned()),
        branch,
    }
}

/// The remote that stands for the repository of `owner`'s head branches (`None`: for `repo`
/// itself), to name it in a hint; `origin` where none does.
pub async fn remote_of(ctx: &Ctx, repo: &Repo, owner: Option<&str>) -> String {
    let name = own_remote(ctx, repo, owner).await;
    name.unwrap_or_else(|| "origin".to_owned())
}

/// The remote that stands for a repository, if one does.
pub async fn own_remote(ctx: &Ctx, repo: &Repo, owner: Option<&str>) -> Option<String> {
    let config = ctx.git_config().await.ok()?;
    let forges = ctx.forges().ok()?;
    for remote in &config.remotes {
        let Ok(id) = forges.remote_repo(&remote.url).await else {
            continue;
        };
        let is_it = match owner {
            None => id.comparison_key() == repo.id().comparison_key(),
            Some(owner) => id
                .owner_and_name()
                .is_some_and(|(o, _)| o.eq_ignore_ascii_case(owner)),
        };
        if is_it {
            return Some(remote.name.clone());
        }
    }
    None
}

/// The clone that the user stands in, if it is one of this repository.
pub async fn clone(ctx: &Ctx, repo: &Repo) -> Option<LocalClone> {
    ctx.forges().ok()?.clone_of(ctx.place(), repo).await
}

async fn by_head(repo: Repo, head: HeadRef, fields: PrFields) -> Result<Selected> {
    let label = head_ref_label(&head);
    let mut found = repo.find(&head, StateFilter::All, fields).await?;
    let open: Vec<&PullRequest> = found.iter().filter(|p| p.state == PrState::Open).collect();
    if open.len() > 1 {
        let list: Vec<String> = open
            .iter()
            .map(|p| format!("#{} into {}", p.id.key, p.base_branch))
            .collect();
        return Err(Error::invalid(
            "pull_request",
            format!(
                "branch \"{label}\" has {} open pull requests: {}",
                open.len(),
                list.join(", ")
            ),
        )
        .with_hint("name one of them by its number"));
    }
    // A merged pull request from the default branch says nothing about who stands on it now.
    if open.is_empty()
        && head.owner.is_none()
        && let Some(first) = found.first()
        && is_default(&repo, &head, first).await?
    {
        found.clear();
    }
    let Some(pull) = found.into_iter().next() else {
        return Err(Error::not_found(
            Noun::PullRequest,
            format!("no pull requests found for branch \"{label}\""),
        )
        .with_hint("see them all with `forge pr list --state all`"));
    };
    Ok(Selected {
        id: pull.id.clone(),
        repo,
        found: Some((fields, pull)),
    })
}

/// Whether the head of a pull request that was found is the default branch.
async fn is_default(repo: &Repo, head: &HeadRef, found: &PullRequest) -> Result<bool> {
    Ok(match found.head_is_default {
        Some(is_default) => is_default,
        None => repo.info().await?.default_branch.as_deref() == Some(head.branch.as_str()),
    })
}
