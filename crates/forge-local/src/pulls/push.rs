//! Commits file edits to an existing branch.

use forge_core::{
    Error, Outcome, Result, check_expected_head,
    model::{PushEdits, PushedCommit},
    text,
};

use super::edits::CommitTarget;
use crate::{
    Local,
    ident::identity,
    store::{RefChange, WriteRetry, branch_ref},
};

impl Local {
    /// Commits the edits, and updates the work trees that have the branch checked out.
    pub(crate) async fn commit_on_branch(&self, req: &PushEdits) -> Result<Outcome<PushedCommit>> {
        req.check()?;
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        let (headline, body) = req.parts();
        let message = match body {
            "" => headline.to_owned(),
            body => format!("{headline}\n\n{body}"),
        };
        loop {
            let head = self.branch_tip(&mut cat, "branch", &req.branch).await?;
            self.check_case(&req.branch).await?;
            let place = format!("branch '{}'", text::one_line(&req.branch));
            check_expected_head(&place, Some(&req.expected_head), Some(&head))?;
            let onto = CommitTarget {
                branch: &req.branch,
                oid: &head,
            };
            let (new, left_out) = self.commit_edits(onto, &req.edits, &message, &by).await?;
            let the_move = self.prepare_move(&req.branch, &head, &new, false).await?;
            let brought = the_move.forward().await?;
            let change = RefChange::Update {
                name: branch_ref(&req.branch),
                new: new.clone(),
                old: head,
            };
            match self
                .store
                .update_refs("forge: commit edits", &[change])
                .await
            {
                Ok(None) => {}
                Ok(Some(lost)) => {
                    the_move.reset().await?;
                    attempts.wait_before_retry(lost).await?;
                    continue;
                }
                Err(e) => return Err(the_move.reset_after(e).await),
            }
            let late = self.finish_move(the_move).await;
            let mut outcome = Outcome::immediate(PushedCommit::new(&req.branch, new));
            outcome.warnings.extend(left_out);
            outcome.steps.extend(brought);
            outcome.steps.extend(late.steps);
            outcome.warnings.extend(late.warnings);
            return Ok(outcome);
        }
    }

    /// Refuses a branch name that differs from the stored branch only in case. On a file system
    /// that ignores case, git opens the branch `feature` for the name `FEATURE`. Checks that passed
    /// for one name would then not hold for the other.
    async fn check_case(&self, branch: &str) -> Result<()> {
        if self.git().ref_oid(&branch_ref(branch)).await?.is_some() {
            return Ok(());
        }
        let message = format!(
            "there is no branch with the exact spelling '{}'",
            text::one_line(branch)
        );
        Err(Error::no_branch("branch", message)
            .with_hint("see the branches with `git branch --list`"))
    }
}
