//! Lists pull requests of several repositories, or of all repositories of an owner.

use std::collections::HashSet;

use forge_core::{
    RepoId, Result, Warning, list_each,
    model::{PullQuery, PullScope, PullsAcross},
};
use futures::future;

use crate::{Tangled, records, repository::MAX_REPOS};

/// Repositories of an owner whose records could be read.
struct OwnedRepos {
    ids: Vec<RepoId>,
    warnings: Vec<Warning>,
    is_cut: bool,
}

impl Tangled {
    pub(super) async fn pulls_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross> {
        let mut repos = scope.repos.clone();
        let mut unread = PullsAcross::default();
        let viewer = scope.everywhere.then(|| "@me".to_owned());
        for owner in scope.owners.iter().cloned().chain(viewer) {
            match self.repos_of(&owner).await {
                Ok(found) => {
                    repos.extend(found.ids);
                    unread.warnings.extend(found.warnings);
                    unread.is_cut |= found.is_cut;
                }
                Err(e) => unread.failed.push((owner, e)),
            }
        }
        let mut seen = HashSet::new();
        repos.retain(|repo| seen.insert(repo.comparison_key()));
        let mut across = list_each(self, &repos, queries, limit).await;
        across.add(unread);
        Ok(across)
    }

    /// Returns the repositories of an owner, from the records in the owner's account. `owner` is a
    /// handle, a DID or `@me`.
    async fn repos_of(&self, owner: &str) -> Result<OwnedRepos> {
        let owner = match owner {
            "@me" => self.session.viewer().await?.identity.clone(),
            name => {
                Self::check_any_account(name)?;
                self.identities.account(name).await?
            }
        };
        let pds = self.identities.pds(&owner.did).await?;
        let names = &self.settings.dialects;
        let (older, declared) = future::try_join(
            records::all(&pds, &owner.did, &names.sh.repo, MAX_REPOS),
            records::all(&pds, &owner.did, &names.org.repo, MAX_REPOS),
        )
        .await?;
        let names = older.records.iter().map(|record| self.named(record));
        let names = names.chain(declared.records.iter().map(|record| record.rkey()));
        let mut seen = HashSet::new();
        let ids = names
            .filter(|name| seen.insert(name.to_lowercase()))
            .map(|name| self.canonical(&owner, name))
            .collect();
        Ok(OwnedRepos {
            ids,
            is_cut: older.is_cut || declared.is_cut,
            warnings: [older.warnings, declared.warnings].concat(),
        })
    }
}
