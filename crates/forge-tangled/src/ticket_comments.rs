//! Writes comments on tickets: the records of Tangled 1.0 for pull requests and issues.

use forge_core::{
    AtUri, Error, ErrorKind, Hint, Noun, Outcome, Result, Step, Timestamp, Warning, model::Comment,
    text::one_line,
};
use serde_json::json;

use crate::{
    Tangled,
    caps::LIMITS,
    comments,
    hints::{AGAIN, comment_ids},
    inferred_names,
    json_field::OptionalField,
    pulls::view::LocatedPull,
    records::{self, NewRecord, Record},
    repository::TangledRepository,
    ticket_writes::{done, experimental},
    tickets::{self, editor, markdown},
    write::{self, MAX_EDIT_ATTEMPTS},
    xrpc_error,
};

/// The write to which a comment belongs. An equal comment is a repetition only if it belongs to the
/// same write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GoesWith {
    /// A change of the ticket. The comment is about the version of the ticket after the change.
    Change,
    /// A round (two commits) that was submitted at this time.
    Round(Option<Timestamp>),
}

impl Tangled {
    pub(crate) async fn comment_on_ticket(
        &self,
        located: &LocatedPull,
        body: &str,
        reply_to: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        let ticket = located.pull.record.rkey();
        self.comment_in_account(&located.repository, ticket, body, reply_to)
            .await
    }

    /// Comments on the ticket with this key, or answers a comment.
    pub(crate) async fn comment_in_account(
        &self,
        repository: &TangledRepository,
        ticket: &str,
        body: &str,
        reply_to: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        let parent = match reply_to {
            Some(key) => Some(self.comment_of_account(repository, key)?),
            None => None,
        };
        LIMITS.check_comment("body", body)?;
        let written = self
            .put_comment(repository, ticket, body, parent.as_ref(), None)
            .await?;
        self.comment_outcome(repository, &written).await
    }

    /// Writes a comment as [`Self::comment_in_account`] does, unless an interrupted command of the
    /// viewer has already written the same comment with the same change.
    pub(crate) async fn comment_in_account_once(
        &self,
        repository: &TangledRepository,
        ticket: &str,
        body: &str,
        with: GoesWith,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let fields = &names.fields;
        let viewer = self.session.viewer().await?;
        let viewer = viewer.identity.did.as_str();
        let (subject, all) = futures::try_join!(
            records::get(&knot, did, &names.org.pull, ticket),
            records::all(&knot, did, &names.org.comment, tickets::MAX_TICKET_RECORDS),
        )?;
        let since = match with {
            GoesWith::Change => None,
            GoesWith::Round(at) => at,
        };
        let goes_with = |record: &Record| match with {
            GoesWith::Change => record.text_at(&[&*fields.subject, "cid"]) == Some(subject.cid()),
            GoesWith::Round(None) => true,
            GoesWith::Round(Some(round)) => {
                let at = record.created_at(&fields.created_at);
                at.is_some_and(|at| at > round)
            }
        };
        let same = |record: &&Record| {
            let answered = record.value.field(&fields.reply_to);
            tickets::subject(record, names) == Some(&subject.uri)
                && editor(record, names) == Some(viewer)
                && markdown(&record.value, &fields.body, names) == Some(body)
                && answered.is_none()
                && goes_with(record)
        };
        if let Some(there) = all.records.iter().find(same) {
            let comment = self.model_of(repository, there).await?;
            let warning = Warning::new(format!(
                "the comment already exists, and was not repeated: {}",
                there.uri
            ));
            return Ok(Outcome::unchanged(comment, warning).with_warning(experimental()));
        }
        let written = self
            .put_comment(repository, ticket, body, None, since)
            .await?;
        self.comment_outcome(repository, &written).await
    }

    /// Writes the comment of a state change, after that change. The comment names the resulting
    /// version of the ticket, so that a repeated command recognises the comment. If `changed`, the
    /// state was just written, and a failed comment is only a warning.
    pub(crate) async fn comment_with_state(
        &self,
        repository: &TangledRepository,
        ticket: &str,
        comment: Option<&str>,
        changed: bool,
    ) -> Result<(Vec<Step>, Vec<Warning>)> {
        let Some(comment) = comment else {
            return Ok(Default::default());
        };
        // If this call has set the state, its comment cannot exist yet, so none is searched for. A
        // search could find the comment of an earlier change: a ticket that is closed, opened and
        // closed again has the same version as before.
        let written = match changed {
            true => {
                self.comment_in_account(repository, ticket, comment, None)
                    .await
            }
            false => {
                self.comment_in_account_once(repository, ticket, comment, GoesWith::Change)
                    .await
            }
        };
        let (step, warnings) = match written {
            Ok(mut written) => {
                // The result of the whole command already has this warning.
                written.warnings.retain(|w| *w != experimental());
                (comments::comment_step(&written), written.warnings)
            }
            Err(e) if changed => {
                let why = format!("the comment was not written: {}", e.message());
                let again =
                    Hint::new("repeat the command, which then only comments: the state is set");
                let told = Warning::new(why).with_hint(again.with_action(AGAIN));
                (Some(comments::step(false)), vec![told])
            }
            Err(e) => return Err(e),
        };
        Ok((step.into_iter().collect(), warnings))
    }

