//! Deletes the head branch of a pull request.

use forge_core::{
    Changed, DeletedBranch, Error, ErrorKind, Precondition, Result, Step, Warning,
    check_expected_head, text::one_line,
};

use super::{head_claims::branch_claim, merge_detection::is_same, view::LocatedPull};
use crate::{
    Tangled,
    patch::{Patch, PatchMail},
};

/// Returns the head commit of a pull request, from `patch` or else from its record.
pub(crate) fn head_of<'a>(located: &'a LocatedPull, patch: &'a Patch) -> Option<&'a str> {
    patch.head().or(located.pull.source_sha.as_deref())
}

impl Tangled {
    /// Deletes the head branch, or warns why it is kept. Returns true if it was deleted.
    ///
    /// The branch's tip must be the head of the newest round, because later commits are in no round
    /// and a deletion would lose them. The tip must also be the commit that the caller expects.
    /// `sh.tangled.repo.deleteBranch` has no compare-and-swap, so the tip is read right before the
    /// deletion.
    pub(crate) async fn delete_head(
        &self,
        located: &LocatedPull,
        expected: Option<&str>,
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> bool {
        let (repository, pull) = (&located.repository, &located.pull);
        if pull.head.is_empty() || pull.fork(repository).is_some() {
            warnings.push(Warning::new(
                "no branch was deleted: the changes are not from a branch of this repository",
            ));
            return false;
        }
        let deleted = match self.check_head_deletion(located, expected).await {
            Ok(Some(tip)) => self
                .delete_branch(repository, &pull.head)
                .await
                .map(|()| DeletedBranch::new(&pull.head, tip)),
            // The branch is already deleted.
            Ok(None) => return false,
            Err(e) => Err(e),
        };
        if let Err(e) = &deleted {
            warnings.push(kept_branch_warning(e));
        }
        let deleted = deleted.ok();
        let is_deleted = deleted.is_some();
        steps.push(Step::delete_head_branch(deleted));
        is_deleted
    }

    /// Returns the tip of the head branch if the branch may be deleted; `None` if it is gone. Fails
    /// if the branch has other commits than the newest round, or if it is not the author's to name.
    async fn check_head_deletion(
        &self,
        located: &LocatedPull,
        expected: Option<&str>,
    ) -> Result<Option<String>> {
        let (repository, pull) = (&located.repository, &located.pull);
        let writers = self.writers(repository).await;
        branch_claim(repository, pull, &writers).check_deletion(&pull.record.uri, &pull.head)?;
        let Some(branch) = self.branch(repository, &pull.head).await? else {
            return Ok(None);
        };
        let name = one_line(&pull.head);
        // The head of a pull request can be any branch. A knot would delete even the default
        // branch, so this is checked here.
        let default = self.default_branch(repository).await?;
        if pull.head == pull.base || default.is_some_and(|it| it.name == pull.head) {
            let message =
                format!("cannot delete '{name}': it is the default branch or the target branch");
            return Err(Error::precondition(Precondition::Rule, message)
                .with_hint("to delete it anyway, use git"));
        }
        check_expected_head(&pull.record.uri, expected, Some(&branch.hash))?;
        let patch = self.latest_patch(repository, pull).await?;
        match head_of(located, &patch) {
            Some(head) if head == branch.hash => {
                self.check_all_in_round(located, &patch, &branch.hash)
                    .await?;
                Ok(Some(branch.hash))
            }
            Some(head) => Err(Error::new(
                ErrorKind::Conflict {
                    what: Changed::Head,
                    expected: head.to_owned(),
                    actual: branch.hash.clone(),
                },
                format!(
                    "cannot delete '{name}': it is at {} now, and the newest round ends at {head}",
                    branch.hash
                ),
            )
            .with_hint("if the newer commits are not needed, delete the branch with git")),
            None => Err(Error::precondition(
                Precondition::Rule,
                format!(
                    "cannot delete '{name}': the newest round does not name its last commit, so \
                     the branch may have more commits"
                ),
            )
            .with_hint("look at the branch, then delete it with git")),
        }
    }

    /// Fails if the branch has a commit that the round lacks.
    ///
    /// The round can lack commits even if it ends at the tip of the branch: a patch that was
    /// submitted as a file may end at the same commit, but start later. A round that is a plain
    /// diff has no commits at all.
    async fn check_all_in_round(
        &self,
        located: &LocatedPull,
        patch: &Patch,
        tip: &str,
    ) -> Result<()> {
        let (repository, pull) = (&located.repository, &located.pull);
        let compared = self.compare(repository, &pull.base, tip).await?;
        let there = Patch::parse(compared.patch.unwrap_or_default().into_bytes());
        // A round can contain this commit id with other changes, so the changes are compared too.
        let is_ours =
            |mail: &PatchMail, ours: &PatchMail| ours.oid == mail.oid && is_same(mail, ours);
        let known = |mail: &&PatchMail| patch.mails.iter().any(|ours| is_ours(mail, ours));
        let Some(more) = there.mails.iter().find(|mail| !known(mail)) else {
            return Ok(());
        };
        Err(Error::precondition(
            Precondition::Rule,
            format!(
                "cannot delete '{}': its commit '{}' ({}) is not in the newest round",
                one_line(&pull.head),
                one_line(&more.subject),
                one_line(&more.oid)
            ),
        )
        .with_hint("look at the branch, then delete it with git"))
    }
}

pub(crate) fn kept_branch_warning(error: &Error) -> Warning {
    let warning = Warning::new(format!("the branch was not deleted: {}", error.message()));
    match error.hint() {
        Some(hint) => warning.with_hint(hint),
        None => warning,
    }
}
