//! Reads and writes comments. A review is a comment, because tangled has no verdicts and no
//! comments on lines.

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Action, AtUri, Capability, Error, Hint, Noun, Op, Outcome, Page, PageReq, Param, PrId, Result,
    Reviews, Step, Timestamp, Warning, check_expected_head,
    model::{
        Comment, CommentId, NewReview, Review, ReviewState, Thread, ThreadFilter, ThreadId, Verdict,
    },
};
use futures::{StreamExt as _, future, stream};
use serde_json::{Map, Value, json};

use crate::{
    Era, ShFields, Tangled,
    caps::{self, LIMITS},
    hints::comment_ids,
    ingest::Seen,
    json_field::OptionalField,
    malformed, page,
    pulls::{record::TangledPull, status::Writers, view::LocatedPull},
    records::{self, NewRecord, Record},
    related_records,
    repository::TangledRepository,
    sources::{IN_FLIGHT, MAX_ACCOUNT_RECORDS},
    tickets, verdicts, write, xrpc_error,
};

/// Returns the records that have a text and a time, oldest first and without duplicates.
///
/// Comments of 2025 were copied to the collection of 2026 under the same record key, and the old
/// copy may remain. Only an account can do this with its own comments, so the copies are one.
pub(crate) fn sorted(mut records: Vec<Record>, fields: &ShFields) -> Vec<Record> {
    let key = |record: &Record| (record.author().to_owned(), record.rkey().to_owned());
    let is_new = |record: &Record| record.value.field(&fields.subject).is_some();
    let copied: BTreeSet<_> = records.iter().filter(|r| is_new(r)).map(key).collect();
    records.retain(|record| is_new(record) || !copied.contains(&key(record)));
    let mut records: Vec<_> = records
        .into_iter()
        .filter(|r| text(&r.value, fields).is_some())
        .filter_map(|r| Some((r.created_at(&fields.created_at)?, r)))
        .collect();
    records.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.uri.cmp(&y.uri)));
    records.dedup_by(|a, b| a.1.uri == b.1.uri);
    records.into_iter().map(|(_, r)| r).collect()
}

/// Returns why a record is not a valid comment, or `None` for a valid comment.
pub(crate) fn broken(record: &Record, fields: &ShFields) -> Option<&'static str> {
    if text(&record.value, fields).is_none() {
        return Some("it has no text");
    }
    let no_time = record.created_at(&fields.created_at).is_none();
    no_time.then_some("it has no creation time, and its record key contains none")
}

/// Returns the text of a comment. The field is a markdown object, or in older records a string.
pub(crate) fn text<'a>(value: &'a Value, fields: &ShFields) -> Option<&'a str> {
    let body = value.get(&*fields.body)?;
    body.as_str().or_else(|| body.get(&*fields.text)?.as_str())
}

/// Builds the step "comment" for the result of a write that was requested with a comment.
pub(crate) fn step(done: bool) -> Step {
    Step::new("comment", done)
}

/// Returns the step "comment" for a write result; `None` if the comment already existed.
pub(crate) fn comment_step(written: &Outcome<Comment>) -> Option<Step> {
    (!written.unchanged).then(|| step(true))
}

/// Returns the number of the round (submitted patch) that a comment is about. Comments contain this
/// number since June 2026.
pub(crate) fn round(value: &Value, fields: &ShFields) -> Option<usize> {
    let round = value.get(&*fields.round)?.as_u64()?;
    usize::try_from(round).ok()
}

/// Returns the number of the newest round, which a new comment is about. A comment on a version
/// names no round (recorded in October 2026).
fn newest_round(pull: &TangledPull) -> Option<usize> {
    let newest = pull.latest().map_or(0, |(number, _)| number);
    (!pull.ends_with_version()).then_some(newest)
}

/// Returns the at-uri of the record that a comment is about.
fn subject_of<'a>(value: &'a Map<String, Value>, fields: &ShFields) -> Option<&'a str> {
    let uri = value.field(&fields.subject).and_then(|at| at.field("uri"));
    let older = || {
        let pull = value.field(&fields.old_pull);
        pull.or_else(|| value.field(&fields.old_issue))
    };
    uri.or_else(older)?.as_str()
}

/// Refuses a comment that is not on the record `wanted`. The check is needed because a comment id
/// can name a comment in any repository.
fn check_subject(
    uri: &AtUri,
    value: Option<&Map<String, Value>>,
    wanted: &str,
    fields: &ShFields,
) -> Result<()> {
    if value.and_then(|value| subject_of(value, fields)) == Some(wanted) {
        return Ok(());
    }
    let message = format!("{uri} is no comment on {wanted}");
    Err(Error::not_found(Noun::Comment, message).with_hint(comment_ids()))
}

