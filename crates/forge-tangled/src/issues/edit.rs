//! Changing the text of an issue.

use forge_core::{
    Capability, Outcome, Result, Warning,
    model::{EditIssue, Issue, IssueFields, IssueId},
};
use serde_json::json;

use super::{record::Stored, view::Located};
use crate::{
    Era, Tangled,
    ingest::Seen,
    pulls::{check_body, check_title},
    ticket_writes::{describe, done, entitle, experimental},
};

impl Tangled {
    /// See [`forge_core::Issues::edit_issue`].
    pub(super) async fn change_issue(
        &self,
        id: &IssueId,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let title = edit.title.as_deref().map(check_title).transpose()?;
        if let Some(body) = &edit.body {
            check_body("body", body)?;
        }
        let located = self.locate_issue(id).await?;
        if located.repository.era == Era::Org10 {
            return self.change_ticket_issue(&located, title, edit).await;
        }
        self.speaks_2026(&located.repository, Capability::IssueEdit)?;
        let fields = self.fields();
        let undeclared = self.undeclared(&located.repository).await?;
        let record = self
            .edit_record(undeclared, &located.issue.uri, None, |value| {
                if let Some(title) = &title {
                    value.insert(fields.title.to_string(), json!(title));
                }
                match edit.body.as_deref() {
                    Some("") => drop(value.remove(&*fields.body)),
                    Some(body) => drop(value.insert(fields.body.to_string(), json!(body))),
                    None => {}
                }
                Ok(())
            })
            .await?;
        if record.cid() == located.issue.record.cid() {
            return Ok(unchanged(self.view_issue_fresh(&located).await?));
        }
        let told = self
            .ingestion(&located.repository, Seen::Issue, &record)
            .await;
        let located = Located {
            issue: Stored::parse(record, self.fields())?,
            ..located
        };
        let mut outcome = Outcome::immediate(self.view_issue_fresh(&located).await?);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }

    async fn change_ticket_issue(
        &self,
        located: &Located,
        title: Option<String>,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let ticket = &located.issue.record;
        let names = &self.settings.dialects;
        let changed = self
            .change_ticket(&located.repository, ticket, None, |map| {
                if let Some(title) = &title {
                    entitle(map, title, names);
                }
                if let Some(text) = &edit.body {
                    describe(map, text, names);
                }
            })
            .await?;
        let repository = std::sync::Arc::clone(&located.repository);
        if !changed {
            let view = self.view_issue(located, IssueFields::default()).await?;
            return Ok(unchanged(view).with_warning(experimental()));
        }
        let view = self.view_written_issue(repository, &located.issue.uri);
        Ok(done(view.await?))
    }
}

fn unchanged(view: Issue) -> Outcome<Issue> {
    Outcome::unchanged(view, Warning::new("there was nothing to change"))
}
