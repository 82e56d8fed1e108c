//! Edits an issue.
//!
//! Title and body are in the record of the issue's author. A comment, a label change or a state is
//! a record of its own in the account of the viewer (the logged-in user). An edit writes these
//! records of the viewer together, all or none.

use forge_core::{
    Action, Capability, Ingestion, Op, Outcome, Result, Warning, check_version,
    model::{EditIssue, Issue, IssueFields, IssueId, SetIssueState},
};
use futures::{StreamExt as _, future, stream};
use serde_json::json;

use super::{
    record::Stored,
    state::{as_written, state_unchanged_warning, wanted_state},
    values::Wanted,
    view::LocatedIssue,
};
use crate::{
    Era, Tangled,
    caps::{self, LIMITS},
    comments,
    ingest::Seen,
    ingested_collections::RecordWrite,
    label_definitions::no_board,
    labels::Before,
    pulls::{state::EffectiveState, status::Status},
    records::{NewRecord, Record},
    related_records,
    sources::IN_FLIGHT,
    ticket_labels::{check_list, relabel},
    ticket_writes::{describe, done, experimental, no_assignees, set_title},
    write::partial_failure,
};

/// Records that an edit writes in addition to the new title and body.
#[derive(Default)]
struct Plan {
    labels: Option<NewRecord>,
    state: Option<NewRecord>,
    /// The issue's state records, which decide its current state. Empty if the edit sets no state.
    statuses: Vec<Status>,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.labels.is_none() && self.state.is_none()
    }

    /// Lists the planned changes for an error message.
    fn name(&self, comment: bool) -> String {
        let parts = [
            self.labels.as_ref().map(|_| "the change of its labels"),
            self.state.as_ref().map(|_| "its new state"),
            comment.then_some("the comment"),
        ];
        parts
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" and ")
    }
}

impl Tangled {
    /// See [`forge_core::Issues::edit_issue`].
    pub(super) async fn change_issue(
        &self,
        id: &IssueId,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let title = check_edit(edit)?;
        let located = self.locate_issue(id).await?;
        if located.repository.era == Era::Org10 {
            return self.change_ticket_issue(&located, title, edit).await;
        }
        self.require_2026(&located.repository, Capability::IssueEdit)?;
        let (uri, expected) = (&located.issue.uri, edit.expected_version.as_deref());
        let has_text = title.is_some() || edit.body.is_some();
        let viewer = self.session.viewer().await?;
        let viewer = viewer.identity.did.as_str();
        if has_text && viewer != uri.authority {
            return Err(self.foreign_record_error(uri).await);
        }
        let plan = self.plan_edit(&located, edit).await?;
        if !has_text && (!plan.is_empty() || edit.comment.is_some()) && expected.is_some() {
            let now = self.issue_at(&located.repository, uri).await?;
            let view = Action::op(Op::IssueView).on(uri);
            check_version(uri, expected, now.record.cid(), view)?;
        }
        let record = match has_text {
            true => self.edit_text(&located, title, edit).await?,
            false => located.issue.record.clone(),
        };
        let edited = record.cid() != located.issue.record.cid();
        let located = LocatedIssue {
            issue: Stored::parse(record, self.fields())?,
            ..located
        };
        let written = self.write_beside(&located, edit, &plan, edited).await;
        let (written, warnings) = written.map_err(|e| match edited {
            true => {
                let done = format!("{uri} has the new text");
                partial_failure(&done, &plan.name(edit.comment.is_some()), e)
            }
            false => e,
        })?;
        let mut outcome = self.edited(&located, edit, &plan, edited, written).await?;
        outcome.warnings.extend(warnings);
        Ok(outcome)
    }

