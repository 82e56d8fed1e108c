//! Caches the comment ids of the pull request whose comments were listed last.
//!
//! GitHub accepts the id of any comment that the account can see. Before a comment is changed, this
//! crate therefore verifies that the comment belongs to the named pull request. For cached ids, the
//! check takes no request.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::PrId;

/// The lifetime is short, because a repository name can later belong to another repository.
const CACHE_LIFETIME: Duration = Duration::from_secs(300);

/// The comment ids of one pull request.
#[derive(Debug, Default)]
pub(crate) struct CommentIdCache(Mutex<Option<CachedIds>>);

#[derive(Debug)]
struct CachedIds {
    pr: PrId,
    at: Instant,
    ids: HashSet<String>,
}

impl CommentIdCache {
    /// Adds comment ids of `pr`, and drops the cached ids of any other pull request.
    pub fn keep(&self, pr: &PrId, ids: impl Iterator<Item = String>) {
        let mut listed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match listed.as_mut().filter(|of| of.is_fresh(pr)) {
            Some(of) => of.ids.extend(ids),
            None => {
                *listed = Some(CachedIds {
                    pr: pr.clone(),
                    at: Instant::now(),
                    ids: ids.collect(),
                });
            }
        }
    }

    /// Returns whether comment `id` is cached as a comment of `pr`.
    pub fn has(&self, pr: &PrId, id: &str) -> bool {
        let listed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listed
            .as_ref()
            .is_some_and(|of| of.is_fresh(pr) && of.ids.contains(id))
    }
}

impl CachedIds {
    fn is_fresh(&self, pr: &PrId) -> bool {
        self.pr == *pr && self.at.elapsed() < CACHE_LIFETIME
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{ForgeKind, RepoId, RepoPath};

    use super::*;

    #[test]
    fn cached_comment_ids_belong_to_one_pull_request() {
        let repo = RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: "o".to_owned(),
                name: "r".to_owned(),
            },
        };
        let [seven, eight] = [7, 8].map(|number| PrId::number(repo.clone(), number));
        let listed = CommentIdCache::default();
        let keep = |pr, id: &str| listed.keep(pr, std::iter::once(id.to_owned()));
        keep(&seven, "IC_1");
        keep(&seven, "IC_2");
        assert!(listed.has(&seven, "IC_1") && listed.has(&seven, "IC_2"));
        assert!(!listed.has(&seven, "IC_3") && !listed.has(&eight, "IC_1"));
        keep(&eight, "IC_3");
        assert!(listed.has(&eight, "IC_3") && !listed.has(&eight, "IC_1"));
        assert!(!listed.has(&seven, "IC_1"));
    }
}
