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
    let own = owner_and_name(repo).map_or("", |(owner, _)| owner);
    let of = pull
        .head_repo
        .as_ref()
        .and_then(|r| r.owner_and_name())
        .map_or(own, |(owner, _)| owner);
    let wanted = head.owner.as_deref().unwrap_or(own);
    pull.head_branch == head.branch && of.eq_ignore_ascii_case(wanted)
}