    /// Validates the label and state changes, and builds their records without writing them.
    async fn plan_edit(&self, located: &LocatedIssue, edit: &EditIssue) -> Result<Plan> {
        let LocatedIssue {
            repository, issue, ..
        } = located;
        let names = &self.settings.dialects;
        let uri = issue.record.uri.as_str();
        let mut plan = Plan::default();
        if let Some(state) = edit.state {
            self.may_set(repository, uri, &issue.author, Op::IssueComment)
                .await?;
            plan.statuses = self.deciding_issue_statuses(located).await?;
            let standing = EffectiveState::of(&plan.statuses);
            if standing.state != wanted_state(state) {
                plan.state = Some(self.issue_state_record(uri, state, standing)?);
            }
        }
        let change = self
            .label_change(
                repository,
                &names.sh.issue,
                (&edit.labels.add, &edit.labels.remove),
                (&edit.assignees.add, &edit.assignees.remove),
            )
            .await?;
        let fields = self
            .field_change(repository, Some(&issue.uri), &Wanted::from(edit))
            .await?;
        let expected = edit.expected_version.as_deref();
        let view = Action::op(Op::IssueView).on(uri);
        check_version(&uri, expected, issue.record.cid(), view)?;
        if change.is_empty() && fields.is_empty() {
            return Ok(plan);
        }
        let operations = self.label_ops_now(repository, uri).await;
        let writers = self.writers(repository).await;
        let fields = match fields.is_empty() {
            true => fields,
            false => {
                let definitions = self.definitions(repository).await?;
                fields.remaining(&definitions.applied(&operations, uri, &writers, self.fields()))
            }
        };
        let change = change.and(fields);
        if !change.is_empty() {
            let before = Before::of(&operations, uri, &writers, self.fields());
            plan.labels = Some(change.record(names, uri, &before)?);
        }
        Ok(plan)
    }

    /// Writes the title and the body into the issue's record.
    async fn edit_text(
        &self,
        located: &LocatedIssue,
        title: Option<&str>,
        edit: &EditIssue,
    ) -> Result<Record> {
        let fields = self.fields();
        let expected = edit.expected_version.as_deref();
        let undeclared = self.undeclared(&located.repository).await?;
        self.edit_record(undeclared, &located.issue.uri, expected, |value| {
            if let Some(title) = title {
                value.insert(fields.title.to_string(), json!(title));
            }
            match edit.body.as_deref() {
                Some("") => drop(value.remove(&*fields.body)),
                Some(body) => drop(value.insert(fields.body.to_string(), json!(body))),
                None => {}
            }
            Ok(())
        })
        .await
    }

    /// Writes the comment, the labels and the state, all or none.
    ///
    /// An interrupted earlier command may have written everything. So if all other changes are
    /// already in effect, the comment is not repeated if the viewer has written the same text since
    /// the last state change.
    async fn write_beside(
        &self,
        located: &LocatedIssue,
        edit: &EditIssue,
        plan: &Plan,
        edited: bool,
    ) -> Result<(Vec<(IssueEditPart, Record)>, Vec<Warning>)> {
        let issue = &located.issue.record;
        let mut warnings = Vec::new();
        let mut records: Vec<(IssueEditPart, NewRecord)> = Vec::new();
        if let Some(comment) = &edit.comment {
            let since = match edit.state {
                Some(state) => {
                    self.time_before_own_change(&plan.statuses, wanted_state(state))
                        .await?
                }
                None => None,
            };
            let only_comments = names_no_change(edit);
            let said = match edited || only_comments || !plan.is_empty() {
                true => None,
                false => self.find_comment_since(issue, None, comment, since).await?,
            };
            match said {
                Some(said) => warnings.push(Warning::new(format!(
                    "the comment already exists, and was not repeated: {}",
                    said.uri
                ))),
                None => {
                    let record = self.comment_record(issue, None, comment, None, since);
                    records.push((IssueEditPart::Comment, record.await?));
                }
            }
        }
        records.extend(plan.labels.clone().map(|r| (IssueEditPart::Labels, r)));
        records.extend(plan.state.clone().map(|r| (IssueEditPart::State, r)));
        if records.is_empty() {
            return Ok((Vec::new(), warnings));
        }
        let did = self.session.viewer().await?.identity.did.clone();
        let undeclared = self.undeclared(&located.repository).await?;
        let new: Vec<NewRecord> = records.iter().map(|(_, record)| record.clone()).collect();
        let cids = self.create_records(undeclared, &new).await?;
        let written = records.into_iter().zip(cids);
        let written = written.map(|((what, new), cid)| (what, new.written(&did, vec![cid])));
        Ok((written.collect(), warnings))
    }

