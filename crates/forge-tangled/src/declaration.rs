//! Checks before each write whether the repository uses Tangled 1.0 by now. If so, the owner has
//! written a declaration record. The check searches for this record without the cache, because a
//! cached answer can be minutes old.

use forge_core::{Error, Hint, Precondition, Result};

use crate::{
    Tangled,
    hints::AGAIN,
    records,
    repository::{MAX_REPOS, TangledRepository},
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
    /// is in the account of the repository's owner, beside the repository's record.
    ///
    /// # Errors
    ///
    /// - `precondition_failed` if there is a declaration now; the next call looks the repository up
    ///   again
    /// - the error of the owner's server if it cannot be asked, because the protocol to write is
    ///   then unknown
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
        let declaration = looked.await.map_err(|e| {
            let hint = match e.hint() {
                Some(hint) => hint.clone(),
                None => format!("try again when the server of {} answers", owner.name()).into(),
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
        let Some(declaration) = declaration else {
            return Ok(Undeclared(()));
        };
        self.repositories
            .forget_matching(|known| known.record.uri == repository.record.uri);
        Err(Error::precondition(
            Precondition::Rule,
            format!(
                "nothing was written: {id} uses Tangled 1.0 by now ({}), and forge writes no \
                 records of the older protocol to it",
                declaration.uri
            ),
        )
        .with_hint(Hint::new("repeat the command, which then uses Tangled 1.0").with_action(AGAIN)))
    }
}
