//! Writes to the logged-in account's PDS: atomic, idempotent, and never over a concurrent edit.

use chrono::{DateTime, Datelike as _, SecondsFormat, TimeDelta, Utc};
use forge_core::{
    Action, AtUri, Changed, Error, ErrorKind, Hint, Op, Result, Retry, Timestamp, call,
};
use forge_http::Idempotency;
use serde_json::{Map, Value, json};

use crate::{
    Dialects, Tangled, cid,
    declaration::Undeclared,
    dialect::ORIGINAL,
    hints::AGAIN,
    ingested_collections::{RecordWrite, instead_of},
    lexicon,
    records::{self, NewRecord, Record},
    xrpc_error,
};

/// Maximum number of attempts for an edit, if concurrent edits win each time.
pub(crate) const MAX_EDIT_ATTEMPTS: u32 = 60;

/// Returns the current time, to the millisecond.
pub(crate) fn now() -> String {
    timestamp_after(None)
}

/// Returns the current time or, if `before` is later, the millisecond after `before`. Status
/// records are ordered by the times that they claim, and our clock may lag behind that of the last
/// writer. A time after `before` keeps a new status record the last one.
pub(crate) fn timestamp_after(before: Option<Timestamp>) -> String {
    let now = DateTime::<Utc>::from(std::time::SystemTime::now());
    let behind = before.and_then(|before| {
        let before = DateTime::parse_from_rfc3339(&before.to_string()).ok()?;
        let behind = before
            .to_utc()
            .checked_add_signed(TimeDelta::milliseconds(1))?;
        // RFC 3339 has only four digits for a year.
        (behind.year() <= 9999).then_some(behind)
    });
    let at = behind.map_or(now, |behind| behind.max(now));
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Sets the text in a markup object of a record, and keeps its other fields.
///
/// An old [`ORIGINAL`] would undo the edit on the web (lexicon `markup.markdown`), so a field that
/// is there gets the new text too.
pub(crate) fn set_markup_text(markup: &mut Map<String, Value>, field: &str, text: &str) {
    markup.insert(field.to_owned(), json!(text));
    if let Some(original) = markup.get_mut(ORIGINAL) {
        *original = json!(text);
    }
}

/// Returns the record if its lexicon allows it. A record with configured names passes, because no
/// lexicon describes it.
///
/// # Errors
/// `invalid_input`, which names the first problems.
pub(crate) fn checked(record: NewRecord, names: &Dialects) -> Result<NewRecord> {
    if !names.is_described(&record.collection) {
        return Ok(record);
    }
    match lexicon::check(&record.collection, &record.value) {
        Ok(()) => Ok(record),
        Err(problems) => Err(invalid(&record.collection, &problems)),
    }
}

fn invalid(collection: &str, problems: &[lexicon::LexiconProblem]) -> Error {
    let first: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
    Error::new(
        ErrorKind::InvalidInput { field: None },
        format!(
            "this is not a valid {collection} record: {}",
            first.join("; ")
        ),
    )
}

impl Tangled {
    /// Creates records in the viewer's account, all or none, and returns their CIDs in order.
    ///
    /// forge chooses the keys. If an answer is lost, the records are read back. Missing records are
    /// sent again, which is safe because the server refuses an existing key.
    pub(crate) async fn create_records(
        &self,
        _: Undeclared,
        records: &[NewRecord],
    ) -> Result<Vec<String>> {
        let did = self.session.viewer().await?.identity.did.clone();
        let names = &self.settings.dialects.sh;
        let opens_pull = records.iter().any(|record| record.collection == names.pull);
        for NewRecord { collection, .. } in records {
            // The status "open" of a new pull request says nothing more.
            if !(opens_pull && *collection == names.status) {
                self.announce_limit(collection, RecordWrite::New);
            }
        }
        let input = records::creation(&did, records);
        let mut tried = 0;
        loop {
            let sent = self
                .session
                .call(Idempotency::Write, |xrpc| {
                    let input = input.clone();
                    async move { xrpc.procedure("com.atproto.repo.applyWrites", &input).await }
                })
                .await;
            let error = match sent {
                Ok(answer) => {
                    return match cids(&answer, records.len()) {
                        Some(cids) => Ok(cids),
                        None => self.read_back(&did, records).await?.ok_or_else(|| {
                            Error::new(
                                ErrorKind::Protocol,
                                "the server reported a write that it did not make",
                            )
                        }),
                    };
                }
                // The second request may be refused because the first one has arrived.
                Err(e) if tried > 0 || xrpc_error::is_ambiguous(&e) => e,
                Err(e) => return Err(e),
            };
            let unread = match self.read_back(&did, records).await {
                Ok(Some(cids)) => return Ok(cids),
                Ok(None) => false,
                Err(_) => true,
            };
            tried += 1;
            if tried > 1 {
                let error = match unread {
                    true => error.with_retry(Retry::Ambiguous),
                    false => error,
                };
                return Err(match records.first() {
                    Some(first) => error.with_context("uri", first.uri(&did)),
                    None => error,
                });
            }
        }
    }

    /// Tells the caller, before a write, that the index is known not to ingest its record.
    fn announce_limit(&self, collection: &str, write: RecordWrite) {
        let (settings, names) = (&self.settings, &self.settings.dialects);
        let host = settings.index.host();
        if let Some(mut limit) = settings.ingested.known_limit(collection, host, names) {
            limit.instead = instead_of(collection, write, names).to_owned();
            call::index_limited(&limit);
        }
    }

    /// Returns the CIDs of the records, or `None` if one of them is missing.
    async fn read_back(&self, did: &str, records: &[NewRecord]) -> Result<Option<Vec<String>>> {
        let viewer = self.session.viewer().await?;
        let pds = self.identities.service(viewer.pds.clone()).await?;
        let mut cids = Vec::new();
        for record in records {
            match records::find(&pds, did, &record.collection, &record.rkey).await? {
                Some(found) => cids.push(found.cid().to_owned()),
                None => return Ok(None),
            }
        }
        Ok(Some(cids))
    }

    /// Reads one of the viewer's records, changes it and writes it back. Unknown fields are kept.
    /// If another writer was faster, starts again. If the caller passed the CID `expected`, fails
    /// with a conflict instead.
    pub(crate) async fn edit_record(
        &self,
        _: Undeclared,
        uri: &AtUri,
        expected: Option<&str>,
        change: impl Fn(&mut Map<String, Value>) -> Result<()>,
    ) -> Result<Record> {
        let viewer = self.session.viewer().await?;
        if viewer.identity.did != uri.authority {
            return Err(self.foreign_record_error(uri).await);
        }
        let pds = self.identities.service(viewer.pds.clone()).await?;
        for attempt in 0..MAX_EDIT_ATTEMPTS {
            let old = records::get_uri(&pds, uri).await?;
            if let Some(expected) = expected.filter(|e| *e != old.cid()) {
                return Err(self.stale(uri, expected, old.cid()));
            }
            let new = changed(uri, &old, &change)?;
            if new == old.value {
                return Ok(old);
            }
            self.announce_limit(&uri.collection, RecordWrite::Edit);
            match self.put(uri, &new, Some(old.cid())).await {
                Ok(cid) => {
                    return Ok(Record {
                        cid: Some(cid),
                        value: new,
                        ..old
                    });
                }
                Err(e) if xrpc_error::is_conflict(&e) => {
                    if let Some(expected) = expected {
                        return Err(self.stale(uri, expected, "another"));
                    }
                }
                Err(e) if xrpc_error::is_ambiguous(&e) => {
                    let found = records::get_uri(&pds, uri).await.map_err(|_| e)?;
                    if found.value == new {
                        return Ok(found);
                    }
                }
                Err(e) => return Err(e),
            }
            let pause = std::time::Duration::from_millis(fastrand::u64(..20 << attempt.min(5)));
            self.http.settings().retry.wait(pause).await;
        }
        Err(self.stale(uri, "the version that was read", "another each time"))
    }

    /// Writes a record under its key, and returns its new CID. `swap` is the CID that the stored
    /// record must have.
    async fn put(&self, uri: &AtUri, value: &Value, swap: Option<&str>) -> Result<String> {
        let input = json!({
            "repo": uri.authority,
            "collection": uri.collection,
            "rkey": uri.rkey,
            "record": value,
            "swapRecord": swap,
        });
        let answer = self
            .session
            .call(Idempotency::Write, |xrpc| {
                let input = input.clone();
                async move { xrpc.procedure("com.atproto.repo.putRecord", &input).await }
            })
            .await?;
        let cid = answer.get("cid").and_then(Value::as_str);
        Ok(cid.unwrap_or_default().to_owned())
    }

    /// Deletes one of the viewer's records. A missing record counts as deleted.
    pub(crate) async fn delete_record(&self, _: Undeclared, uri: &AtUri) -> Result<()> {
        let viewer = self.session.viewer().await?;
        if viewer.identity.did != uri.authority {
            return Err(self.foreign_record_error(uri).await);
        }
        let input = json!({
            "repo": uri.authority,
            "collection": uri.collection,
            "rkey": uri.rkey,
        });
        self.session
            .call(Idempotency::Replay, |xrpc| {
                let input = input.clone();
                async move {
                    xrpc.procedure("com.atproto.repo.deleteRecord", &input)
                        .await
                }
            })
            .await?;
        Ok(())
    }

    /// Uploads a blob, and returns the object with which records refer to the blob. The upload can
    /// be repeated, because the same bytes are the same blob. The proof [`Undeclared`] is only
    /// borrowed, because the write of the referring record uses it up.
    pub(crate) async fn upload(
        &self,
        _: &Undeclared,
        encoding: &str,
        body: Vec<u8>,
    ) -> Result<Value> {
        let viewer = self.session.viewer().await?;
        let answer = self
            .session
            .call(Idempotency::Replay, |xrpc| {
                let body = body.clone();
                async move {
                    xrpc.upload("com.atproto.repo.uploadBlob", encoding, body)
                        .await
                }
            })
            .await?;
        let blob = answer.get("blob");
        let named = blob.and_then(|blob| blob.get("ref")?.get("$link")?.as_str());
        let (Some(blob), Some(named)) = (blob, named) else {
            let message = "the server accepted a blob, but did not name it";
            return Err(Error::new(ErrorKind::Protocol, message));
        };
        // A record with another CID would refer to other bytes.
        cid::check_blob(named, &body, &viewer.pds, &viewer.identity.did)?;
        Ok(blob.clone())
    }

    /// As [`stale`]. For a pull request or an issue, the hint also offers the call that reads it.
    pub(crate) fn stale(&self, uri: &AtUri, expected: &str, actual: &str) -> Error {
        let names = &self.settings.dialects.sh;
        let shown = [(&names.pull, Op::PrView), (&names.issue, Op::IssueView)];
        let shown = shown.into_iter().find(|(name, _)| **name == uri.collection);
        let error = stale(uri, expected, actual);
        match shown {
            Some((_, view)) => error.with_hint(read_again().with_action(Action::op(view).on(uri))),
            None => error,
        }
    }

    /// Returns the error for a change of a record in another account.
    pub(crate) async fn foreign_record_error(&self, uri: &AtUri) -> Error {
        let owner = self.identities.name_of(&uri.authority).await;
        Error::new(
            ErrorKind::PermissionDenied {
                missing: Vec::new(),
                sso_url: None,
            },
            format!("only {owner} can change the records in their account: {uri}"),
        )
        .with_hint(format!(
            "ask {owner} to change it: on tangled not even the owner of a repository can edit what \
             others wrote"
        ))
    }
}

/// Returns the changed record. A change must not make a valid record invalid.
pub(crate) fn changed(
    uri: &AtUri,
    old: &Record,
    change: impl Fn(&mut Map<String, Value>) -> Result<()>,
) -> Result<Value> {
    let Value::Object(mut map) = old.value.clone() else {
        return Err(Error::new(
            ErrorKind::Protocol,
            format!("{uri} is not a record that can be edited"),
        ));
    };
    change(&mut map)?;
    let new = Value::Object(map);
    // A record that was already invalid can still be edited.
    if lexicon::check(&uri.collection, &old.value).is_ok()
        && let Err(problems) = lexicon::check(&uri.collection, &new)
    {
        return Err(invalid(&uri.collection, &problems));
    }
    Ok(new)
}

/// Returns the error for a write that failed after another write had succeeded. The message names
/// both. `done` is a sentence, and `rest` is the name of the failed part.
pub(crate) fn partial_failure(done: &str, rest: &str, error: Error) -> Error {
    let why = error.message();
    let message = match xrpc_error::is_ambiguous(&error) {
        true => format!("{done}; whether {rest} was written is not known: {why}"),
        false => format!("{done}, but {rest} was not written: {why}"),
    };
    let again = "repeat the command, which then does only the remaining steps";
    let hint = match error.hint().cloned() {
        Some(first) => first.map_text(|text| format!("{text}; then {again}")),
        None => Hint::new(again).with_action(AGAIN),
    };
    Error::new(error.kind().clone(), message)
        .with_retry(error.retry())
        .with_hint(hint)
        .with_source(error)
}

/// Returns the error for a record that is not the expected version.
pub(crate) fn stale(uri: &AtUri, expected: &str, actual: &str) -> Error {
    Error::new(
        ErrorKind::Conflict {
            what: Changed::Record,
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        },
        format!("{uri} was changed by somebody else in the meantime"),
    )
    .with_hint(read_again())
}

fn read_again() -> Hint {
    Hint::new("read the current version, then repeat the change")
}

fn cids(answer: &Value, count: usize) -> Option<Vec<String>> {
    let results = answer.get("results")?.as_array()?;
    let cids: Vec<String> = results
        .iter()
        .filter_map(|r| r.get("cid")?.as_str().map(str::to_owned))
        .collect();
    (cids.len() == count).then_some(cids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_time_is_later_than_previous_time() {
        let after = |text: &str| timestamp_after(Some(text.parse().unwrap()));
        assert_eq!(
            after("2036-01-01T02:00:00.5+02:00"),
            "2036-01-01T00:00:00.501Z"
        );
        let now = write_time(&now());
        assert!(write_time(&after("2026-01-01T00:00:00Z")) >= now);
        let last = after("9999-12-31T23:59:59.999Z");
        assert!(last.starts_with("20"), "{last}");
    }

    fn write_time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }
}
