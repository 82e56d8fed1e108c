//! Caches the pull requests that a search found, for a change that follows the search.
//!
//! A search finds the pull request that a caller names by its branch. With [`PrFields::TO_CHANGE`]
//! the search also reads id, state and head, so the change needs no further query. An entry is used
//! once and expires. A merge or an update names the head commit, so GitHub refuses the change if
//! somebody pushed since the search.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::{PrId, PrKey, RepoId, model::PrFields};

use crate::gql::types as wire;

/// How long an entry is valid. Entries expire because the user may take long to answer a prompt.
const CACHE_LIFETIME: Duration = Duration::from_secs(10);

/// The pull requests of the last search.
#[derive(Debug, Default)]
pub(crate) struct PullCache(Mutex<Vec<CachedPull>>);

#[derive(Debug)]
struct CachedPull {
    repo: String,
    fields: PrFields,
    at: Instant,
    pull: wire::Pull,
}

impl PullCache {
    /// Replaces the cached pull requests by those of a search with `fields`.
    pub fn keep(&self, repo: &RepoId, fields: PrFields, pulls: Vec<wire::Pull>) {
        let repo = repo.comparison_key();
        let at = Instant::now();
        let found = pulls.into_iter().map(|pull| CachedPull {
            repo: repo.clone(),
            fields,
            at,
            pull,
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found.collect();
    }

    /// Returns a pull request for a change that needs `fields`. Clears the cache, because the
    /// change makes all entries stale.
    pub fn take(&self, pr: &PrId, fields: PrFields) -> Option<wire::Pull> {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let repo = pr.repo.comparison_key();
        let found = all.into_iter().find(|found| {
            found.repo == repo
                && matches!(pr.key, PrKey::Number(number) if number == found.pull.number)
                && found.fields.contains(fields)
                && found.at.elapsed() < CACHE_LIFETIME
        });
        found.map(|found| found.pull)
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{ForgeKind, RepoPath};

    use super::*;

    fn repo(name: &str) -> RepoId {
        RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: "o".to_owned(),
                name: name.to_owned(),
            },
        }
    }

    fn pull(number: u64) -> wire::Pull {
        wire::Pull {
            number,
            ..wire::Pull::default()
        }
    }

    #[test]
    fn cached_pull_is_taken_once_with_matching_fields() {
        let known = PullCache::default();
        let keep = |fields| known.keep(&repo("r"), fields, vec![pull(7), pull(8)]);
        let take = |name: &str, number, fields| {
            let found = known.take(&PrId::number(repo(name), number), fields);
            found.map(|pull| pull.number)
        };
        keep(PrFields::TO_CHANGE);
        assert_eq!(take("R", 8, PrFields::TO_CHANGE), Some(8));
        assert_eq!(take("r", 8, PrFields::TO_CHANGE), None);
        assert_eq!(take("r", 7, PrFields::TO_CHANGE), None);
        for (name, number, fields) in [
            ("other", 7, PrFields::TO_CHANGE),
            ("r", 9, PrFields::TO_CHANGE),
            ("r", 7, PrFields::TO_MERGE),
        ] {
            keep(PrFields::TO_CHANGE);
            assert_eq!(take(name, number, fields), None, "{name} {number}");
        }
        keep(PrFields::TO_MERGE);
        assert_eq!(take("r", 7, PrFields::TO_CHANGE), Some(7));
    }
}
