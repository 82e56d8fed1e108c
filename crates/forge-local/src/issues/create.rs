//! Opening an issue.

use forge_core::{
    Outcome, Result,
    model::{Issue, IssueFields, NewIssue},
};

use crate::{
    Local,
    caps::LIMITS,
    ident::identity,
    pulls::{resolve_labels, resolve_logins},
    store::{Attempts, IssueEvent, IssueSnapshot},
};

impl Local {
    pub(super) async fn open_issue(&self, new: &NewIssue) -> Result<Outcome<Issue>> {
        let title = LIMITS.check_title(&new.title)?;
        LIMITS.check_text("body", &new.body)?;
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let book = self.store.labels(&mut cat).await?.book;
        let mut snapshot = IssueSnapshot::new(by.actor.clone(), by.at);
        snapshot.title = title.to_owned();
        snapshot.body.clone_from(&new.body);
        snapshot.labels = resolve_labels(&book, &new.labels)?;
        LIMITS.check_label_count(snapshot.labels.len())?;
        snapshot.assignees = resolve_logins("assignees", &new.assignees, &by)?;
        let mut attempts = Attempts::begin(&self.store).await;
        loop {
            snapshot.number = self.store.next_issue().await?;
            let event = IssueEvent::Opened {
                title: snapshot.title.clone(),
                body: snapshot.body.clone(),
            };
            let written = self.store.write_issue(None, snapshot.clone(), &by, event);
            match written.await? {
                Ok(issue) => {
                    let fields = IssueFields::default();
                    let made = self.present_issue(&mut cat, &issue, &fields).await?;
                    return Ok(Outcome::immediate(made));
                }
                Err(lost) => attempts.again(lost).await?,
            }
        }
    }
}
