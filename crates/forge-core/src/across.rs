//! Lists of several repositories, for forges without one query that covers them all.

use futures::future;

use crate::{
    Page, PageReq, PullRequests, RepoId, Result,
    model::{PullQuery, PullRequest, PullsAcross},
};

/// Lists each of `repos` with its own query, all at once. Repositories that cannot be read are in
/// [`PullsAcross::failed`].
pub async fn list_each<F: PullRequests>(
    forge: &F,
    repos: &[RepoId],
    queries: &[PullQuery],
    limit: usize,
) -> PullsAcross {
    let mut across = PullsAcross::new(queries.len());
    let asked: Vec<_> = repos
        .iter()
        .map(|repo| list_one(forge, repo, queries, limit))
        .collect();
    for (repo, found) in repos.iter().zip(future::join_all(asked).await) {
        match found {
            Ok(pages) => across.add(joined(pages)),
            Err(e) => across.failed.push((repo.to_string(), e)),
        }
    }
    across
}

async fn list_one<F: PullRequests>(
    forge: &F,
    repo: &RepoId,
    queries: &[PullQuery],
    limit: usize,
) -> Result<Vec<Page<PullRequest>>> {
    let mut pages = Vec::with_capacity(queries.len());
    for query in queries {
        pages.push(forge.list(repo, query, PageReq::first(limit)).await?);
    }
    Ok(pages)
}

fn joined(pages: Vec<Page<PullRequest>>) -> PullsAcross {
    let mut found = PullsAcross::default();
    for page in pages {
        found.is_cut |= page.next.is_some();
        found.warnings.extend(page.warnings);
        found.lists.push(page.items);
    }
    found
}
