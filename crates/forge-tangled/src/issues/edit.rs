//! Changing the text and the labels of an issue.

use forge_core::{
    Action, Capability, Ingestion, Op, Outcome, Result, Warning, check_version,
    model::{EditIssue, Issue, IssueFields, IssueId},
};
use serde_json::json;

use super::{record::Stored, view::Located};
use crate::{
    Era, Tangled,
    caps::LIMITS,
    ingest::Seen,
    kinds,
    ticket_labels::{check_list, relabel},
    ticket_writes::{describe, done, entitle, experimental},
    write::half_done,
};

impl Tangled {
    /// See [`forge_core::Issues::edit_issue`].
    pub(super) async fn change_issue(
        &self,
        id: &IssueId,
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
        let located = self.locate_issue(id).await?;
        if located.repository.era == Era::Org10 {
            return self.change_ticket_issue(&located, title, edit).await;
        }
        self.speaks_2026(&located.repository, Capability::IssueEdit)?;
        let names = &self.settings.dialects;
        let change = self
            .label_change(
                &located.repository,
                &names.sh.issue,
                (&edit.labels.add, &edit.labels.remove),
                (&[], &[]),
            )
            .await?;
        let uri = located.issue.record.uri.clone();
        let expected = edit.expected_version.as_deref();
        let view = Action::op(Op::IssueView).on(&uri);
        check_version(&uri, expected, located.issue.record.cid(), view)?;
        let labels = match change.is_empty() {
            true => None,
            false => {
                let author = &located.issue.author;
                let before = self.label_ops_before(&located.repository, &uri, author);
                Some(change.record(names, &uri, &before.await)?)
            }
        };
        let repository = &located.repository;
        let record = if title.is_some() || edit.body.is_some() {
            let fields = self.fields();
            let undeclared = self.undeclared(repository).await?;
            self.edit_record(undeclared, &located.issue.uri, expected, |value| {
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
            .await?
        } else {
            located.issue.record.clone()
        };
        let edited = record.cid() != located.issue.record.cid();
        if !edited && labels.is_none() {
            let ingestion = self.ingestion_as_found(Seen::Issue, &record).await;
            let view = self.view_issue_fresh(&located).await?;
            return Ok(Outcome {
                ingestion,
                ..unchanged(view)
            });
        }
        let mut ingestion = Ingestion::Immediate;
        if let Some(new) = labels {
            let did = self.session.viewer().await?.identity.did.clone();
            let written = match self.undeclared(repository).await {
                Ok(undeclared) => {
                    self.create_records(undeclared, std::slice::from_ref(&new))
                        .await
                }
                Err(e) => Err(e),
            };
            let cids = written.map_err(|e| match edited {
                true => half_done(
                    &format!("{uri} has the new text"),
                    "the change of its labels",
                    e,
                ),
                false => e,
            })?;
            let seen = Seen::About(kinds::label_ops(names), &uri);
            let written = new.written(&did, cids);
            let told = self.ingestion(repository, seen, &written).await;
            ingestion = ingestion.worse(told.ingestion);
        }
        if edited {
            let told = self.ingestion(repository, Seen::Issue, &record).await;
            ingestion = ingestion.worse(told.ingestion);
        }
        let located = Located {
            issue: Stored::parse(record, self.fields())?,
            ..located
        };
        let mut outcome = Outcome::immediate(self.view_issue_fresh(&located).await?);
        outcome.ingestion = ingestion;
        Ok(outcome)
    }

    async fn change_ticket_issue(
        &self,
        located: &Located,
        title: Option<&str>,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let ticket = &located.issue.record;
        let expected = edit.expected_version.as_deref();
        let names = &self.settings.dialects;
        if !edit.labels.is_empty() {
            check_list(ticket, names)?;
        }
        let add = self
            .labels_in_use(&located.repository, &edit.labels.add)
            .await?;
        let changed = self
            .change_ticket(&located.repository, ticket, expected, |map| {
                if let Some(title) = &title {
                    entitle(map, title, names);
                }
                if let Some(text) = &edit.body {
                    describe(map, text, names);
                }
                relabel(map, &add, &edit.labels.remove, names);
                Ok(())
            })
            .await?;
        let repository = std::sync::Arc::clone(&located.repository);
        if !changed {
            let view = self.view_issue(located, &IssueFields::default()).await?;
            return Ok(unchanged(view).with_warning(experimental()));
        }
        let view = self.view_written_issue(repository, &located.issue.uri);
        Ok(done(view.await?))
    }
}

fn unchanged(view: Issue) -> Outcome<Issue> {
    Outcome::unchanged(view, Warning::new("there was nothing to change"))
}
