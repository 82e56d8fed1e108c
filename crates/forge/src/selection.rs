//! Resolves a caller's selector (such as a number, a URL or a branch) to one pull request.

use forge_core::{
    Action, Error, Hint, Noun, Op, PageReq, Param, PrId, PrKey, Repo, RepoId, RepoPath, Result,
    Warning,
    model::{HeadRef, PrFields, PrState, PullQuery, PullRequest, StateFilter},
};
use forge_git::{CurrentPull, PushedTo, UpstreamBranch, WorkingDir, current_pull};

use crate::{Forges, resolve};

/// A pull request named by a selector.
#[derive(Debug)]
pub struct SelectedPull {
    /// Repository of the pull request.
    pub repo: Repo,
    /// Id of the pull request.
    pub id: PrId,
    /// The pull request, if the search already read it, and the fields that were read.
    found: Option<(PrFields, PullRequest)>,
    /// The head branch that was searched for, and all pull requests with this head branch. The
    /// selected pull request is first.
    matches: Option<(HeadRef, Vec<PullMatch>)>,
}

/// A pull request that the search for a head branch found.
#[derive(Debug)]
struct PullMatch {
    key: PrKey,
    base_branch: String,
    state: PrState,
}

/// Maximum number of pull requests that a warning about a shared head branch lists.
const MAX_NAMED: usize = 5;

impl SelectedPull {
    /// Returns the pull request with this key, without reading it.
    #[must_use]
    pub fn by_key(repo: Repo, key: PrKey) -> Self {
        let id = PrId {
            repo: repo.id().clone(),
            key,
        };
        Self {
            repo,
            id,
            found: None,
            matches: None,
        }
    }

    /// Finds the pull request with the head branch `head`: the newest open one, else the newest
    /// closed or merged one. `fields` selects which fields of the pull request are read. If there
    /// are several open pull requests, [`Self::unambiguous`] fails.
    ///
    /// # Errors
    /// `not_found` if no pull request has this head.
    pub async fn by_head(repo: Repo, head: &HeadRef, fields: PrFields) -> Result<Self> {
        let matches = repo.find(head, StateFilter::All, fields).await?;
        let unproven = matches.unproven_error(&head.to_string());
        let mut found = matches.pulls;
        // If the head is the default branch, a closed or merged pull request is not used, because
        // it is unrelated to the current work on this branch.
        if found.iter().all(|p| p.state != PrState::Open)
            && head.owner.is_none()
            && let Some(first) = found.first()
            && is_default(&repo, head, first).await?
        {
            found.clear();
        }
        let matches = found.iter().map(|p| PullMatch {
            key: p.id.key.clone(),
            base_branch: p.base_branch.clone(),
            state: p.state,
        });
        let matches = Some((head.clone(), matches.collect()));
        let Some(pull) = found.into_iter().next() else {
            let all = Action::op(Op::PrList).with(Param::State, "all");
            if let Some(error) = unproven {
                return Err(error);
            }
            let hint = if head.branch == "current" {
                "for the pull request of the current branch, pass '.'; list all pull requests"
            } else {
                "list all pull requests"
            };
            return Err(Error::not_found(
                Noun::PullRequest,
                format!("no pull requests found for branch \"{head}\""),
            )
            .with_hint(Hint::new(hint).with_action(all)));
        };
        Ok(Self {
            id: pull.id.clone(),
            repo,
            found: Some((fields, pull)),
            matches,
        })
    }

    /// Returns true if several open pull requests have the head branch of this one.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        let matches = self.matches.iter().flat_map(|(_, matches)| matches);
        matches.filter(|p| p.state == PrState::Open).count() > 1
    }

    /// Returns the pull request as the search read it; `None` if the search did not read it.
    #[must_use]
    pub fn found(&self) -> Option<&PullRequest> {
        self.found.as_ref().map(|(_, pull)| pull)
    }

    /// Returns this pull request, if no other open pull request has its head branch.
    ///
    /// # Errors
    /// `invalid_input` if several open pull requests share the head branch; the error lists them.
    pub fn unambiguous(self) -> Result<Self> {
        let Some((head, matches)) = self.matches.as_ref().filter(|_| self.is_ambiguous()) else {
            return Ok(self);
        };
        let open: Vec<String> = matches
            .iter()
            .filter(|p| p.state == PrState::Open)
            .map(|p| format!("#{} into {}", p.key, p.base_branch))
            .collect();
        Err(Error::invalid(
            "pull_request",
            format!(
                "branch \"{head}\" has {} open pull requests: {}",
                open.len(),
                open.join(", ")
            ),
        )
        .with_hint("name one of them by its number"))
    }

    /// Warns about other pull requests with the same head branch.
    #[must_use]
    pub fn ambiguity(&self) -> Option<Warning> {
        let (head, matches) = self.matches.as_ref()?;
        let (_, others) = matches.split_first()?;
        let name = |p: &PullMatch| {
            let state = match p.state {
                PrState::Open => "open",
                PrState::Closed => "closed",
                PrState::Merged => "merged",
            };
            format!("#{} into {} ({state})", p.key, p.base_branch)
        };
        let names: Vec<String> = others.iter().take(MAX_NAMED).map(name).collect();
        (!names.is_empty()).then(|| {
            Warning::new(format!(
                "branch \"{head}\" has {} pull requests; #{} is used, others are {}",
                matches.len(),
                self.id.key,
                names.join(", ")
            ))
            .with_hint("to use another pull request, name it by its number")
        })
    }

    /// Returns the pull request with these fields. Sends no request if the search has already read
    /// the fields.
    ///
    /// # Errors
    /// The errors of [`Repo::pull`].
    pub async fn view(&mut self, fields: PrFields) -> Result<PullRequest> {
        match self.found.take() {
            Some((has, found)) if has.contains(fields) => Ok(found),
            _ => self.repo.pull(&self.id, fields).await,
        }
    }
}

