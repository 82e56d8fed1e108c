//! Closes, reopens and deletes issues.

use forge_core::{
    Action, Error, Hint, Op, Outcome, Param, Result, Warning,
    model::{EditIssue, Issue, IssueId, IssueState, SetIssueState},
};

use crate::{
    Local,
    ident::identity,
    store::{IssueEvent, IssueSnapshot, WriteRetry},
};

impl Local {
    pub(super) async fn close_or_reopen(
        &self,
        number: u64,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        let mut edit = EditIssue::default();
        edit.state = Some(req.state);
        edit.reason = req.reason;
        edit.comment = req.comment.clone();
        if let Some(other) = &req.duplicate_of {
            edit.comment = Some(
                self.duplicate_comment(number, other, req.comment.as_deref())
                    .await?,
            );
        }
        let done = |s: &IssueSnapshot| (s.state == req.state).then(|| already(number, req.state));
        let mut outcome = self.change_issue(number, &edit, done).await?;
        let comment = edit.comment.as_deref().filter(|_| outcome.unchanged);
        outcome
            .warnings
            .extend(comment.map(|body| unsaid(number, body)));
        Ok(outcome)
    }

    /// Returns the closing comment. It has a line that names issue `other` as the original of the
    /// duplicate `number`.
    async fn duplicate_comment(
        &self,
        number: u64,
        other: &IssueId,
        comment: Option<&str>,
    ) -> Result<String> {
        let other = self.related_number("duplicate_of", other)?;
        if other == number {
            let message = format!("issue #{number} cannot be a duplicate of itself");
            return Err(
                Error::invalid("duplicate_of", message).with_hint("name the issue that it repeats")
            );
        }
        self.store.read_issue(&mut self.store.cat(), other).await?;
        let line = format!("Duplicate of #{other}");
        Ok(match comment {
            Some(comment) => format!("{comment}\n\n{line}"),
            None => line,
        })
    }

    /// Replaces the issue with a tombstone, so that its number is never reused.
    pub(super) async fn remove_issue(&self, number: u64) -> Result<Outcome<()>> {
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let tombstone = IssueSnapshot::tombstone(number, &by);
            let event = IssueEvent::Deleted;
            let written = self
                .store
                .write_issue(Some(&before), tombstone, &by, event, Vec::new());
            match written.await? {
                Ok(_) => return Ok(Outcome::immediate(())),
                Err(lost) => attempts.again(lost).await?,
            }
        }
    }
}

fn unsaid(number: u64, comment: &str) -> Warning {
    Warning::new(
        "the comment was not made: a comment goes with a change of the state, and the state \
         does not change",
    )
    .with_hint(
        Hint::new("comment without a change of the state").with_action(
            Action::op(Op::IssueComment)
                .on(number)
                .with(Param::Body, comment),
        ),
    )
}

fn already(number: u64, state: IssueState) -> Warning {
    let word = match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    };
    Warning::new(format!("issue #{number} is {word} already"))
}
