//! Lists pull requests of several repositories, for forges that have no single query for them all.

use futures::{StreamExt as _, stream};

use crate::{
    Page, PageReq, PullRequests, RepoId, Result,
    model::{PullQuery, PullRequest, PullsAcross},
};

/// Maximum number of lists that are read concurrently. There is a limit because an account can have
/// thousands of repositories.
const MAX_CONCURRENT_LISTS: usize = 8;

/// Reads one list for each of `repos` and each of `queries`, at most eight lists at once.
/// [`PullsAcross::failed`] names the repositories that cannot be read.
pub async fn list_each<F: PullRequests>(
    forge: &F,
    repos: &[RepoId],
    queries: &[PullQuery],
    limit: usize,
) -> PullsAcross {
    let mut reads = Vec::with_capacity(repos.len() * queries.len());
    for repo in repos {
        for query in queries {
            reads.push(forge.list(repo, query, PageReq::first(limit)));
        }
    }
    group_by_repository(repos, queries.len(), run_concurrently(reads).await)
}

/// Groups the lists in `found` by repository. `found` has the lists of the first repository, one
/// for each of the `queries` queries, then those of the second repository, and so on.
fn group_by_repository(
    repos: &[RepoId],
    queries: usize,
    found: Vec<Result<Page<PullRequest>>>,
) -> PullsAcross {
    let mut across = PullsAcross::new(queries);
    let mut found = found.into_iter();
    for repo in repos {
        let of_repo: Vec<_> = found.by_ref().take(queries).collect();
        let pages: Result<Vec<_>> = of_repo.into_iter().collect();
        match pages {
            Ok(pages) => across.add(join_pages(pages)),
            Err(e) => across.failed.push((repo.to_string(), e)),
        }
    }
    across
}

/// Runs the futures `reads` concurrently and returns their results in the same order.
async fn run_concurrently<T>(reads: Vec<impl Future<Output = T>>) -> Vec<T> {
    stream::iter(reads)
        .buffered(MAX_CONCURRENT_LISTS)
        .collect()
        .await
}

fn join_pages(pages: Vec<Page<PullRequest>>) -> PullsAcross {
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
    use crate::{Error, ForgeKind, Noun, PrId, RepoPath, Timestamp, model::Actor};

    #[test]
    fn lists_are_grouped_by_repository_and_query() {
        let repo = |name: &str| RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: "octo".to_owned(),
                name: name.to_owned(),
            },
        };
        let repos = [repo("a"), repo("b"), repo("c")];
        let page = |at: usize, number: u64| {
            let id = PrId::number(repos[at].clone(), number);
            let author = Actor::new("ada");
            let pull = PullRequest::new(id, "T", author, Timestamp::from_unix(0));
            Ok(Page::new(vec![pull]))
        };
        let missing = Err(Error::not_found(Noun::Repo, "gone"));
        let found = vec![
            page(0, 1),
            page(0, 2),
            missing,
            page(1, 9),
            page(2, 3),
            page(2, 4),
        ];
        let across = group_by_repository(&repos, 2, found);
        let numbers = |list: &Vec<PullRequest>| list.iter().map(|p| p.number).collect::<Vec<_>>();
        let lists: Vec<_> = across.lists.iter().map(numbers).collect();
        assert_eq!(lists, [[Some(1), Some(3)], [Some(2), Some(4)]]);
        assert_eq!(across.failed.len(), 1);
        assert_eq!(across.failed[0].0, repos[1].to_string());
    }

    #[tokio::test]
    async fn eight_concurrent_lists_keep_their_order() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let reads: Vec<_> = (0..20)
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
        let found = run_concurrently(reads).await;
        assert_eq!(found, (0..20).collect::<Vec<i32>>());
        assert_eq!(most.get(), MAX_CONCURRENT_LISTS);
    }
}
