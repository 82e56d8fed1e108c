//! Lists of several repositories, for forges without one query that covers them all.

use futures::{StreamExt as _, stream};

use crate::{
    Page, PageReq, PullRequests, RepoId, Result,
    model::{PullQuery, PullRequest, PullsAcross},
};

/// Maximum number of lists that are read concurrently. An account can have thousands of
/// repositories.
const MAX_CONCURRENT_LISTS: usize = 8;

/// Lists the pull requests of each of `repos` with a separate query, at most eight queries at once.
/// [`PullsAcross::failed`] names the repositories that cannot be read.
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
    for (repo, found) in repos.iter().zip(answers(asked).await) {
        match found {
            Ok(pages) => across.add(joined(pages)),
            Err(e) => across.failed.push((repo.to_string(), e)),
        }
    }
    across
}

/// Runs the futures `asked` concurrently and returns their results in the same order.
async fn answers<T>(asked: Vec<impl Future<Output = T>>) -> Vec<T> {
    stream::iter(asked)
        .buffered(MAX_CONCURRENT_LISTS)
        .collect()
        .await
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn lists_are_read_eight_at_once_and_in_order() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let asked: Vec<_> = (0..20)
            .map(|n| {
                let (running, most) = (&running, &most);
                async move {
                    running.set(running.get() + 1);
                    most.set(most.get().max(running.get()));
                    for _ in 0..=n % 3 {
                        tokio::task::yield_now().await;
                    }
                    running.set(running.get() - 1);
                    n
                }
            })
            .collect();
        let found = answers(asked).await;
        assert_eq!(found, (0..20).collect::<Vec<i32>>());
        assert_eq!(most.get(), MAX_CONCURRENT_LISTS);
    }
}
