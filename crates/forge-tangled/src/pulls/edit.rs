//! Edits title and description, labels and assignees.

use forge_core::{
    Action, Capability, Error, Ingestion, Op, Outcome, PrId, Result, Warning, check_version,
    model::{EditPull, PrFields, PullRequest},
};
use serde_json::json;

use super::{record::TangledPull, view::LocatedPull};
use crate::{
    Era, Tangled, caps::LIMITS, ingest::Seen, records::Record, related_records,
    write::partial_failure,
};

/// Returns the error for a change of labels that failed after the new title or description was
/// written.
fn partial_edit_error(uri: &str, edit: &EditPull, error: Error) -> Error {
    let text = match (&edit.title, &edit.description) {
        (Some(_), Some(_)) => "title and the new description",
        (Some(_), None) => "title",
        (None, _) => "description",
    };
    let rest = match (edit.labels.is_empty(), edit.assignees.is_empty()) {
        (false, false) => "the change of its labels and assignees",
        (true, false) => "the change of its assignees",
        (_, true) => "the change of its labels",
    };
    partial_failure(&format!("{uri} has the new {text}"), rest, error)
}

impl Tangled {
    /// Returns the outcome of an edit whose changes the record already has.
    pub(super) async fn unchanged_pull(
        &self,
        located: &LocatedPull,
        warning: Warning,
    ) -> Result<Outcome<PullRequest>> {
        let ingestion = self
            .ingestion_as_found(Seen::Pull(&located.pull.target), &located.pull.record)
            .await;
        let view = self.view_fresh(located, PrFields::NONE).await?;
        let mut outcome = Outcome::unchanged(view, warning);
        outcome.ingestion = ingestion;
        Ok(outcome)
    }

    /// See [`forge_core::PullRequests::edit`].
    pub(crate) async fn edit_pull(
        &self,
        pr: &PrId,
        edit: &EditPull,
    ) -> Result<Outcome<PullRequest>> {
        let new_title = edit
            .title
            .as_deref()
            .map(|t| LIMITS.check_title(t))
            .transpose()?;
        if let Some(description) = &edit.description {
            LIMITS.check_text("description", description)?;
        }
        let located = self.locate(pr).await?;
        if located.repository.era == Era::Org10 {
            return self.edit_ticket(&located, edit).await;
        }
        self.require_2026(&located.repository, Capability::PrEdit)?;
        let new_title = new_title
            .map(|title| self.edited_title(&located.pull, title))
            .transpose()?;
        let (labels, assignees) = (&edit.labels, &edit.assignees);
        let change = self
            .label_change(
                &located.repository,
                &self.settings.dialects.sh.pull,
                (&labels.add, &labels.remove),
                (&assignees.add, &assignees.remove),
            )
            .await?;
        let expected = edit.expected_version.as_deref();
        let uri = &located.pull.record.uri;
        let view = Action::op(Op::PrView).on(uri);
        check_version(uri, expected, located.pull.record.cid(), view)?;
        let change = match change.is_empty() {
            true => None,
            false => {
                let before = self.label_ops_before(&located.repository, uri);
                Some(change.record(&self.settings.dialects, uri, &before.await)?)
            }
        };
        let record = if new_title.is_some() || edit.description.is_some() {
            let fields = self.fields();
            let undeclared = self.undeclared(&located.repository).await?;
            self.edit_record(undeclared, &located.pull.uri, expected, |value| {
                if let Some(title) = &new_title {
                    value.insert(fields.title.to_string(), json!(title));
                }
                match edit.description.as_deref() {
                    Some("") => drop(value.remove(&*fields.body)),
                    Some(body) => drop(value.insert(fields.body.to_string(), json!(body))),
                    None => {}
                }
                Ok(())
            })
            .await?
        } else {
            located.pull.record.clone()
        };
        let edited = record.cid() != located.pull.record.cid();
        let uri = record.uri.clone();
        let mut written: Option<Record> = None;
        if let Some(new) = change {
            let did = self.session.viewer().await?.identity.did.clone();
            let sent = async {
                let undeclared = self.undeclared(&located.repository).await?;
                self.create_records(undeclared, std::slice::from_ref(&new))
                    .await
            };
            let cids = sent.await.map_err(|e| match edited {
                true => partial_edit_error(&uri, edit, e),
                false => e,
            })?;
            written = Some(Record {
                uri: new.uri(&did),
                cid: cids.into_iter().next(),
                value: new.value,
            });
        }
        let mut located = LocatedPull {
            pull: TangledPull::parse(record, self.fields())?,
            ..located
        };
        if !edited && written.is_none() {
            let warning = Warning::new("there was nothing to change");
            return self.unchanged_pull(&located, warning).await;
        }
        let mut ingestion = Ingestion::Immediate;
        if edited {
            let seen = Seen::Pull(&located.pull.target);
            let told = self
                .ingestion_of_edit(&located.repository, seen, &located.pull.record)
                .await;
            located.pull.record.cid = Some(told.cid);
            ingestion = told.ingestion;
        }
        if let Some(op) = &written {
            let seen = Seen::About(related_records::label_ops(&self.settings.dialects), &uri);
            let told = self.ingestion(&located.repository, seen, op).await;
            ingestion = ingestion.combine(told.ingestion);
        }
        let view = self.view_fresh(&located, PrFields::NONE).await?;
        let mut outcome = Outcome::immediate(view);
        outcome.ingestion = ingestion;
        Ok(outcome)
    }
}
