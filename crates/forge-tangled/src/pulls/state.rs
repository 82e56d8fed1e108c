//! Closes and reopens pull requests, by a status record in the account of the viewer.

use forge_core::{
    Action, AtUri, Capability, Error, Hint, Ingestion, Op, Outcome, Param, PrId, Precondition,
    Result, Timestamp, Warning, call, is_expected_head,
    model::{CloseReq, PrFields, PrState, PullRequest},
};
use futures::future;
use serde_json::json;

use super::{
    merge_claim::find_merge_claim,
    merge_detection::MergeDetection,
    record::TangledPull,
    status::{self, Status, Words},
    view::{LocatedPull, unread},
};
use crate::{
    Era, Tangled, comments,
    hints::OPEN_ANOTHER,
    ingest::Seen,
    records::{NewRecord, Record},
    related_records,
    repository::TangledRepository,
    sources::Kind,
    tid, write,
};

/// The current state, and the time in the status record that decides it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectiveState {
    pub state: PrState,
    pub decided: Option<Timestamp>,
    /// Newest time in the statuses that count. The next status must have a later time.
    pub newest_claim: Option<Timestamp>,
}

impl EffectiveState {
    /// Computes the state from the statuses.
    pub fn of(statuses: &[Status]) -> Self {
        let winner = status::winner(statuses);
        Self {
            state: winner.and_then(|s| s.state).unwrap_or(PrState::Open),
            decided: winner.map(|s| s.at),
            newest_claim: status::newest_claim(statuses),
        }
    }
}