    /// Waits until the index shows the written records, then reads the issue.
    ///
    /// The index is the service that lists all records.
    async fn edited(
        &self,
        located: &LocatedIssue,
        edit: &EditIssue,
        plan: &Plan,
        edited: bool,
        written: Vec<(IssueEditPart, Record)>,
    ) -> Result<Outcome<Issue>> {
        let (repository, issue) = (&located.repository, &located.issue.record);
        let target = located.issue.target.as_str();
        let names = &self.settings.dialects;
        let so_already = edit.state.filter(|_| plan.state.is_none());
        let so_already = so_already.map(|state| state_unchanged_warning(&issue.uri, state));
        let commented = written
            .iter()
            .any(|(what, _)| *what == IssueEditPart::Comment);
        let changed = edited || !plan.is_empty() || (commented && names_no_change(edit));
        let seen = |what: &IssueEditPart| {
            let kind = match what {
                IssueEditPart::Comment => related_records::comments(names),
                IssueEditPart::Labels => related_records::label_ops(names),
                IssueEditPart::State => related_records::issue_states(names),
            };
            Seen::About(kind, &issue.uri)
        };
        let mut waits = Vec::new();
        if edited {
            let (write, seen) = (RecordWrite::Edit, Seen::Issue(target));
            waits.push(self.ingestion_after(write, repository, seen, issue));
        }
        waits.extend(written.iter().map(|(what, record)| {
            self.ingestion_after(RecordWrite::New, repository, seen(what), record)
        }));
        let told = future::join_all(waits).await;
        let mut located = located.clone();
        if let Some(told) = told.first().filter(|_| edited) {
            located.issue.record.cid = Some(told.cid.clone());
        }
        let mut ingestion = told.into_iter().fold(Ingestion::Immediate, |all, told| {
            all.combine(told.ingestion)
        });
        let mut view = self.view_issue_fresh(&located).await?;
        if let (Some(state), Some(_)) = (edit.state, &plan.state) {
            as_written(&mut view, state);
        }
        let mut outcome = if changed {
            let mut outcome = Outcome::immediate(view);
            outcome.warnings.extend(so_already);
            outcome
        } else {
            let found = match edit.state {
                Some(_) => {
                    let kind = related_records::issue_states(names);
                    let subject = (Seen::Issue(target), issue);
                    self.ingestion_of_state(kind, &plan.statuses, subject).await
                }
                None => self.ingestion_as_found(Seen::Issue(target), issue).await,
            };
            ingestion = ingestion.combine(found);
            Outcome::unchanged(view, so_already.unwrap_or_else(nothing))
        };
        outcome.ingestion = ingestion;
        if !changed && commented {
            outcome.add_steps([comments::step(true)]);
        }
        Ok(outcome)
    }

    /// Edits several issues concurrently, or one after another if an issue occurs twice. See
    /// [`forge_core::Issues::edit_issues`].
    pub(super) async fn change_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Vec<Result<Outcome<Issue>>> {
        let mut seen = std::collections::HashSet::new();
        let are_distinct = edits.iter().all(|(id, _)| seen.insert(id));
        let at_once = if are_distinct { IN_FLIGHT } else { 1 };
        let writes: Vec<_> = edits
            .iter()
            .map(|(id, edit)| self.change_issue(id, edit))
            .collect();
        stream::iter(writes).buffered(at_once).collect().await
    }