/// Returns true if a comment is not a reply.
pub(crate) fn is_first(record: &Record, fields: &ShFields) -> bool {
    record.value.field(&fields.reply_to).is_none()
}

impl Tangled {
    pub(crate) async fn comment_models(
        &self,
        repository: &TangledRepository,
        records: &[Record],
    ) -> Vec<Comment> {
        if records.is_empty() {
            return Vec::new();
        }
        let writers = &self.writers(repository).await;
        let viewer = match self.session.viewer_if_any().await {
            Ok(Some(viewer)) => viewer.identity.did.clone(),
            _ => String::new(),
        };
        let viewer = viewer.as_str();
        let authors = records
            .iter()
            .map(|record| self.author_of(record).to_owned());
        self.learn_names(authors.collect()).await;
        stream::iter(records.to_vec())
            .map(|record| async move { self.comment_model(&record, viewer, writers).await })
            .buffered(IN_FLIGHT)
            .collect()
            .await
    }

    /// Returns the account that wrote a comment. In Tangled 1.0, the record names its editor.
    fn author_of<'a>(&self, record: &'a Record) -> &'a str {
        let names = &self.settings.dialects;
        let is_org = record.collection() == names.org.comment;
        let stamped = is_org.then(|| tickets::editor(record, names)).flatten();
        stamped.unwrap_or(record.author())
    }

    async fn comment_model(&self, record: &Record, viewer: &str, writers: &Writers) -> Comment {
        let fields = self.fields();
        let reply = record.value.get(&*fields.reply_to);
        let reply = reply.and_then(|r| r.as_str().or_else(|| r.get("uri")?.as_str()));
        let at = record.created_at(&fields.created_at);
        let author = self.author_of(record);
        let body = text(&record.value, fields).unwrap_or_default();
        let at = at.unwrap_or_else(|| Timestamp::from_unix(0));
        let mut comment = Comment::new(&record.uri, self.actor(author).await, body, at);
        comment.author_association = writers.association(author).map(str::to_owned);
        comment.reply_to = reply.map(str::to_owned);
        comment.round = round(&record.value, fields);
        comment.viewer_did_author = author == viewer;
        comment
    }

    async fn comment_records(&self, located: &LocatedPull) -> Result<(Vec<Record>, Vec<Warning>)> {
        let pull = &located.pull;
        let fields = self.fields();
        let broken = |record: &Record| broken(record, fields);
        if located.repository.era == Era::Org10 {
            let (records, mut warnings) = self
                .ticket_comments(&located.repository, &pull.record)
                .await?;
            warnings.extend(located.repository.doubt());
            warnings.extend(malformed::malformed_warnings(&records, broken));
            return Ok((sorted(records, fields), warnings));
        }
        let accounts = self.known_accounts(&located.repository, Some(pull.author()));
        let kind = related_records::comments(&self.settings.dialects);
        let uri = pull.record.uri.as_str();
        // The index can lag. The viewer's comments are therefore also read from the viewer's
        // account, so that "the last comment" is really the viewer's last one.
        let (found, [own]) = future::join(
            self.about(&kind, uri, accounts),
            self.fresh_of_viewer([&kind], uri),
        )
        .await;
        let found = own.overlay_found(found)?;
        let mut warnings = found.warnings;
        warnings.extend(located.repository.doubt());
        warnings.extend(malformed::malformed_warnings(&found.value, broken));
        Ok((sorted(found.value, fields), warnings))
    }

    /// Comments on a pull request, or answers one of its comments.
    pub(crate) async fn comment_on(
        &self,
        located: &LocatedPull,
        body: &str,
        reply_to: Option<&AtUri>,
    ) -> Result<Outcome<Comment>> {
        let pull = &located.pull;
        let round = newest_round(pull);
        let (repository, record) = (&located.repository, &pull.record);
        self.comment_about(repository, record, round, body, reply_to, None)
            .await
    }

    /// Comments on the record `subject`. `round` is set only for the round of a pull request. The
    /// comment gets a time later than `since`.
    pub(crate) async fn comment_about(
        &self,
        repository: &TangledRepository,
        subject: &Record,
        round: Option<usize>,
        body: &str,
        reply_to: Option<&AtUri>,
        since: Option<Timestamp>,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let viewer = self.session.viewer().await?.identity.did.clone();
        let record = self
            .comment_record(subject, round, body, reply_to, since)
            .await?;
        let undeclared = self.undeclared(repository).await?;
        let cids = self.create_records(undeclared, std::slice::from_ref(&record));
        let cids = cids.await.map_err(|e| match xrpc_error::is_ambiguous(&e) {
            true => {
                let is_pull = subject.collection() == self.settings.dialects.sh.pull;
                let view = if is_pull { Op::PrView } else { Op::IssueView };
                let text = format!(
                    "check whether {} exists before you comment again",
                    record.uri(&viewer)
                );
                e.with_hint(
                    Hint::from(text).with_action(
                        Action::op(view)
                            .on(&subject.uri)
                            .with(Param::Include, "comments"),
                    ),
                )
            }
            false => e,
        })?;
        let written = record.written(&viewer, cids);
        let seen = Seen::About(
            related_records::comments(&self.settings.dialects),
            &subject.uri,
        );
        let told = self.ingestion(repository, seen, &written).await;
        let writers = self.writers(repository).await;
        let comment = self.comment_model(&written, &viewer, &writers).await;
        let mut outcome = Outcome::immediate(comment);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }

    /// Builds the record that [`Self::comment_about`] writes.
    pub(crate) async fn comment_record(
        &self,
        subject: &Record,
        round: Option<usize>,
        body: &str,
        reply_to: Option<&AtUri>,
        since: Option<Timestamp>,
    ) -> Result<NewRecord> {
        let names = &self.settings.dialects;
        let fields = &names.sh_fields;
        let mut value = json!({
            "$type": names.sh.comment,
            (fields.subject.to_string()): subject.strong_ref(),
            (fields.body.to_string()): {
                "$type": names.sh.markdown,
                (fields.text.to_string()): body,
            },
            (fields.created_at.to_string()): write::timestamp_after(since),
        });
        if let Some(map) = value.as_object_mut() {
            // The round is required on pull requests (tangled's `feed.comment`, June 2026).
            if let Some(round) = round {
                map.insert(fields.round.to_string(), json!(round));
            }
            if let Some(uri) = reply_to {
                let pds = self.identities.pds(&uri.authority).await?;
                let parent = records::get_uri(&pds, uri)
                    .await
                    .map_err(|e| no_comment(uri, e))?;
                check_subject(uri, parent.value.as_object(), &subject.uri, fields)?;
                map.insert(fields.reply_to.to_string(), parent.strong_ref());
            }
        }
        write::checked(NewRecord::new(&names.sh.comment, value), names)
    }

    /// Writes a comment that accompanies another write, such as a round or a change of the state.
    /// Writes nothing if the viewer already wrote this text about this round after `since`, because
    /// an earlier command may have been interrupted after its comment.
    pub(crate) async fn comment_once(
        &self,
        located: &LocatedPull,
        body: &str,
        since: Option<Timestamp>,
    ) -> Result<Outcome<Comment>> {
        let round = newest_round(&located.pull);
        self.comment_about_once(
            &located.repository,
            &located.pull.record,
            round,
            body,
            since,
        )
        .await
    }

    /// Comments on a record, as [`Self::comment_once`] does. `round` is the round of a pull
    /// request.
    pub(crate) async fn comment_about_once(
        &self,
        repository: &TangledRepository,
        subject: &Record,
        round: Option<usize>,
        body: &str,
        since: Option<Timestamp>,
    ) -> Result<Outcome<Comment>> {
        let Some(record) = self.find_comment_since(subject, round, body, since).await? else {
            return self
                .comment_about(repository, subject, round, body, None, since)
                .await;
        };
        let seen = Seen::About(
            related_records::comments(&self.settings.dialects),
            &subject.uri,
        );
        let ingestion = self.ingestion_as_found(seen, &record).await;
        let writers = self.writers(repository).await;
        let comment = self.comment_model(&record, record.author(), &writers).await;
        let warning = Warning::new(format!(
            "the comment already exists, and was not repeated: {}",
            record.uri
        ));
        let mut outcome = Outcome::unchanged(comment, warning);
        outcome.ingestion = ingestion;
        Ok(outcome)
    }

    /// Finds a comment of the viewer that a repeated command would write again. It has the text
    /// `body`, is on `subject` and its round `about`, is not a reply, and was written after
    /// `since`.
    pub(crate) async fn find_comment_since(
        &self,
        subject: &Record,
        about: Option<usize>,
        body: &str,
        since: Option<Timestamp>,
    ) -> Result<Option<Record>> {
        let viewer = self.session.viewer().await?;
        let pds = self.identities.service(viewer.pds.clone()).await?;
        let collection = &self.settings.dialects.sh.comment;
        let did = &viewer.identity.did;
        let all = records::all(&pds, did, collection, MAX_ACCOUNT_RECORDS).await?;
        let fields = self.fields();
        let same = |record: &Record| {
            let value = &record.value;
            record.text_at(&[&*fields.subject, "uri"]) == Some(&subject.uri)
                && text(value, fields) == Some(body)
                && round(value, fields) == about
                && is_first(record, fields)
                && since.is_none_or(|since| {
                    let at = record.created_at(&fields.created_at);
                    at.is_some_and(|at| at > since)
                })
        };
        Ok(all.records.into_iter().find(same))
    }

    /// Returns the at-uri of the comment with this key; `older` is the comment collection of the
    /// protocol of 2025.
    pub(crate) fn comment_uri(&self, key: &str, older: &str) -> Result<AtUri> {
        let names = &self.settings.dialects.sh;
        let uri = AtUri::parse(key)
            .ok()
            .filter(|uri| uri.collection == names.comment || uri.collection == older);
        uri.ok_or_else(|| {
            Error::not_found(
                Noun::Comment,
                format!("there is no comment '{}'", forge_core::text::one_line(key)),
            )
            .with_hint(comment_ids())
        })
    }

    /// Replaces the text of the viewer's comment `uri` about `subject`. A comment of an older
    /// collection keeps its form: its lexicon has a string.
    pub(crate) async fn rewrite_comment(
        &self,
        repository: &TangledRepository,
        uri: &AtUri,
        subject: &str,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let is_older = uri.collection != names.comment;
        let undeclared = self.undeclared(repository).await?;
        let record = self
            .edit_record(undeclared, uri, None, |value| {
                check_subject(uri, Some(&*value), subject, fields)?;
                match value.get_mut(&*fields.body).and_then(Value::as_object_mut) {
                    Some(markdown) => write::set_markup_text(markdown, &fields.text, body),
                    None => {
                        let text = fields.text.to_string();
                        let new = match is_older {
                            true => json!(body),
                            false => json!({ "$type": names.markdown, (text): body }),
                        };
                        value.insert(fields.body.to_string(), new);
                    }
                }
                Ok(())
            })
            .await
            .map_err(|e| no_comment(uri, e))?;
        let seen = Seen::About(related_records::comments(&self.settings.dialects), subject);
        let told = self.ingestion_of_edit(repository, seen, &record).await;
        let writers = self.writers(repository).await;
        let comment = self.comment_model(&record, &uri.authority, &writers).await;
        let mut outcome = Outcome::immediate(comment);
        outcome.ingestion = told.ingestion;
        Ok(outcome)
    }

    /// Reads a comment from the PDS of its author.
    pub(crate) async fn comment_at(&self, uri: &AtUri) -> Result<Record> {
        let pds = self.identities.pds(&uri.authority).await?;
        records::get_uri(&pds, uri)
            .await
            .map_err(|e| no_comment(uri, e))
    }
}

