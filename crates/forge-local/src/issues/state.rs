//! Closing and reopening an issue.

use forge_core::{
    Outcome, Result, Warning,
    model::{Issue, IssueFields, IssueReason, IssueState, SetIssueState},
};

use crate::{
    Local,
    caps::LIMITS,
    ident::identity,
    store::{Attempts, IssueEvent},
};

impl Local {
    pub(super) async fn close_or_reopen(
        &self,
        number: u64,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        if let Some(comment) = &req.comment {
            LIMITS.check_comment("body", comment)?;
        }
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = Attempts::begin(&self.store).await;
        let fields = IssueFields::default();
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let mut snapshot = before.snapshot.clone();
            if snapshot.state == req.state {
                let view = self.present_issue(&mut cat, &before, &fields).await?;
                return Ok(Outcome::unchanged(view, already(number, req.state)));
            }
            let comment = req.comment.clone();
            snapshot.comments += u64::from(comment.is_some());
            let event = match req.state {
                IssueState::Open => {
                    snapshot.state_reason = Some(IssueReason::Reopened);
                    snapshot.closed_at = None;
                    IssueEvent::Reopened { comment }
                }
                IssueState::Closed => {
                    let reason = req.reason.unwrap_or(IssueReason::Completed);
                    snapshot.state_reason = Some(reason);
                    snapshot.closed_at = Some(by.at);
                    IssueEvent::Closed {
                        reason: Some(reason),
                        comment,
                    }
                }
            };
            snapshot.state = req.state;
            let written = self.store.write_issue(Some(&before), snapshot, &by, event);
            match written.await? {
                Ok(issue) => {
                    let view = self.present_issue(&mut cat, &issue, &fields).await?;
                    return Ok(Outcome::immediate(view));
                }
                Err(lost) => attempts.again(lost).await?,
            }
        }
    }
}

fn already(number: u64, state: IssueState) -> Warning {
    let word = match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    };
    Warning::new(format!("issue #{number} is {word} already"))
}
