//! Opens issues.

use forge_core::{
    Outcome, Result,
    model::{EditIssue, Issue, IssueFields, NewIssue, SetChange},
};

use super::edit::check_edit;
use crate::{
    Local,
    ident::identity,
    store::{IssueEvent, IssueSnapshot, WriteRetry},
};

impl Local {
    pub(super) async fn open_issue(&self, new: &NewIssue) -> Result<Outcome<Issue>> {
        let edit = as_edit(new);
        check_edit(&edit)?;
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut blank = IssueSnapshot::new(by.actor.clone(), by.at);
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            blank.number = self.store.next_issue().await?;
            let applied = self.apply_edit(&mut cat, &blank, &edit, &by).await?;
            let event = IssueEvent::Opened {
                title: applied.snapshot.title.clone(),
                body: applied.snapshot.body.clone(),
            };
            let written =
                self.store
                    .write_issue(None, applied.snapshot, &by, event, applied.unmoved);
            match written.await? {
                Ok(issue) => {
                    let fields = IssueFields::NONE;
                    let made = self.present_issue(&mut cat, &issue, &fields).await?;
                    return Ok(Outcome::immediate(made));
                }
                Err(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}

/// Converts a request for a new issue to an edit of a blank issue.
fn as_edit(new: &NewIssue) -> EditIssue {
    let added = |all: &[String]| SetChange {
        add: all.to_vec(),
        remove: Vec::new(),
    };
    let values = new.values.iter();
    let mut edit = EditIssue::default();
    edit.title = Some(new.title.clone());
    edit.body = Some(new.body.clone());
    edit.labels = added(&new.labels);
    edit.assignees = added(&new.assignees);
    edit.values = values.map(|(n, v)| (n.clone(), Some(v.clone()))).collect();
    edit.board = new.board.clone();
    edit.parent = new.parent.clone().map(Some);
    edit.blocked_by = SetChange {
        add: new.blocked_by.clone(),
        remove: Vec::new(),
    };
    edit
}
