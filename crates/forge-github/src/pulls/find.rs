//! Finds the pull requests of a head branch.

use forge_core::{
    Error, ErrorKind, Hint, PageReq, RepoId, Result, Warning,
    model::{HeadRef, PrFields, PrState, PullQuery, PullRequest, StateFilter},
    text,
};

use crate::{GitHub, owner_and_name};

/// The maximum count of pull requests that are read for one branch.
const MAX_PULLS: usize = 100;

impl GitHub {
    pub(super) async fn find_pulls(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>> {
        let (mut found, unread) = self.find_and_warn(repo, head, state, fields).await?;
        // A pull request that could not be read must not look like a missing one.
        match (
            found.first_mut(),
            unread.iter().find(|w| w.section.is_none()),
        ) {
            (Some(first), _) => first.warnings.extend(unread),
            (None, Some(warning)) => return Err(unread_error(head, warning)),
            (None, None) => {}
        }
        Ok(found)
    }

    /// Returns the readable pull requests, open ones first, and warnings about unreadable ones.
    pub(super) async fn find_and_warn(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<(Vec<PullRequest>, Vec<Warning>)> {
        let mut query = PullQuery::default();
        query.state = state;
        query.head = Some(head.branch.clone());
        query.fields = fields;
        let page = self
            .list_pulls(repo, &query, PageReq::first(MAX_PULLS))
            .await?;
        let mut found = page.items;
        found.retain(|p| is_head(repo, p, head));
        found.sort_by_key(|p| p.state != PrState::Open);
        Ok((found, page.warnings))
    }
}

fn unread_error(head: &HeadRef, warning: &Warning) -> Error {
    let kind = ErrorKind::Upstream {
        status: 200,
        request_id: None,
    };
    let branch = text::one_line(&head.branch);
    let message = format!(
        "it is unknown whether '{branch}' has a pull request: {}",
        warning.message
    );
    let hint = warning.hint.clone();
    Error::new(kind, message).with_hint(hint.unwrap_or(Hint::new("name it by its number")))
}

/// Returns whether a pull request comes from `head`, not from a branch of the same name in another
/// repository.
pub(super) fn is_head(repo: &RepoId, pull: &PullRequest, head: &HeadRef) -> bool {
    let own = owner_and_name(repo).unwrap_or_default();
    let of = pull.head_repo.as_ref().and_then(|r| r.owner_and_name());
    let (owner, name) = match of {
        Some((owner, name)) => (owner, Some(name)),
        // The name of a deleted fork is unknown. Only `owner:branch` finds its pull request.
        None if pull.is_cross_repository() => (pull.fork_owner().unwrap_or_default(), None),
        None => (own.0, Some(own.1)),
    };
    let wanted = match (&head.owner, &head.repo) {
        (None, _) => Some(own.1),
        (Some(_), name) => name.as_deref(),
    };
    pull.head_branch == head.branch
        && owner.eq_ignore_ascii_case(head.owner.as_deref().unwrap_or(own.0))
        && wanted.is_none_or(|wanted| name.is_some_and(|name| name.eq_ignore_ascii_case(wanted)))
}