fn no_comment(uri: &AtUri, error: Error) -> Error {
    if xrpc_error::is_missing_record(&error) {
        Error::not_found(Noun::Comment, format!("there is no comment {uri}"))
    } else {
        error
    }
}

#[async_trait]
impl Reviews for Tangled {
    async fn comment(
        &self,
        pr: &PrId,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>> {
        let located = self.locate(pr).await?;
        if located.repository.era == Era::Org10 {
            let reply_to = reply_to.map(|id| id.key.as_str());
            return self.comment_on_ticket(&located, body, reply_to).await;
        }
        self.require_2026(&located.repository, Capability::Comments)?;
        let older = &self.settings.dialects.sh.old_comment;
        let reply_to = match reply_to {
            Some(id) => Some(self.comment_uri(&id.key, older)?),
            None => None,
        };
        self.comment_on(&located, body, reply_to.as_ref()).await
    }

    async fn edit_comment(&self, comment: &CommentId, body: &str) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        let located = self.locate(&comment.pr).await?;
        self.require_2026(&located.repository, Capability::CommentEdit)?;
        let older = &self.settings.dialects.sh.old_comment;
        let uri = self.comment_uri(&comment.key, older)?;
        self.rewrite_comment(&located.repository, &uri, &located.pull.record.uri, body)
            .await
    }