/// The caller's working directory, with the forges of its remotes.
#[derive(Clone, Copy, Debug)]
pub struct WorkingCopy<'a> {
    forges: &'a Forges,
    place: &'a WorkingDir,
}

impl<'a> WorkingCopy<'a> {
    /// Returns the working copy at `place`.
    #[must_use]
    pub fn new(forges: &'a Forges, place: &'a WorkingDir) -> Self {
        Self { forges, place }
    }

    /// Returns true if the user chose the repository of commands without `-R`: by `FORGE_REPO`,
    /// `GH_REPO`, `forge.repo` or `gh repo set-default`.
    ///
    /// # Errors
    /// Fails if git's configuration cannot be read.
    pub async fn has_chosen_base(&self) -> Result<bool> {
        resolve::has_chosen_base(self.forges, self.place).await
    }

    /// Returns true if `repo` is the repository at this place. In this case the branches of `repo`
    /// are the local branches, wherever they are pushed to.
    pub async fn is(&self, repo: &Repo) -> bool {
        let RepoPath::Dir(dir) = &repo.id().path else {
            return false;
        };
        // The paths can be compared as they are, because an opened repository has a canonical
        // directory.
        self.place.root().await == Some(dir.as_path())
    }

    /// Returns the pull request of the current branch.
    ///
    /// # Errors
    /// `not_found` on a detached head; also the errors of [`SelectedPull::by_head`].
    pub async fn current_pull(&self, repo: Repo, fields: PrFields) -> Result<SelectedPull> {
        let (head, upstream) = match self.current(&repo).await?.ok_or_else(detached)? {
            CurrentBranch::Number(number) => {
                return Ok(SelectedPull::by_key(repo, PrKey::Number(number)));
            }
            CurrentBranch::Head { head, upstream } => (head, upstream),
        };
        let found = SelectedPull::by_head(repo.clone(), &head, fields).await;
        match (found, upstream) {
            (Err(e), Some(upstream)) if e.is_not_found() => {
                upstream.find_pull(&repo, fields).await?.ok_or(e)
            }
            (found, _) => found,
        }
    }

    /// Returns the pull request of the current branch if only git's configuration leads to it: by
    /// its number (`branch.<name>.merge` is `refs/pull/<number>/head`), or by the upstream branch.
    ///
    /// # Errors
    /// Fails if git fails, or the pull request cannot be read.
    pub async fn configured_pull(
        &self,
        repo: &Repo,
        fields: PrFields,
    ) -> Result<Option<PullRequest>> {
        match self.current(repo).await? {
            Some(CurrentBranch::Number(number)) => {
                repo.pull(&repo.pull_id(number), fields).await.map(Some)
            }
            Some(CurrentBranch::Head {
                upstream: Some(upstream),
                ..
            }) => match upstream.find_pull(repo, fields).await? {
                Some(mut found) => found.view(fields).await.map(Some),
                None => Ok(None),
            },
            Some(CurrentBranch::Head { upstream: None, .. }) | None => Ok(None),
        }
    }

    /// Returns the current branch as the head of a pull request to `repo`; `None` on a detached
    /// head.
    ///
    /// # Errors
    /// Fails if git fails.
    pub async fn current_head(&self, repo: &Repo) -> Result<Option<HeadRef>> {
        Ok(match self.current(repo).await? {
            Some(CurrentBranch::Head { head, .. }) => Some(head),
            None | Some(CurrentBranch::Number(_)) => None,
        })
    }

