//! Finds the remote branch that has the newest commit of the current branch.

use forge_core::{Error, Repo, RepoId, Result, model::HeadRef, text};
use forge_git::{ConfiguredBranch, PushTarget, TrackedTip};

use super::create_push::head_at;
use crate::ctx::Ctx;

/// The state of the current branch on the remotes, as far as this clone knows.
#[derive(Debug)]
pub(super) enum PushedHead {
    /// A remote branch has the newest commit.
    Complete,
    /// Remote branches have this name, and none of them has the newest commit.
    Behind {
        /// The first of these branches.
        target: PushTarget,
        /// Number of commits that it lacks.
        missing: u64,
    },
    /// This clone knows no remote branch of this name.
    Unknown,
}

/// A remote branch that may have the commits of the current branch.
struct HeadCandidate {
    remote: String,
    repo: RepoId,
    branch: String,
}

/// Finds the newest commit of the local branch `local` on the remotes: first on the branch `head`,
/// then on branches of the name `local`. Sets `head` to the branch that has the commit.
///
/// A remote branch without the commit is not used: the pull request would lack it.
pub(super) async fn locate_pushed_head(
    ctx: &Ctx,
    repo: &Repo,
    local: &str,
    head: &mut HeadRef,
) -> Result<PushedHead> {
    let (candidates, own_candidates) = list_candidates(ctx, repo, local, head).await?;
    let tracking: Vec<String> = candidates
        .iter()
        .map(|candidate| format!("refs/remotes/{}/{}", candidate.remote, candidate.branch))
        .collect();
    match ctx
        .git()
        .find_tracked_tip(local, &tracking, own_candidates)
        .await?
    {
        TrackedTip::At(index) => {
            if let Some(found) = candidates.get(index) {
                let is_head = found.branch == head.branch && is_head_repo(repo, &found.repo, head);
                if !is_head {
                    *head = head_at(repo.id(), &found.repo, &found.branch);
                }
            }
            Ok(PushedHead::Complete)
        }
        TrackedTip::Behind { index, missing } => {
            let Some(behind) = candidates.get(index) else {
                return Ok(PushedHead::Unknown);
            };
            let branch = ConfiguredBranch {
                name: &behind.branch,
                shared: None,
            };
            let target = PushTarget::choose(&behind.remote, local, Some(branch));
            Ok(PushedHead::Behind { target, missing })
        }
        TrackedTip::Untracked => Ok(PushedHead::Unknown),
    }
}

/// Returns the branches of the remotes that can be the head of a pull request to `repo`, and the
/// number of those in the repository of `head`, which come first.
async fn list_candidates(
    ctx: &Ctx,
    repo: &Repo,
    local: &str,
    head: &HeadRef,
) -> Result<(Vec<HeadCandidate>, usize)> {
    let forges = ctx.forges()?;
    let (mut configured, mut others) = (Vec::new(), Vec::new());
    for remote in &ctx.git_config().await?.remotes {
        let Ok(id) = forges.remote_repo(ctx.place(), &remote.url).await else {
            continue;
        };
        let is_base = id.comparison_key() == repo.id().comparison_key();
        let is_of_host = id.kind == repo.id().kind && id.host == repo.id().host;
        let is_named = is_of_host && id.owner_and_name().is_some();
        if !is_base && !is_named {
            continue;
        }
        if is_head_repo(repo, &id, head) {
            configured.push(HeadCandidate {
                remote: remote.name.clone(),
                repo: id.clone(),
                branch: head.branch.clone(),
            });
        }
        others.push(HeadCandidate {
            remote: remote.name.clone(),
            repo: id,
            branch: local.to_owned(),
        });
    }
    let own_candidates = configured.len();
    configured.append(&mut others);
    Ok((configured, own_candidates))
}

/// Returns true if `place` is the repository of `head`, the head of a pull request to `base`.
fn is_head_repo(base: &Repo, place: &RepoId, head: &HeadRef) -> bool {
    let Some(head_owner) = &head.owner else {
        return place.comparison_key() == base.id().comparison_key();
    };
    place.owner_and_name().is_some_and(|(owner, name)| {
        let has_name = |wanted: &str| wanted.eq_ignore_ascii_case(name);
        owner.eq_ignore_ascii_case(head_owner) && head.repo.as_deref().is_none_or(has_name)
    })
}

/// Returns the error for commits of the local branch `local` that the remote branch lacks.
pub(super) fn unpushed_error(local: &str, target: &PushTarget, missing: u64) -> Error {
    let branch = text::one_line(local);
    let (commits, are, them) = if missing == 1 {
        ("1 commit".to_owned(), "is", "it")
    } else {
        (format!("{missing} commits"), "are", "them")
    };
    let message = format!("{commits} of '{branch}' {are} not pushed: {target} lacks {them}");
    let push = target.command(local, &[]);
    Error::invalid("head", message).with_hint(format!(
        "push first, with --push or by hand: {push}; to leave {them} out, name the pushed branch \
         with --head"
    ))
}

/// Returns the error for a local branch that no known remote has.
pub(super) fn untracked_error(local: &str, remote: &str) -> Error {
    let branch = text::one_line(local);
    let push = PushTarget::choose(remote, local, None).command(local, &[]);
    let message = format!("'{branch}' is not pushed to a remote that this clone knows");
    Error::invalid("head", message).with_hint(format!(
        "push it first, with --push or by hand: {push}; or name the pushed branch with --head"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpushed_error_counts_commits_and_names_push() {
        let target = PushTarget::choose("fork", "topic", None);
        let one = unpushed_error("topic", &target, 1);
        assert_eq!(
            one.message(),
            "1 commit of 'topic' is not pushed: fork/topic lacks it"
        );
        let hint = one.hint().unwrap().text().to_owned();
        assert!(
            hint.contains("git push -u fork topic:refs/heads/topic; to leave it out"),
            "{hint}"
        );
        let two = unpushed_error("topic", &target, 2);
        assert_eq!(
            two.message(),
            "2 commits of 'topic' are not pushed: fork/topic lacks them"
        );
    }
}