    async fn change_ticket_issue(
        &self,
        located: &LocatedIssue,
        title: Option<&str>,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let repository = &located.repository;
        let wanted = Wanted::from(edit);
        if wanted.has_values() {
            self.require_2026(repository, Capability::IssueValues)?;
        }
        if wanted.has_relations() {
            self.require_2026(repository, Capability::IssueRelations)?;
        }
        if !edit.assignees.is_empty() {
            return Err(no_assignees());
        }
        let (state, comment) = (edit.state, edit.comment.as_deref());
        let has_text = title.is_some() || edit.body.is_some() || !edit.labels.is_empty();
        let mut outcome = match has_text || (state.is_none() && comment.is_none()) {
            true => Some(self.change_ticket_text(located, title, edit).await?),
            false => {
                let expected = edit.expected_version.as_deref();
                let view = Action::op(Op::IssueView).on(&located.issue.uri);
                let cid = located.issue.record.cid();
                check_version(&located.issue.uri, expected, cid, view)?;
                None
            }
        };
        if state.is_some() || comment.is_some() {
            let changed = outcome.as_ref().is_some_and(|o| !o.unchanged);
            let rest = self.set_ticket_beside(located, state, comment).await;
            let mut rest = rest.map_err(|e| match changed {
                true => {
                    let uri = &located.issue.uri;
                    partial_failure(&format!("{uri} has the new text"), "the rest", e)
                }
                false => e,
            })?;
            let both = changed && rest.already;
            rest.already &= !both;
            rest.unchanged &= !both;
            outcome = Some(rest);
        }
        match outcome {
            Some(outcome) => Ok(outcome),
            None => Ok(unchanged(
                self.view_issue(located, &IssueFields::default()).await?,
            )),
        }
    }

    /// Sets the state of a ticket (an issue of Tangled 1.0) and comments on it, or only comments.
    async fn set_ticket_beside(
        &self,
        located: &LocatedIssue,
        state: Option<forge_core::model::IssueState>,
        comment: Option<&str>,
    ) -> Result<Outcome<Issue>> {
        let repository = std::sync::Arc::clone(&located.repository);
        let now = LocatedIssue {
            issue: self.issue_at(&repository, &located.issue.uri).await?,
            repository,
            number: located.number,
        };
        if let Some(state) = state {
            let mut req = SetIssueState::to(state);
            req.comment = comment.map(str::to_owned);
            return self.set_ticket_issue(&now, &req).await;
        }
        if let Some(comment) = comment {
            let ticket = now.issue.record.rkey();
            self.comment_in_account(&now.repository, ticket, comment, None)
                .await?;
        }
        let repository = std::sync::Arc::clone(&now.repository);
        let view = self.view_written_issue(repository, &now.issue.uri);
        Ok(done(view.await?))
    }

    async fn change_ticket_text(
        &self,
        located: &LocatedIssue,
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
                    set_title(map, title, names);
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

/// Kind of a record that an edit writes in addition to the new title and body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IssueEditPart {
    Comment,
    Labels,
    State,
}

/// Checks an edit without sending a request, and returns the new title.
fn check_edit(edit: &EditIssue) -> Result<Option<&str>> {
    let title = edit.title.as_deref().map(|t| LIMITS.check_title(t));
    let title = title.transpose()?;
    if let Some(body) = &edit.body {
        LIMITS.check_text("body", body)?;
    }
    if let Some(comment) = &edit.comment {
        LIMITS.check_comment("comment", comment)?;
    }
    if edit.reason.is_some() {
        return Err(caps::refusal(Capability::IssueReason));
    }
    no_board(edit.board.as_ref())?;
    Ok(title)
}

/// Returns true if an edit has no change other than a comment.
fn names_no_change(edit: &EditIssue) -> bool {
    let text = edit.title.is_some() || edit.body.is_some();
    let labels = !edit.labels.is_empty() || !edit.assignees.is_empty();
    !text && !labels && edit.state.is_none() && Wanted::from(edit).is_empty()
}

fn nothing() -> Warning {
    Warning::new("there was nothing to change")
}

fn unchanged(view: Issue) -> Outcome<Issue> {
    Outcome::unchanged(view, nothing())
}