    /// Returns the pull request number or the head of the current branch; `None` on a detached
    /// head.
    async fn current(&self, repo: &Repo) -> Result<Option<CurrentBranch>> {
        if self.is(repo).await {
            let branch = forge_git::current_branch(self.place.git()).await?;
            return Ok(branch.map(|branch| CurrentBranch::Head {
                head: HeadRef::branch(branch),
                upstream: None,
            }));
        }
        let config = self.place.config().await?;
        Ok(match current_pull(self.place.git(), config).await? {
            None => None,
            Some(CurrentPull::Number { number, .. }) => Some(CurrentBranch::Number(number)),
            Some(CurrentPull::Head {
                at,
                branch,
                upstream,
            }) => {
                let place = self.repo_at(&at).await;
                let upstream = match upstream {
                    Some(upstream) => self.upstream_head(repo, upstream).await.map(Box::new),
                    None => None,
                };
                Some(CurrentBranch::Head {
                    head: head_in(repo, place.as_ref(), branch),
                    upstream,
                })
            }
        })
    }

    /// Returns the upstream branch as the head of a pull request to `repo`; `None` if it is on
    /// another forge.
    async fn upstream_head(&self, repo: &Repo, upstream: UpstreamBranch) -> Option<UpstreamHead> {
        let place = self.repo_at(&upstream.at).await?;
        let is_there = place.kind == repo.id().kind && place.host == repo.id().host;
        is_there.then(|| UpstreamHead {
            head: head_in(repo, Some(&place), upstream.branch),
            place,
            has_push_remote: upstream.has_push_remote,
        })
    }

    /// Returns the name of the remote of `repo`. If `owner` is given, returns the name of the
    /// remote of any repository of this owner.
    pub async fn remote_of(&self, repo: &Repo, owner: Option<&str>) -> Option<String> {
        let config = self.place.config().await.ok()?;
        for remote in &config.remotes {
            let Ok(id) = self.forges.remote_repo(self.place, &remote.url).await else {
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

    /// Returns the repository to which a branch is pushed; `None` for this repository, and if its
    /// address is unknown.
    async fn repo_at(&self, at: &PushedTo) -> Option<RepoId> {
        let config = self.place.config().await.ok();
        let url = match at {
            PushedTo::Here => None,
            PushedTo::Url(url) => Some(url),
            PushedTo::Remote(name) => config
                .and_then(|config| config.remote(name))
                .map(|remote| &remote.url),
        };
        self.forges.remote_repo(self.place, url?).await.ok()
    }
}

/// Returns a branch of the repository `place` as the head of a pull request to `repo`. If `place` is
/// another repository, adds its owner, and its name if that differs from the name of `repo`.
fn head_in(repo: &Repo, place: Option<&RepoId>, branch: String) -> HeadRef {
    let place = place.filter(|place| place.comparison_key() != repo.id().comparison_key());
    let named = place.and_then(RepoId::owner_and_name);
    let own = repo.id().owner_and_name().map(|(_, name)| name);
    let mut head = HeadRef::branch(branch);
    head.owner = named.map(|(owner, _)| owner.to_owned());
    head.repo = named
        .filter(|(_, name)| own.is_none_or(|own| !own.eq_ignore_ascii_case(name)))
        .map(|(_, name)| name.to_owned());
    head
}

/// Pull request of the current branch, by number or by head.
enum CurrentBranch {
    Number(u64),
    Head {
        head: HeadRef,
        upstream: Option<Box<UpstreamHead>>,
    },
}

/// Upstream branch of the current branch, to which git does not push.
struct UpstreamHead {
    head: HeadRef,
    place: RepoId,
    has_push_remote: bool,
}

impl UpstreamHead {
    /// Finds the pull request of the upstream branch. Returns `None` if others use the branch: a new
    /// branch that was made from `origin/main` has nothing to do with a pull request of `main`.
    async fn find_pull(&self, repo: &Repo, fields: PrFields) -> Result<Option<SelectedPull>> {
        let found = match SelectedPull::by_head(repo.clone(), &self.head, fields).await {
            Ok(found) => found,
            Err(e) if e.is_not_found() => return Ok(None),
            Err(e) => return Err(e),
        };
        if self.has_push_remote {
            return Ok(Some(found));
        }
        let branch = self.head.branch.as_str();
        let place = repo.client().repo(self.place.clone());
        let default = place.info().await?.default_branch;
        if default.is_none_or(|default| default == branch) {
            return Ok(None);
        }
        let mut query = PullQuery::default();
        query.base = Some(branch.to_owned());
        query.state = StateFilter::All;
        let stacked = place.pulls(&query, PageReq::first(1)).await?;
        Ok(stacked.items.is_empty().then_some(found))
    }
}

fn detached() -> Error {
    Error::not_found(
        Noun::Branch,
        "no branch is checked out here (HEAD is detached)",
    )
    .with_hint("name the pull request by number, URL or branch")
}

/// Returns true if the head of the found pull request is the default branch.
async fn is_default(repo: &Repo, head: &HeadRef, found: &PullRequest) -> Result<bool> {
    Ok(match found.head_is_default {
        Some(is_default) => is_default,
        None => {
            let info = repo.info().await?;
            let is_default = info.default_branch.as_deref() == Some(head.branch.as_str());
            is_default && !info.default_is_checked_out
        }
    })
}
