//! Resolves threads.

use forge_core::{Action, Error, Hint, Noun, Op, Outcome, Result, Warning, model::Thread, text};

use crate::{
    Local,
    ident::identity,
    store::{AppendOutcome, NewEvent, PullEvent, WriteRetry},
};

impl Local {
    pub(super) async fn set_thread(
        &self,
        number: u64,
        key: &str,
        resolved: bool,
    ) -> Result<Outcome<Thread>> {
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let said = self.conversation(&mut cat, &pull, Some(&by)).await?;
            let mut thread = said
                .threads
                .into_iter()
                .find(|t| t.id == key)
                .ok_or_else(|| {
                    let shown = text::one_line(key).into_owned();
                    Error::not_found(Noun::Thread, format!("#{number} has no thread '{shown}'"))
                        .with_hint(
                            Hint::from(format!("look for the id among the threads of #{number}"))
                                .with_action(Action::op(Op::ThreadList).on(number)),
                        )
                })?;
            if thread.resolved == resolved {
                let state = if resolved {
                    "resolved already"
                } else {
                    "not resolved"
                };
                let message = format!("the thread {key} is {state}; nothing was changed");
                return Ok(Outcome::unchanged(thread, Warning::new(message)));
            }
            let event = PullEvent::ThreadResolved {
                thread: key.to_owned(),
                resolved,
            };
            let draft = NewEvent::new(event, pull.snapshot.clone());
            match self.store.append(&mut cat, &pull, &by, draft).await? {
                AppendOutcome::Done(_) => {
                    thread.resolved = resolved;
                    thread.resolved_by = resolved.then(|| by.actor.clone());
                    return Ok(Outcome::immediate(thread));
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}
