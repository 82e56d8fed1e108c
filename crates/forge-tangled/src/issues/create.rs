//! Opens an issue.

use forge_core::{
    Action, AtUri, Capability, Hint, Op, Outcome, RepoId, Result,
    model::{Issue, IssueFields, NewIssue, PrState},
};
use serde_json::{Map, Value, json};

use super::{record::Stored, values::Wanted, view::LocatedIssue};
use crate::{
    Era, Tangled,
    caps::LIMITS,
    ingest::Seen,
    label_definitions::no_board,
    labels::Before,
    records::NewRecord,
    related_records,
    repository::TangledRepository,
    ticket_labels::set_labels,
    ticket_writes::{describe, done, no_assignees, set_title, unread_write_error},
    write, xrpc_error,
};

impl Tangled {
    /// See [`forge_core::Issues::create_issue`].
    ///
    /// The records of the issue and of its labels are one atomic write. An issue without a state
    /// record is open, so no state record is written.
    pub(super) async fn open_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>> {
        let title = LIMITS.check_title(&new.title)?;
        LIMITS.check_text("body", &new.body)?;
        no_board(new.board.as_ref())?;
        let repository = self.repository(repo).await?;
        if repository.era == Era::Org10 {
            return self.open_ticket(repository, title, new).await;
        }
        self.require_2026(&repository, Capability::IssueCreate)?;
        let did = self.session.viewer().await?.identity.did.clone();
        let names = &self.settings.dialects.sh;
        let labels = self.label_change(
            &repository,
            &names.issue,
            (&new.labels, &[]),
            (&new.assignees, &[]),
        );
        let labels = labels.await?;
        let wanted = Wanted::from(new);
        let values = self.field_change(&repository, None, &wanted).await?;
        let change = labels.and(values);
        let fields = self.fields();
        let mut value = json!({
            "$type": names.issue,
            (fields.issue_repo.to_string()): repository.target(),
            (fields.title.to_string()): title,
            (fields.created_at.to_string()): write::now(),
        });
        if let Some(map) = value.as_object_mut().filter(|_| !new.body.is_empty()) {
            map.insert(fields.body.to_string(), json!(new.body));
        }
        let issue = write::checked(NewRecord::new(&names.issue, value), &self.settings.dialects)?;
        let uri = issue.uri(&did);
        let labels = match change.is_empty() {
            true => None,
            false => Some(change.record(&self.settings.dialects, &uri, &Before::default())?),
        };
        let mut records = vec![issue.clone()];
        records.extend(labels.clone());
        let undeclared = self.undeclared(&repository).await?;
        let cids = self.create_records(undeclared, &records).await;
        let cids = cids.map_err(|e| {
            if xrpc_error::is_ambiguous(&e) {
                e.with_hint(
                    Hint::new("check whether the issue exists before you try again")
                        .with_action(Action::op(Op::IssueView).on(&uri)),
                )
            } else {
                e
            }
        })?;
        let last = cids.last().cloned().into_iter().collect();
        let mut written = issue.written(&did, cids);
        let seen = Seen::Issue(repository.target());
        let told = self.ingestion(&repository, seen, &written).await;
        written.cid = Some(told.cid);
        let mut ingestion = told.ingestion;
        if let Some(labels) = labels {
            let seen = Seen::About(related_records::label_ops(&self.settings.dialects), &uri);
            let labels = labels.written(&did, last);
            let told = self.ingestion(&repository, seen, &labels).await;
            ingestion = ingestion.combine(told.ingestion);
        }
        let located = LocatedIssue {
            repository,
            issue: Stored::parse(written, self.fields())?,
            number: None,
        };
        let mut outcome = Outcome::immediate(self.view_issue_fresh(&located).await?);
        outcome.ingestion = ingestion;
        Ok(outcome)
    }

    /// Opens an issue of a Tangled 1.0 repository: a ticket record in the repository's own account.
    async fn open_ticket(
        &self,
        repository: std::sync::Arc<TangledRepository>,
        title: &str,
        new: &NewIssue,
    ) -> Result<Outcome<Issue>> {
        self.session.viewer().await?;
        if !new.assignees.is_empty() {
            return Err(no_assignees());
        }
        let wanted = Wanted::from(new);
        if wanted.has_values() {
            self.require_2026(&repository, Capability::IssueValues)?;
        }
        if wanted.has_relations() {
            self.require_2026(&repository, Capability::IssueRelations)?;
        }
        let names = &self.settings.dialects;
        let fields = &names.fields;
        let labels = self.labels_in_use(&repository, &new.labels).await?;
        let mut map = Map::new();
        map.insert("$type".to_owned(), json!(names.org.issue));
        set_title(&mut map, title, names);
        map.insert(
            fields.state.to_string(),
            json!(names.org.state(PrState::Open)),
        );
        map.insert(fields.created_at.to_string(), json!(write::now()));
        describe(&mut map, &new.body, names);
        set_labels(&mut map, labels, names);
        let record = NewRecord::new(&names.org.issue, Value::Object(map));
        let record = write::checked(record, names)?;
        let written = self.put_new(&repository, &record).await?;
        let uri = AtUri::parse(&written.uri)?;
        Ok(done(self.view_written_issue(repository, &uri).await?))
    }

    /// Reads an issue after it was written to the account of its repository.
    pub(super) async fn view_written_issue(
        &self,
        repository: std::sync::Arc<TangledRepository>,
        uri: &AtUri,
    ) -> Result<Issue> {
        let view = async {
            let located = LocatedIssue {
                issue: self.issue_at(&repository, uri).await?,
                repository,
                number: None,
            };
            self.view_issue(&located, &IssueFields::default()).await
        };
        view.await
            .map_err(|e| unread_write_error(&uri.to_string(), e))
    }
}