impl Tangled {
    /// Builds the status record that sets `state`. Its time is later than `newest`, the newest time
    /// of the statuses that count.
    pub(crate) fn status_record(
        &self,
        pull_uri: &str,
        state: PrState,
        newest: Option<Timestamp>,
    ) -> Result<NewRecord> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let [open, closed, merged] = &names.states;
        let token = match state {
            PrState::Open => open,
            PrState::Closed => closed,
            PrState::Merged => merged,
        };
        let record = NewRecord::new(
            &names.status,
            json!({
                "$type": names.status,
                (fields.status_pull.to_string()): pull_uri,
                (fields.status.to_string()): token,
                (fields.created_at.to_string()): write::timestamp_after(newest),
            }),
        );
        write::checked(record, &self.settings.dialects)
    }

    /// Returns the state of a pull request, from its status records.
    ///
    /// They are read from the index (the service that lists all records) and from the accounts that
    /// may set the state, because the index may lack records of these accounts.
    pub(crate) async fn state_of(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<PrState> {
        Ok(EffectiveState::of(&self.statuses_of(repository, pull).await?).state)
    }

    /// Returns the status records of a pull request, oldest first, from the same sources as
    /// [`Self::state_of`].
    pub(super) async fn statuses_of(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Vec<Status>> {
        let names = &self.settings.dialects;
        let (kind, words) = (related_records::statuses(names), Words::of_pulls(names));
        let of = (pull.record.uri.as_str(), pull.author());
        self.statuses_about(repository, &kind, words, of).await
    }

    /// Returns the status records about the record `uri` of `author`, oldest first.
    ///
    /// They are read from the index (the service that lists all records) and from the accounts that
    /// may set the state, because the index may lack records of these accounts.
    pub(crate) async fn statuses_about(
        &self,
        repository: &TangledRepository,
        kind: &Kind,
        words: Words<'_>,
        (uri, author): (&str, &str),
    ) -> Result<Vec<Status>> {
        let accounts = self.known_accounts(repository, Some(author)).await;
        let (mut found, [fresh]) = future::join(
            self.about(kind, uri, future::ready(accounts.clone())),
            self.fresh([kind], uri, &accounts),
        )
        .await;
        let mut writers = self.writers(repository).await;
        self.confirm_states(&mut found, &mut writers).await;
        let all = fresh.overlay(found?.value);
        Ok(status::read_as(words, all, uri, author, &writers))
    }

    /// Returns the status records of a pull request that decide a write, oldest first. See
    /// [`Self::deciding_statuses_about`].
    pub(super) async fn deciding_statuses(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Vec<Status>> {
        let names = &self.settings.dialects;
        let (kind, words) = (related_records::statuses(names), Words::of_pulls(names));
        let of = (pull.record.uri.as_str(), pull.author());
        self.deciding_statuses_about(repository, &kind, words, of)
            .await
    }

    /// Returns the status records about the record `uri` that decide a write, oldest first.
    ///
    /// They are read in full from the servers of the accounts that may set the state. The index is
    /// not asked: it can lie, and it can lack records. It is asked for the keys of the statuses of
    /// Tangled's own account alone, because that account has too many records.
    ///
    /// # Errors
    /// `precondition_failed` if the records of one of these accounts could not all be read. The
    /// newest status, and therefore the state, is then unknown.
    pub(crate) async fn deciding_statuses_about(
        &self,
        repository: &TangledRepository,
        kind: &Kind,
        words: Words<'_>,
        (uri, author): (&str, &str),
    ) -> Result<Vec<Status>> {
        let mut accounts = self.known_accounts(repository, Some(author)).await;
        let setter = self.settings.state_setter();
        accounts.retain(|account| setter != Some(account.as_str()));
        let about = |record: &Record| kind.subject(record) == Some(uri);
        let collection = [kind.collection.as_str()];
        let of_setter = async {
            match setter {
                Some(setter) => self.states_of_setter(setter, kind, uri).await,
                None => Ok(Vec::new()),
            }
        };
        let ([mut found], of_setter) = future::join(
            self.list_in_accounts(collection, &accounts, about),
            of_setter,
        )
        .await;
        let mut writers = self.writers(repository).await;
        match of_setter {
            Ok(states) => {
                let confirmed = states.iter().map(|record| record.uri.clone());
                writers.confirmed_states.extend(confirmed);
                found.records.extend(states);
            }
            Err(e) => found
                .warnings
                .push(unread("the states of Tangled's own account", &e)),
        }
        if let Some(unread) = found.warnings.first() {
            if call::time_left().is_some_and(|left| left.is_zero()) {
                // The deadline ends the call, with its own error.
                future::pending::<()>().await;
            }
            return Err(unknown_state_error(uri, unread));
        }
        Ok(status::read_as(words, found.records, uri, author, &writers))
    }

    /// Fails if the viewer may not set the state, because the status would then not count. Called
    /// before a write.
    pub(crate) async fn may_set_state(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<()> {
        self.may_set(repository, &pull.record.uri, pull.author(), Op::Comment)
            .await
    }

    /// As [`Self::may_set_state`], for pull requests and issues; the error's hint suggests the
    /// operation `comment` instead.
    pub(crate) async fn may_set(
        &self,
        repository: &TangledRepository,
        uri: &str,
        author: &str,
        comment: Op,
    ) -> Result<()> {
        let viewer = self.session.viewer().await?;
        let did = viewer.identity.did.as_str();
        let writers = self.writers(repository).await;
        let is_setter = self.settings.state_setter() == Some(did);
        if is_setter || writers.authority(did, author).is_some() {
            return Ok(());
        }
        let told = format!(
            "{} may not change the state of {uri}: only its author, the owner of {} and the \
             collaborators may, and records of other accounts do not count",
            viewer.identity.name(),
            repository.id
        );
        Err(writers.refusal(told).with_hint(
            Hint::new("leave a comment instead")
                .with_action(Action::op(comment).on(uri).choose(Param::Body)),
        ))
    }

    /// See [`forge_core::PullRequests::close`].
    pub(crate) async fn close_pull(
        &self,
        pr: &PrId,
        req: &CloseReq,
    ) -> Result<Outcome<PullRequest>> {
        // An expected head that is not a full commit id is refused before any write. It is compared
        // with the branch's tip only right before the branch is deleted.
        let expected = req.expected_head.as_deref();
        is_expected_head(pr, expected, None)?;
        let located = self.locate(pr).await?;
        if located.repository.era == Era::Org10 {
            if req.delete_branch {
                self.require_2026(&located.repository, Capability::PrDeleteBranch)?;
            }
            let comment = req.comment.as_deref();
            return self
                .set_ticket_state(&located, PrState::Closed, comment)
                .await;
        }
        let statuses = self.ready_to_set(&located, Capability::PrClose).await?;
        let standing = EffectiveState::of(&statuses);
        let state = standing.state;
        let mut steps = Vec::new();
        let mut commented = Ingestion::Immediate;
        let mut warnings = Vec::new();
        let mut doubt = None;
        if let Some(said) = find_merge_claim(&statuses) {
            match self.landed_as_titled(&located, said).await? {
                MergeDetection::Yes => {
                    return Err(merged(&located.pull, "closed", req.comment.as_deref()));
                }
                MergeDetection::No => {
                    let told = self
                        .describe_merge_claim(&located, said, &MergeDetection::No)
                        .await;
                    doubt = Some(Warning::new(told));
                }
                landed => {
                    return Err(self
                        .unproved(&located, said, &landed, "nothing was closed")
                        .await);
                }
            }
        }
        if let Some(comment) = &req.comment {
            let since = self
                .time_before_own_change(&statuses, PrState::Closed)
                .await?;
            let written = self.comment_once(&located, comment, since).await?;
            steps.extend(comments::comment_step(&written));
            (commented, warnings) = (written.ingestion, written.warnings);
        }
        let mut outcome = if state == PrState::Closed {
            let ingestion = self.ingestion_of_pull_state(&located, &statuses).await;
            let view = self.view_fresh(&located, PrFields::NONE).await?;
            let warning = Warning::new(format!("{} is closed already", located.pull.record.uri));
            let mut outcome = Outcome::unchanged(view, warning);
            outcome.ingestion = ingestion;
            outcome
        } else {
            let set = self.set_state(&located, PrState::Closed, standing).await;
            set.map_err(|e| partial_state_error(&located, req.comment.as_deref(), e))?
        };
        if outcome.already {
            let kept = req.branch_kept_warning(&outcome.value);
            outcome.warnings.extend(kept);
        } else if req.delete_branch {
            self.delete_head(&located, expected, &mut steps, &mut outcome.warnings)
                .await;
        }
        outcome.add_steps(steps);
        outcome.warnings.extend(doubt);
        outcome.warnings.extend(warnings);
        outcome.ingestion = outcome.ingestion.combine(commented);
        Ok(outcome)
    }

    /// See [`forge_core::PullRequests::reopen`].
    pub(crate) async fn reopen_pull(
        &self,
        pr: &PrId,
        comment: Option<&str>,
    ) -> Result<Outcome<PullRequest>> {
        let located = self.locate(pr).await?;
        if located.repository.era == Era::Org10 {
            return self
                .set_ticket_state(&located, PrState::Open, comment)
                .await;
        }
        let statuses = self.ready_to_set(&located, Capability::PrReopen).await?;
        let standing = EffectiveState::of(&statuses);
        let state = standing.state;
        // A pull request whose merge is not proved may be reopened. This does no harm, because a
        // later merge first searches the branch for the change.
        let doubt = match find_merge_claim(&statuses) {
            Some(said) => match self.landed_as_titled(&located, said).await? {
                MergeDetection::Yes => return Err(merged(&located.pull, "reopened", comment)),
                landed => Some(self.describe_merge_claim(&located, said, &landed).await),
            },
            None => None,
        };
        if state != PrState::Open
            && self
                .branch(&located.repository, &located.pull.base)
                .await?
                .is_none()
        {
            return Err(crate::knot::no_branch(
                "base",
                &located.repository,
                &located.pull.base,
            ));
        }
        let mut step = None;
        let mut commented = Ingestion::Immediate;
        let mut warnings = Vec::new();
        if let Some(comment) = comment {
            let since = self
                .time_before_own_change(&statuses, PrState::Open)
                .await?;
            let written = self.comment_once(&located, comment, since).await?;
            step = comments::comment_step(&written);
            (commented, warnings) = (written.ingestion, written.warnings);
        }
        let mut outcome = if state == PrState::Open {
            let ingestion = self.ingestion_of_pull_state(&located, &statuses).await;
            let view = self.view_fresh(&located, PrFields::NONE).await?;
            let warning = Warning::new(format!("{} is open already", located.pull.record.uri));
            let mut outcome = Outcome::unchanged(view, warning);
            outcome.ingestion = ingestion;
            outcome
        } else {
            let set = self.set_state(&located, PrState::Open, standing).await;
            set.map_err(|e| partial_state_error(&located, comment, e))?
        };
        outcome.add_steps(step);
        outcome.warnings.extend(doubt.map(Warning::new));
        outcome.warnings.extend(warnings);
        outcome.ingestion = outcome.ingestion.combine(commented);
        Ok(outcome)
    }

    async fn ready_to_set(&self, located: &LocatedPull, change: Capability) -> Result<Vec<Status>> {
        self.require_2026(&located.repository, change)?;
        self.may_set_state(&located.repository, &located.pull)
            .await?;
        self.deciding_statuses(&located.repository, &located.pull)
            .await
    }

    /// Returns when the state was last set, not counting the viewer's own changes to `state`.
    ///
    /// A comment that the viewer wrote after this time belongs to the viewer's own change. An
    /// interrupted command may have written it.
    pub(crate) async fn time_before_own_change(
        &self,
        statuses: &[Status],
        state: PrState,
    ) -> Result<Option<Timestamp>> {
        let viewer = self.session.viewer().await?;
        let viewer = viewer.identity.did.as_str();
        let mine = |s: &&Status| s.author == viewer && s.state == Some(state);
        let counting = statuses.iter().filter(|s| s.authority.is_some());
        let last = counting.rev().find(|s| !mine(s));
        // A status may be dated in the far future, and the result would then be in the future as
        // well. So its date counts at most up to one second after the time in its record key.
        Ok(last.map(|s| {
            let key = AtUri::parse(&s.uri)
                .ok()
                .and_then(|uri| tid::time(&uri.rkey));
            let made = key.map_or(0, |made| made.unix());
            s.at.min(Timestamp::from_unix(made.saturating_add(1)))
        }))
    }

    /// Returns the ingestion verdict (whether tangled's index shows the records) for a state
    /// already in effect.
    pub(super) async fn ingestion_of_pull_state(
        &self,
        located: &LocatedPull,
        statuses: &[Status],
    ) -> Ingestion {
        let kind = related_records::statuses(&self.settings.dialects);
        let seen = Seen::Pull(&located.pull.target);
        let subject = (seen, &located.pull.record);
        self.ingestion_of_state(kind, statuses, subject).await
    }

    /// Writes the status record, and waits until the index shows it.
    ///
    /// The index is the service that lists all records.
    pub(crate) async fn set_state(
        &self,
        located: &LocatedPull,
        state: PrState,
        before: EffectiveState,
    ) -> Result<Outcome<PullRequest>> {
        let uri = located.pull.record.uri.clone();
        let record = self.status_record(&uri, state, before.newest_claim)?;
        let did = self.session.viewer().await?.identity.did.clone();
        let undeclared = self.undeclared(&located.repository).await?;
        let cids = self
            .create_records(undeclared, std::slice::from_ref(&record))
            .await?;
        let kind = related_records::statuses(&self.settings.dialects);
        let written = record.written(&did, cids);
        let seen = Seen::About(kind, &uri);
        let told = self.ingestion(&located.repository, seen, &written).await;
        let mut view = self.view_fresh(located, PrFields::NONE).await?;
        self.as_written(&mut view, state).await;
        let mut outcome = Outcome::immediate(view);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }

    /// Sets the state of the view to the written one, because tangled's index may not show it yet.
    pub(crate) async fn as_written(&self, view: &mut PullRequest, state: PrState) {
        if view.state == state {
            return;
        }
        let now = forge_core::Timestamp::now();
        let ended = state != PrState::Open;
        view.state = state;
        view.updated_at = view.updated_at.max(now);
        view.closed_at = ended.then_some(now);
        view.merged_at = (state == PrState::Merged).then_some(now);
        view.merged_by = match self.session.known_viewer() {
            Some(viewer) if state == PrState::Merged => {
                Some(self.actor(&viewer.identity.did).await)
            }
            _ => None,
        };
    }
}

/// Returns the error for a write whose precondition, the current state, is not known.
fn unknown_state_error(uri: &str, unread: &Warning) -> Error {
    let message = format!(
        "the state of {uri} is unknown, so nothing was changed: {}",
        unread.message
    );
    Error::precondition(Precondition::Rule, message).with_hint(
        "try again when the servers of all accounts that may set the state answer; a state that \
         only the index shows is not used",
    )
}

/// Returns the error of a failed state change whose comment is already written.
fn partial_state_error(located: &LocatedPull, comment: Option<&str>, error: Error) -> Error {
    let rest = format!("the new state of {}", located.pull.record.uri);
    match comment {
        Some(_) => write::partial_failure("the comment is written", &rest, error),
        None => error,
    }
}

/// Returns the error for a change of a merged pull request, with a hint to write only the requested
/// comment, or to open another pull request.
pub(crate) fn merged(pull: &TangledPull, what: &str, comment: Option<&str>) -> Error {
    let uri = &pull.record.uri;
    let error = Error::precondition(
        Precondition::Merged,
        format!("{uri} is merged and cannot be {what}"),
    );
    match comment {
        Some(body) => error.with_hint(
            Hint::new("leave only the comment")
                .with_action(Action::op(Op::Comment).on(uri).with(Param::Body, body)),
        ),
        None => error.with_hint(&OPEN_ANOTHER),
    }
}
