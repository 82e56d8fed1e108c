//! Closes, reopens and deletes issues.

use forge_core::{
    Action, Hint, Op, Outcome, Param, Result, Warning,
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
                self.duplicate_comment(other, req.comment.as_deref())
                    .await?,
            );
        }
        let done = |s: &IssueSnapshot| {
            (s.state == req.state).then(|| state_unchanged_warning(number, req.state))
        };
        let mut outcome = self.change_issue(number, &edit, done).await?;
        let comment = edit.comment.as_deref().filter(|_| outcome.unchanged);
        outcome
            .warnings
            .extend(comment.map(|body| comment_not_added_warning(number, body)));
        Ok(outcome)
    }

    /// Returns the closing comment of a duplicate, with a line that names the original issue
    /// `other`.
    async fn duplicate_comment(&self, other: &IssueId, comment: Option<&str>) -> Result<String> {
        let other = self.related_number("duplicate_of", other)?;
        self.store.read_issue(&mut self.store.cat(), other).await?;
        let line = format!("Duplicate of #{other}");
        Ok(match comment {
            Some(comment) => format!("{comment}\n\n{line}"),
            None => line,
        })
    }

    /// Replaces the issue with a tombstone, so that its number is never reused.
    pub(super) async fn remove_issue(&self, number: u64) -> Result<Outcome<()>> {
        let by = identity(self.user_git()).await?;
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
                Err(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}

fn comment_not_added_warning(number: u64, comment: &str) -> Warning {
    Warning::new(
        "the comment was not added: a comment is only written together with a change of the state, \
         and the state does not change",
    )
    .with_hint(
        Hint::new("add the comment without changing the state").with_action(
            Action::op(Op::IssueComment)
                .on(number)
                .with(Param::Body, comment),
        ),
    )
}

fn state_unchanged_warning(number: u64, state: IssueState) -> Warning {
    let word = match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    };
    Warning::new(format!("issue #{number} is {word} already"))
}
