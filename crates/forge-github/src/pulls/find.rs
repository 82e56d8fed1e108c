//! The pull requests of a head branch.

use forge_core::{
    PageReq, RepoId, Result,
    model::{HeadRef, PrFields, PrState, PullQuery, PullRequest, StateFilter},
};

use crate::{GitHub, owner_and_name};

/// So many of one branch are looked at.
const MOST: usize = 100;

impl GitHub {
    pub(super) async fn find_pulls(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>> {
        let query = PullQuery {
            state,
            head: Some(head.branch.clone()),
            fields,
            ..PullQuery::default()
        };
        let mut found = self
            .list_pulls(repo, &query, PageReq::first(MOST))
            .await?
            .items;
        found.retain(|p| is_head(repo, p, head));
        found.sort_by_key(|p| p.state != PrState::Open);
        Ok(found)
    }
}

/// Whether a pull request comes from `head`: another repository's branch of the same name is not it.
pub(super) fn is_head(repo: &RepoId, pull: &PullRequest, head: &HeadRef) -> bool {
    let own = owner_and_name(repo).unwrap_or_default();
    let of = pull.head_repo.as_ref().and_then(|r| r.owner_and_name());
    let (owner, name) = of.unwrap_or(own);
    let wanted = match (&head.owner, &head.repo) {
        (None, _) => Some(own.1),
        (Some(_), name) => name.as_deref(),
    };
    pull.head_branch == head.branch
        && owner.eq_ignore_ascii_case(head.owner.as_deref().unwrap_or(own.0))
        && wanted.is_none_or(|wanted| name.eq_ignore_ascii_case(wanted))
}
