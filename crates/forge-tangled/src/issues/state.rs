//! Closing and reopening an issue: a state record in the viewer's account.

use forge_core::{
    Action, Capability, Hint, Ingestion, Op, Outcome, Param, Result, Timestamp, Warning,
    model::{Issue, IssueFields, IssueId, IssueState, PrState, SetIssueState},
};
use serde_json::json;

use super::view::LocatedIssue;
use crate::{
    Era, Tangled,
    caps::{self, LIMITS},
    inferred_names::{self, Spelling},
    ingest::Seen,
    pulls::{
        state::EffectiveState,
        status::{Status, Words},
    },
    records::NewRecord,
    related_records,
    ticket_writes::{done, experimental},
    tickets, write,
};

impl Tangled {
    /// See [`forge_core::Issues::set_issue_state`].
    pub(super) async fn close_or_reopen(
        &self,
        id: &IssueId,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        if req.reason.is_some() {
            return Err(caps::refusal(Capability::IssueReason));
        }
        let located = self.locate_issue(id).await?;
        if located.repository.era == Era::Org10 {
            return self.set_ticket_issue(&located, req).await;
        }
        self.require_2026(&located.repository, Capability::IssueState)?;
        let record = &located.issue.record;
        let author = &located.issue.author;
        self.may_set(&located.repository, &record.uri, author, Op::IssueComment)
            .await?;
        let statuses = self.deciding_issue_statuses(&located).await?;
        let standing = EffectiveState::of(&statuses);
        let state = wanted_state(req.state);
        let mut commented = Ingestion::Immediate;
        let mut warnings = Vec::new();
        // The comment is written before the state. So if an interrupted command has set the state,
        // its comment exists too.
        if let Some(comment) = &req.comment {
            let since = self.time_before_own_change(&statuses, state).await?;
            if standing.state != state {
                let said = self
                    .comment_about_once(&located.repository, record, None, comment, since)
                    .await?;
                (commented, warnings) = (said.ingestion, said.warnings);
            } else if self
                .find_comment_since(record, None, comment, since)
                .await?
                .is_none()
            {
                warnings.push(comment_not_added_warning(&record.uri, comment));
            }
        }
        let mut outcome = if standing.state == state {
            let kind = related_records::issue_states(&self.settings.dialects);
            let subject = (Seen::Issue(&located.issue.target), record);
            let ingestion = self.ingestion_of_state(kind, &statuses, subject).await;
            let view = self.view_issue_fresh(&located).await?;
            let mut outcome =
                Outcome::unchanged(view, state_unchanged_warning(&record.uri, req.state));
            outcome.ingestion = ingestion;
            outcome
        } else {
            let written = self.write_issue_state(&located, req.state, standing).await;
            written.map_err(|e| match &req.comment {
                Some(_) => {
                    let rest = format!("the new state of {}", record.uri);
                    write::partial_failure("the comment is written", &rest, e)
                }
                None => e,
            })?
        };
        outcome.warnings.extend(warnings);
        outcome.ingestion = outcome.ingestion.combine(commented);
        Ok(outcome)
    }

    /// See [`Self::statuses_about`].
    pub(super) async fn issue_statuses(&self, located: &LocatedIssue) -> Result<Vec<Status>> {
        let names = &self.settings.dialects;
        let kind = related_records::issue_states(names);
        let issue = &located.issue;
        let of = (issue.record.uri.as_str(), issue.author.as_str());
        self.statuses_about(&located.repository, &kind, Words::of_issues(names), of)
            .await
    }

    /// See [`Self::deciding_statuses_about`].
    pub(super) async fn deciding_issue_statuses(
        &self,
        located: &LocatedIssue,
    ) -> Result<Vec<Status>> {
        let names = &self.settings.dialects;
        let kind = related_records::issue_states(names);
        let issue = &located.issue;
        let of = (issue.record.uri.as_str(), issue.author.as_str());
        self.deciding_statuses_about(&located.repository, &kind, Words::of_issues(names), of)
            .await
    }

