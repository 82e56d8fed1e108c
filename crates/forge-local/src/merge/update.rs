//! Updates a head branch from its base, with git objects and refs.

use forge_core::{
    Action, Hint, Op, Outcome, Result, check_expected_base, check_expected_head,
    model::{PrFields, PullRequest, UpdateBranch, UpdateMethod},
};
use forge_git::{Merged, RawCommit, signature};

use super::{conflict, merge_by_hand};
use crate::{
    Local,
    ident::{CommitIdentity, identity},
    store::{RefChange, StoredPull, WriteRetry, branch_ref},
};

impl Local {
    pub(crate) async fn update_pull_branch(
        &self,
        number: u64,
        req: &UpdateBranch,
    ) -> Result<Outcome<PullRequest>> {
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            crate::pulls::require_open(
                &pull,
                "only the branch of an open pull request can be updated",
            )?;
            let (base, head) = self.require_both_tips(&pull).await?;
            let id = format!("#{number}");
            check_expected_head(&id, req.expected_head.as_deref(), Some(head))?;
            check_expected_base(
                &id,
                req.expected_base.as_deref(),
                &pull.snapshot.base_branch,
            )?;
            if self.git().contains(head, base).await? {
                return self.unchanged(&mut cat, pull, "up to date already").await;
            }
            let new = match req.method {
                UpdateMethod::Merge => self.base_into_head(&pull, &by).await?,
                UpdateMethod::Rebase => {
                    let otherwise = Hint::new("update the branch with a merge commit instead")
                        .with_action(Action::op(Op::PrUpdateBranch).on(number));
                    self.rebased(&mut cat, &pull, &by, otherwise).await?
                }
            };
            let change = RefChange::Update {
                name: branch_ref(&pull.snapshot.head_branch),
                new: new.clone(),
                old: head.to_owned(),
            };
            let reason = format!("forge: #{number} update head branch");
            let branch = &pull.snapshot.head_branch;
            let the_move = self
                .prepare_move(branch, head, &new, req.leave_checkout)
                .await?;
            let brought = the_move.forward().await?;
            match self.store.update_refs(&reason, &[change]).await {
                Ok(None) => {}
                Ok(Some(lost)) => {
                    the_move.reset().await?;
                    attempts.wait_before_retry(lost).await?;
                    continue;
                }
                Err(e) => return Err(the_move.reset_after(e).await),
            }
            let late = self.finish_move(the_move).await;
            let pull = self.store.read(&mut cat, number).await?;
            let mut outcome =
                Outcome::immediate(self.present(&mut cat, pull, PrFields::NONE).await?);
            outcome.warnings.extend(late.warnings);
            outcome.steps.extend(brought);
            outcome.steps.extend(late.steps);
            return Ok(outcome);
        }
    }

    /// Creates the merge commit on top of the head, like `git merge` on the head branch.
    async fn base_into_head(&self, pull: &StoredPull, by: &CommitIdentity) -> Result<String> {
        let (base, head) = (pull.base()?, pull.head()?);
        let merged = self.git().for_write().merge_trees(head, base, false).await;
        let s = &pull.snapshot;
        let by_hand = |e| merge_by_hand(e, pull.number, &s.head_branch, &s.base_branch);
        let tree = match merged.map_err(by_hand)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts(files) => return Err(conflict(pull, files, None)),
        };
        let message = format!("Merge branch '{}' into {}\n", s.base_branch, s.head_branch);
        let who = signature(&by.actor, by.at);
        let commit = RawCommit {
            tree: &tree,
            parents: vec![head, base],
            author: who.as_bytes(),
            committer: who.as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        };
        self.user_git()
            .put_landing_commit(&commit, &by.signing)
            .await
    }
}