    /// Writes a comment on the current version of a ticket, because the knot accepts no other
    /// version. The comment gets a time later than `since`. It is a guess that a comment on a pull
    /// request names the ticket, so a warning is returned.
    async fn put_comment(
        &self,
        repository: &TangledRepository,
        ticket: &str,
        body: &str,
        parent: Option<&AtUri>,
        since: Option<Timestamp>,
    ) -> Result<(Record, Option<Warning>)> {
        let names = &self.settings.dialects;
        let fields = &names.fields;
        let (knot, did) = self.account(repository).await?;
        let mut refused: Option<(Vec<String>, Error)> = None;
        for _ in 0..MAX_EDIT_ATTEMPTS {
            let subject = records::get(&knot, did, &names.org.pull, ticket).await?;
            let mut versions = vec![subject.cid().to_owned()];
            let mut value = json!({
                "$type": names.org.comment,
                (fields.subject.to_string()): {
                    "$type": "com.atproto.repo.strongRef",
                    "uri": subject.uri,
                    "cid": subject.cid(),
                },
                (fields.body.to_string()): names.markdown(body),
                (fields.created_at.to_string()): write::timestamp_after(since),
            });
            if let (Some(uri), Some(map)) = (parent, value.as_object_mut()) {
                let found = records::find(&knot, did, &names.org.comment, &uri.rkey).await?;
                let found = found.ok_or_else(|| no_comment(&uri.to_string()))?;
                versions.push(found.cid().to_owned());
                map.insert(fields.reply_to.to_string(), found.strong_ref());
            }
            match refused.take() {
                // The ticket is unchanged since the refused attempt, so no faster writer caused the
                // refusal.
                Some((tried, e)) if tried == versions => return Err(e),
                _ => {}
            }
            let record = write::checked(NewRecord::new(&names.org.comment, value), names)?;
            let is_pull = subject.text(&fields.target_branch).is_some();
            let guess = is_pull.then(inferred_names::guessed_subject);
            match self.put_new(repository, &record).await {
                // An ambiguous error is no refusal, because the comment may have been written.
                Err(e)
                    if matches!(e.kind(), ErrorKind::InvalidInput { .. })
                        && !xrpc_error::is_ambiguous(&e) =>
                {
                    refused = Some((versions, inferred_names::with_guesses(e, guess.as_slice())));
                }
                other => return Ok((other?, guess)),
            }
        }
        let uri = AtUri::parse(&format!("at://{did}/{}/{ticket}", names.org.pull))?;
        Err(write::stale(
            &uri,
            "the version that was read",
            "another each time",
        ))
    }

    /// Builds the result for a written comment, with a warning about its guessed subject.
    async fn comment_outcome(
        &self,
        repository: &TangledRepository,
        (written, guess): &(Record, Option<Warning>),
    ) -> Result<Outcome<Comment>> {
        let mut outcome = done(self.model_of(repository, written).await?);
        outcome.warnings.extend(guess.clone());
        Ok(outcome)
    }

    async fn model_of(&self, repository: &TangledRepository, record: &Record) -> Result<Comment> {
        let read = tickets::convert_to_2026(record.clone(), &self.settings.dialects);
        let models = self
            .comment_models(repository, std::slice::from_ref(&read))
            .await;
        let first = models.into_iter().next();
        first.ok_or_else(|| no_comment(&record.uri))
    }

    /// Returns the at-uri in `key`, if it is that of a comment in this repository.
    fn comment_of_account(&self, repository: &TangledRepository, key: &str) -> Result<AtUri> {
        let collection = &self.settings.dialects.org.comment;
        let uri = AtUri::parse(key).ok().filter(|uri| {
            uri.collection == **collection && repository.did.as_ref() == Some(&uri.authority)
        });
        uri.ok_or_else(|| no_comment(key))
    }
}

fn no_comment(key: &str) -> Error {
    Error::not_found(
        Noun::Comment,
        format!("there is no comment '{}'", one_line(key)),
    )
    .with_hint(comment_ids())
}