    async fn delete_comment(&self, comment: &CommentId) -> Result<Outcome<()>> {
        let located = self.locate(&comment.pr).await?;
        let (repository, pull) = (&located.repository, &located.pull.record.uri);
        self.require_2026(repository, Capability::CommentDelete)?;
        let older = &self.settings.dialects.sh.old_comment;
        let uri = self.comment_uri(&comment.key, older)?;
        let record = self.comment_at(&uri).await?;
        check_subject(&uri, record.value.as_object(), pull, self.fields())?;
        let undeclared = self.undeclared(repository).await?;
        self.delete_record(undeclared, &uri).await?;
        let mut outcome = Outcome::immediate(());
        let seen = Seen::About(related_records::comments(&self.settings.dialects), pull);
        outcome.ingestion = self.ingestion_of_removal(seen, &uri).await;
        Ok(outcome)
    }

    async fn comments(&self, pr: &PrId, req: PageReq) -> Result<Page<Comment>> {
        let located = self.locate(pr).await?;
        let (records, warnings) = self.comment_records(&located).await?;
        let (_, records) = self.split_verdicts(&located.pull, records);
        let page = page::of("tangled-comments", &located.pull.record.uri, records, &req)?;
        let mut result = Page::new(self.comment_models(&located.repository, &page.items).await);
        result.next = page.next;
        result.total = page.total;
        result.warnings = warnings;
        Ok(result)
    }

