//! Judges whether a pull request stands for the branch that it names as its head.
//!
//! The author in an event is a claim: a git repository has no accounts, and anybody who can write
//! `refs/forge` can write it under every name. Access to the repository is the right to push, so the
//! author decides nothing here. Only the head that a pull request was opened with counts, because no
//! command changes the head branch: an event that names another one is forged.

use forge_core::{
    Action, Error, Hint, Op, PrKey, Precondition, Result,
    model::{BranchClaim, HeadMatches},
    text,
};
use forge_git::CatFile;

use crate::{
    Local,
    store::{PullEvent, StoredPull},
};

impl Local {
    /// Compares the head branch with the one in the event that opened the pull request.
    pub(crate) async fn branch_claim(&self, cat: &mut CatFile, pull: &StoredPull) -> BranchClaim {
        let Ok(log) = self.store.log(cat, pull).await else {
            return BranchClaim::Unknown;
        };
        match log.events.first().map(|first| &first.entry.event) {
            Some(PullEvent::Opened { head_branch, .. })
                if *head_branch == pull.snapshot.head_branch =>
            {
                BranchClaim::Proven
            }
            Some(PullEvent::Opened { .. }) => BranchClaim::Redirected,
            Some(_) | None => BranchClaim::Unknown,
        }
    }

    /// Refuses the merge of another branch than the one that the pull request was opened for.
    pub(crate) async fn check_opened_head(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<()> {
        let claim = self.branch_claim(cat, pull).await;
        let Some(objection) = claim.objection() else {
            return Ok(());
        };
        let head = text::one_line(&pull.snapshot.head_branch);
        let message = format!("cannot merge '{head}' as #{}: {objection}", pull.number);
        Err(Error::precondition(Precondition::Rule, message).with_hint(
            Hint::new("open another pull request for the branch that is meant")
                .with_action(Action::op(Op::PrCreate)),
        ))
    }

    /// Returns the pull requests whose branch name counts. Adds the others to `found`.
    pub(super) async fn keep_proven(
        &self,
        cat: &mut CatFile,
        pulls: Vec<StoredPull>,
        found: &mut HeadMatches,
    ) -> Vec<StoredPull> {
        let mut proven = Vec::with_capacity(pulls.len());
        for pull in pulls {
            match self.branch_claim(cat, &pull).await {
                BranchClaim::Proven => proven.push(pull),
                claim => found.add_unproven(PrKey::Number(pull.number), claim),
            }
        }
        proven
    }
}
