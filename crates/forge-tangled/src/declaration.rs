//! Whether a repository has become one of Tangled 1.0 since it was found: looked for before each
//! write, because what is known of a repository is kept for minutes, and a process may run for
//! weeks.

use forge_core::{Error, Hint, Precondition, Result};

use crate::{
    Tangled,
    hints::AGAIN,
    records,
    repository::{REPOS_MOST, Repository},
};

/// That a repository had no declaration a moment ago. Whatever writes `sh.tangled.*` takes one and
/// uses it up, so that there is a look for each write.
#[derive(Debug)]
pub(crate) struct Undeclared(());

impl Undeclared {
    /// For a record that is about no repository, such as the definition of a label that is put once
    /// more.
    pub const fn of_no_repository() -> Self {
        Self(())
    }
}

impl Tangled {
    /// Looks for a declaration of the repository, whatever is known of it. It is where the
    /// repository's record is: in its owner's account.
    ///
    /// # Errors
    /// `precondition_failed` where there is one now; the repository is looked up anew from then on.
    /// As the owner's server has it, where that cannot be asked: then nobody knows what to write.
    /// As the knot has it, where that was to say whose the repository is, and did not.
    pub(crate) async fn undeclared(&self, repository: &Repository) -> Result<Undeclared> {
        self.owner_confirmed(repository).await?;
        let (owner, id) = (&repository.owner, &repository.id);
        let looked = async {
            let pds = self.identities.pds(&owner.did).await?;
            let collection = &self.settings.dialects.org.repo;
            let all = records::all(&pds, &owner.did, collection, REPOS_MOST).await?;
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
            .forget_such(|known| known.record.uri == repository.record.uri);
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