    async fn reviews(&self, pr: &PrId, req: PageReq) -> Result<Page<Review>> {
        let located = self.locate(pr).await?;
        if !self.settings.verdict_comments {
            return Ok(Page::complete(Vec::new()));
        }
        let (records, mut warnings) = self.comment_records(&located).await?;
        let (verdicts, _) = self.split_verdicts(&located.pull, records);
        let writers = self.writers(&located.repository).await;
        let (given, told) = self
            .convert_verdicts(&located, verdicts, &writers, true)
            .await;
        warnings.extend(told);
        let uri = &located.pull.record.uri;
        let mut page = page::of("tangled-reviews", uri, verdicts::reviews(given), &req)?;
        page.warnings = warnings;
        Ok(page)
    }

    async fn submit_review(&self, pr: &PrId, review: &NewReview) -> Result<Outcome<Review>> {
        let verdict = review.verdict != Verdict::Comment;
        if verdict && !self.settings.verdict_comments {
            return Err(caps::refusal(Capability::ReviewVerdict));
        }
        if !review.threads.is_empty() {
            return Err(caps::refusal(Capability::ReviewInline));
        }
        let located = self.locate(pr).await?;
        let is_ticket = located.repository.era == Era::Org10;
        if is_ticket && verdict {
            let comment = Action::op(Op::Comment).on(&located.pull.record.uri);
            let comment = match review.body.as_str() {
                "" => comment.choose(Param::Body),
                body => comment.with(Param::Body, body),
            };
            return Err(Error::unsupported(
                Capability::ReviewVerdict,
                "how Tangled 1.0 writes a verdict is not known",
                Hint::new("write it as a comment").with_action(comment),
            ));
        }
        let head = if is_ticket {
            located.pull.source_sha.clone()
        } else {
            self.require_2026(&located.repository, Capability::Comments)?;
            let patch = self.latest_patch(&located.repository, &located.pull);
            patch.await?.head().map(str::to_owned)
        };
        check_expected_head(
            &located.pull.record.uri,
            review.expected_head.as_deref(),
            located.pull.head_id(),
        )?;
        let text = match verdict {
            true => verdicts::verdict_text(&located.pull, review)?,
            false => review.body.clone(),
        };
        let commented = match is_ticket {
            true => self.comment_on_ticket(&located, &text, None).await?,
            false => self.comment_on(&located, &text, None).await?,
        };
        let outcome = commented.map(|comment| {
            let state = match review.verdict {
                Verdict::Approve => ReviewState::Approved,
                Verdict::RequestChanges => ReviewState::ChangesRequested,
                Verdict::Comment => ReviewState::Commented,
            };
            let mut new = Review::new(comment.id, comment.author, state, comment.created_at);
            new.body = (!review.body.is_empty()).then(|| review.body.clone());
            new.commit = head;
            new.round = comment.round;
            new
        });
        match verdict {
            true => self.warn_if_not_counted(&located, review, outcome).await,
            false => Ok(outcome),
        }
    }

    async fn discard_pending_review(&self, _: &PrId) -> Result<Outcome<u64>> {
        Err(caps::refusal(Capability::ReviewPending))
    }

    async fn dismiss_review(&self, _: &PrId, _: &str, _: &str) -> Result<Outcome<Review>> {
        Err(caps::refusal(Capability::ReviewDismiss))
    }

    async fn threads(
        &self,
        pr: &PrId,
        _filter: ThreadFilter,
        _page: PageReq,
    ) -> Result<Page<Thread>> {
        self.locate(pr).await?;
        Ok(Page::complete(Vec::new()))
    }

    async fn resolve_thread(&self, _thread: &ThreadId, _resolved: bool) -> Result<Outcome<Thread>> {
        Err(caps::refusal(Capability::ThreadResolve))
    }
}
