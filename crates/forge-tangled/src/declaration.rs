//! Checks before each write whether the repository uses Tangled 1.0 by now. If so, the owner has
//! written a declaration record, or the repository's own account has a manifest. The check searches
//! for these records without the cache, because a cached answer can be minutes old.

use forge_core::{Error, Hint, Precondition, Result};
use futures::future;

use crate::{
    Tangled,
    hints::AGAIN,
    records::{self, Record},
    repository::{MAX_REPOS, TangledRepository},
    xrpc_error,
};

/// Proof that a repository had no Tangled 1.0 declaration a moment ago. Each write of an
/// `sh.tangled.*` record (the older protocol) uses up one proof, so a check precedes each write.
#[derive(Debug)]
pub(crate) struct Undeclared(());

impl Undeclared {
    /// Returns the proof for a record about no repository, such as a rewritten label definition.
    pub const fn of_no_repository() -> Self {
        Self(())
    }
}

impl Tangled {
    /// Searches for a Tangled 1.0 declaration of the repository, without the cache. A declaration
    /// is in the account of the repository's owner, beside the repository's record. A repository
    /// whose owner has written none can be of Tangled 1.0 as well: its own account on the knot then
    /// has a manifest. The knot is asked for it at the same time.
    ///
    /// # Errors
    ///
    /// - `precondition_failed` if there is a declaration or a manifest now; the next call looks the
    ///   repository up again
    /// - the error of the owner's server or of the knot if it cannot be asked, because the protocol
    ///   to write is then unknown
    /// - the error of the knot if it does not confirm the repository's owner
    pub(crate) async fn undeclared(&self, repository: &TangledRepository) -> Result<Undeclared> {
        self.owner_confirmed(repository).await?;
        let (owner, id) = (&repository.owner, &repository.id);
        let looked = async {
            let pds = self.identities.pds(&owner.did).await?;
            let collection = &self.settings.dialects.org.repo;
            let all = records::all(&pds, &owner.did, collection, MAX_REPOS).await?;
            self.declaration_among(owner, all, &repository.name, Some(&repository.record))
        };
        let looked = future::try_join(looked, self.find_manifest(repository));
        let (declaration, manifest) = looked.await.map_err(|e| {
            let hint = match e.hint() {
                Some(hint) => hint.clone(),
                None => {
                    let owner = owner.name();
                    format!("try again when the server of {owner} and the knot answer").into()
                }
            };
            let message = format!(
                "nothing was written, because it is unknown whether {id} uses Tangled 1.0 by now: \
                 {}",
                e.message()
            );
            Error::new(e.kind().clone(), message)
                .with_retry(e.retry())
                .with_hint(hint)
                .with_source(e)
        })?;
        let hint = match (&declaration, &manifest) {
            (None, None) => return Ok(Undeclared(())),
            (Some(_), _) => {
                Hint::new("repeat the command, which then uses Tangled 1.0").with_action(AGAIN)
            }
            (None, Some(_)) => Hint::new(
                "do it on the web: the owner has not declared the repository, which forge needs to \
                 use Tangled 1.0",
            ),
        };
        let found = declaration.or(manifest).map(|record| record.uri);
        self.repositories
            .forget_matching(|known| known.record.uri == repository.record.uri);
        Err(Error::precondition(
            Precondition::Rule,
            format!(
                "nothing was written: {id} uses Tangled 1.0 by now ({}), and forge writes no \
                 records of the older protocol to it",
                found.unwrap_or_default()
            ),
        )
        .with_hint(hint))
    }

    /// Finds the manifest of a repository in the repository's own account on its knot. A knot that
    /// does not know the account or the method has none.
    async fn find_manifest(&self, repository: &TangledRepository) -> Result<Option<Record>> {
        let Some(did) = &repository.did else {
            return Ok(None);
        };
        let knot = self.knot(repository).await?;
        let manifest = &self.settings.dialects.org.manifest;
        match records::find(&knot, did, manifest, "self").await {
            Err(e) if xrpc_error::is_unknown_method(&e) => Ok(None),
            found => found,
        }
    }
}
