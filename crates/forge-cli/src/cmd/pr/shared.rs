use forge_core::{
    Capability, Error, PrId, Repo, RepoId, Result, Support,
    model::{HeadRef, PrState, PullRequest},
    text,
};

use crate::ui::json::is_cross_repository;

/// `owner/name`, or the whole locator of a repository that has no owner.
pub(super) fn repo_name(id: &RepoId) -> String {
    match id.owner_and_name() {
        Some((owner, name)) => format!("{owner}/{name}"),
        None => id.to_string(),
    }
}

/// `owner/name#7`.
pub(super) fn pull_name(id: &PrId) -> String {
    format!("{}#{}", repo_name(&id.repo), id.key)
}

/// `owner/name#7 (its title)`.
pub(super) fn pull_with_title(p: &PullRequest) -> String {
    format!("{} ({})", pull_name(&p.id), text::one_line(&p.title))
}

/// The head branch as people see it: `owner:branch` where it comes from another repository.
pub(super) fn head_label(p: &PullRequest) -> String {
    match p.head_repo.as_ref().and_then(RepoId::owner_and_name) {
        Some((owner, _)) if is_cross_repository(p) => format!("{owner}:{}", p.head_branch),
        _ => p.head_branch.clone(),
    }
}

/// `owner:branch`, or the branch alone.
pub(super) fn head_ref_label(head: &HeadRef) -> String {
    match &head.owner {
        Some(owner) => format!("{owner}:{}", head.branch),
        None => head.branch.clone(),
    }
}

/// `OPEN`, `DRAFT`, `CLOSED` or `MERGED`.
pub(super) fn state_word(p: &PullRequest) -> &'static str {
    match p.state {
        PrState::Open if p.draft => "DRAFT",
        PrState::Open => "OPEN",
        PrState::Closed => "CLOSED",
        PrState::Merged => "MERGED",
    }
}

/// Refuses what the forge cannot do, before anything is written.
pub(super) fn require(repo: &Repo, capability: Capability) -> Result<()> {
    match repo.client().forge().capabilities().get(capability) {
        Support::No { why, instead } => Err(Error::unsupported(capability, why, instead)),
        _ => Ok(()),
    }
}

/// Whether the forge can do it in any way.
pub(super) fn has(repo: &Repo, capability: Capability) -> bool {
    repo.client().forge().capabilities().has(capability)
}
