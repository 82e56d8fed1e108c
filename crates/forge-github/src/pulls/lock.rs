//! Locks conversations: one query for id and lock, one document of mutations.

use forge_core::{
    Outcome, PrId, Result, Warning,
    model::{Lock, PrFields, PullRequest},
};
use serde_json::{Value, json};

use crate::{
    GitHub,
    gql::{
        mutation::{Batch, LOCK, UNLOCK},
        selections,
    },
    mutate::{failed, or_read_back},
};

struct LockState {
    /// The node id in GitHub's API.
    id: String,
    is_locked: bool,
    /// The lock reason in GitHub's upper-case form.
    reason: Option<String>,
    pull: PullRequest,
}

impl LockState {
    fn is(&self, lock: Lock) -> bool {
        match lock {
            Lock::Unlocked => !self.is_locked,
            Lock::Locked(None) => self.is_locked,
            Lock::Locked(Some(wanted)) => self
                .reason
                .as_ref()
                .is_some_and(|reason| reason.eq_ignore_ascii_case(wanted.name())),
        }
    }
}

impl GitHub {
    pub(super) async fn set_pull_lock(
        &self,
        pr: &PrId,
        lock: Lock,
    ) -> Result<Outcome<PullRequest>> {
        let before = self.lock_state(pr).await?;
        if before.is(lock) {
            let is = match lock {
                Lock::Locked(_) => "locked",
                Lock::Unlocked => "unlocked",
            };
            let warning = Warning::new(format!("{pr} is {is} already"));
            return Ok(Outcome::unchanged(before.pull, warning));
        }
        let mut batch = Batch::default();
        // GitHub ignores a lock of a locked conversation, so a new reason needs an unlock before.
        if before.is_locked {
            batch.push("unlock", UNLOCK, json!({ "lockableId": before.id }));
        }
        if let Lock::Locked(reason) = lock {
            let reason = reason.map(|reason| reason.name().to_ascii_uppercase());
            let input = json!({ "lockableId": before.id, "lockReason": reason });
            batch.push("lock", LOCK, input);
        }
        let written = self.send_lock(&batch).await;
        let written = written.map(|()| Outcome::immediate(before.pull));
        let (mut outcome, warning) = or_read_back(written, || async {
            let now = self.lock_state(pr).await?;
            Ok(now.is(lock).then(|| Outcome::immediate(now.pull)))
        })
        .await?;
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    async fn send_lock(&self, batch: &Batch) -> Result<()> {
        let answer = self.send::<Value>(batch).await?;
        match batch.aliases().find_map(|alias| failed(&answer, alias)) {
            Some(e) => Err(self.api.error(&answer, e)),
            None => Ok(()),
        }
    }

    async fn lock_state(&self, pr: &PrId) -> Result<LockState> {
        let (mut wire, warnings) = self.lookup(pr, selections::TO_LOCK).await?;
        Ok(LockState {
            id: wire.id.clone(),
            is_locked: wire.locked,
            reason: wire.active_lock_reason.take(),
            pull: self.domain(&pr.repo, wire, PrFields::NONE, warnings)?,
        })
    }
}
