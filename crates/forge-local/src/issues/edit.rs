//! Changing the text and the labels of an issue.

use forge_core::{
    Action, Op, Outcome, Result, Warning, check_version,
    model::{EditIssue, Issue, IssueFields, IssueId},
};

use crate::{
    Local,
    caps::LIMITS,
    ident::identity,
    pulls::change_labels,
    store::{Attempts, IssueEvent},
};

impl Local {
    pub(super) async fn change_issue(
        &self,
        number: u64,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let title = edit
            .title
            .as_deref()
            .map(|t| LIMITS.check_title(t))
            .transpose()?;
        if let Some(body) = &edit.body {
            LIMITS.check_text("body", body)?;
        }
        let by = identity(self.here()).await?;
        let mut cat = self.store.cat();
        let mut attempts = Attempts::begin(&self.store).await;
        let fields = IssueFields::default();
        loop {
            let before = self.store.read_issue(&mut cat, number).await?;
            let id = IssueId::number(self.id().clone(), number);
            let expected = edit.expected_version.as_deref();
            check_version(
                &id,
                expected,
                &before.tip,
                Action::op(Op::IssueView).on(number),
            )?;
            let mut snapshot = before.snapshot.clone();
            let title = title.filter(|t| *t != snapshot.title).map(str::to_owned);
            let body = edit.body.clone().filter(|b| *b != snapshot.body);
            let (labels_added, labels_removed) = if edit.labels.is_empty() {
                Default::default()
            } else {
                let book = self.store.labels(&mut cat).await?.book;
                change_labels(&mut snapshot.labels, &edit.labels, &book)?
            };
            if title.is_none()
                && body.is_none()
                && labels_added.is_empty()
                && labels_removed.is_empty()
            {
                let view = self.present_issue(&mut cat, &before, &fields).await?;
                let warning = Warning::new(format!("issue #{number} is so already"));
                return Ok(Outcome::unchanged(view, warning));
            }
            if let Some(title) = &title {
                snapshot.title.clone_from(title);
            }
            if let Some(body) = &body {
                snapshot.body.clone_from(body);
            }
            let event = IssueEvent::Edited {
                title,
                body,
                labels_added,
                labels_removed,
            };
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