    /// Builds the record that sets the state of the issue `uri`, with a time later than `before`.
    pub(super) fn issue_state_record(
        &self,
        uri: &str,
        state: IssueState,
        before: EffectiveState,
    ) -> Result<NewRecord> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let [open, closed] = &names.issue_states;
        let token = if state == IssueState::Open {
            open
        } else {
            closed
        };
        let record = NewRecord::new(
            &names.issue_state,
            json!({
                "$type": names.issue_state,
                (fields.state_issue.to_string()): uri,
                (fields.state.to_string()): token,
                (fields.created_at.to_string()): write::timestamp_after(before.newest_claim),
            }),
        );
        write::checked(record, &self.settings.dialects)
    }

    /// Writes the state record, and waits until the index shows it.
    ///
    /// The index is the service that lists all records.
    async fn write_issue_state(
        &self,
        located: &LocatedIssue,
        state: IssueState,
        before: EffectiveState,
    ) -> Result<Outcome<Issue>> {
        let uri = located.issue.record.uri.as_str();
        let record = self.issue_state_record(uri, state, before)?;
        let did = self.session.viewer().await?.identity.did.clone();
        let undeclared = self.undeclared(&located.repository).await?;
        let cids = self
            .create_records(undeclared, std::slice::from_ref(&record))
            .await?;
        let written = record.written(&did, cids);
        let seen = Seen::About(related_records::issue_states(&self.settings.dialects), uri);
        let told = self.ingestion(&located.repository, seen, &written).await;
        let mut view = self.view_issue_fresh(located).await?;
        as_written(&mut view, state);
        let mut outcome = Outcome::immediate(view);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }

    /// Closes or reopens a ticket (an issue of Tangled 1.0), then adds the comment.
    ///
    /// The word for the closed state is not certain, so it is taken from other tickets of the
    /// repository.
    pub(super) async fn set_ticket_issue(
        &self,
        located: &LocatedIssue,
        req: &SetIssueState,
    ) -> Result<Outcome<Issue>> {
        let (repository, ticket) = (&located.repository, &located.issue.record);
        if let Some(comment) = &req.comment {
            LIMITS.check_comment("body", comment)?;
        }
        let state = wanted_state(req.state);
        let names = &self.settings.dialects;
        let is_open = tickets::inline(ticket, names).state == Some(PrState::Open);
        let changed = is_open != (state == PrState::Open);
        let mut warnings = Vec::new();
        if changed {
            let spelling = match req.state {
                IssueState::Open => Spelling::known(names.org.state(state)),
                IssueState::Closed => {
                    let (others, ..) = self.issue_tickets(repository).await?;
                    inferred_names::of_state(others.iter().map(|o| &o.record), state, names)
                }
            };
            warnings = self.write_state(repository, ticket, spelling).await?;
        }
        let comment = req.comment.as_deref();
        let (steps, told) = self
            .comment_with_state(repository, ticket.rkey(), comment, changed)
            .await?;
        let view = match changed || comment.is_some() {
            true => {
                let repository = std::sync::Arc::clone(repository);
                let view = self.view_written_issue(repository, &located.issue.uri);
                view.await?
            }
            false => self.view_issue(located, &IssueFields::default()).await?,
        };
        let mut outcome = match changed {
            true => done(view),
            false => {
                let already = state_unchanged_warning(&ticket.uri, req.state);
                Outcome::unchanged(view, already).with_warning(experimental())
            }
        };
        outcome.warnings.extend(warnings);
        outcome.warnings.extend(told);
        outcome.add_steps(steps);
        Ok(outcome)
    }
}

/// Sets the written state in the view, because the services may still show the old state.
pub(super) fn as_written(view: &mut Issue, state: IssueState) {
    if view.state == state {
        return;
    }
    let now = Timestamp::now();
    view.state = state;
    view.updated_at = view.updated_at.max(now);
    view.closed_at = (state == IssueState::Closed).then_some(now);
}

pub(super) fn wanted_state(state: IssueState) -> PrState {
    match state {
        IssueState::Open => PrState::Open,
        IssueState::Closed => PrState::Closed,
    }
}

fn comment_not_added_warning(uri: &str, comment: &str) -> Warning {
    Warning::new(
        "the comment was not written: a comment is only written together with a change of the \
         state, and the state does not change",
    )
    .with_hint(
        Hint::new("comment without a change of the state").with_action(
            Action::op(Op::IssueComment)
                .on(uri)
                .with(Param::Body, comment),
        ),
    )
}

pub(super) fn state_unchanged_warning(uri: &str, state: IssueState) -> Warning {
    let word = match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    };
    Warning::new(format!("{uri} is {word} already"))
}
