//! Writes to the account of a Tangled 1.0 repository, through its knot (git server). No write is
//! made twice or overwrites another account's edit. Every write is read back.

use std::time::Duration;

use forge_core::{Action, Call, Error, ErrorKind, Hint, Param, Result, Retry, text::one_line};
use forge_http::Idempotency;
use serde_json::{Map, Value, json};

use crate::{
    Audience, Tangled,
    records::{self, NewRecord, Record},
    repository::TangledRepository,
    write::{self, MAX_EDIT_ATTEMPTS},
    xrpc_error,
};

impl Tangled {
    /// Creates a record under a key that forge has chosen, and reads it back. If the knot's answer
    /// is lost, the record is looked up, and a stored record counts as success. A missing record is
    /// sent once more, which is safe because the knot refuses an existing key.
    pub(crate) async fn put_new(
        &self,
        repository: &TangledRepository,
        record: &NewRecord,
    ) -> Result<Record> {
        let did = repository.did.clone().unwrap_or_default();
        let input = json!({
            "repo": did,
            "collection": record.collection,
            "rkey": record.rkey,
            "record": record.value,
        });
        let knot = self.knot(repository).await?;
        let find = || records::find(&knot, &did, &record.collection, &record.rkey);
        let uri = record.uri(&did);
        let mut tried = 0;
        loop {
            let sent = self
                .account_call(repository, "com.atproto.repo.createRecord", &input)
                .await;
            let (error, found) = match sent {
                Ok(_) => {
                    let absent = || missing_after_write(&uri);
                    let found = find().await.map_err(|e| unread_write_error(&uri, e));
                    let found = found?.ok_or_else(absent)?;
                    check_fields_kept(&record.value, &found)?;
                    return Ok(found);
                }
                // The second request may be refused because the first one has arrived.
                Err(e) if tried > 0 || xrpc_error::is_ambiguous(&e) => (e, find().await),
                Err(e) => return Err(e),
            };
            let error = match found {
                Ok(Some(found)) => {
                    check_fields_kept(&record.value, &found)?;
                    return Ok(found);
                }
                Ok(None) => error,
                Err(_) => error.with_retry(Retry::Ambiguous),
            };
            tried += 1;
            if tried > 1 {
                return Err(error.with_context("uri", uri));
            }
        }
    }

    /// Reads a ticket (the record of an issue or pull request), changes it and writes it back.
    /// Unknown fields are kept. Nothing is written if `change` refuses. If another writer was
    /// faster, starts again. If the caller passed the CID `expected`, fails with a conflict
    /// instead. Returns false if there was nothing to change.
    pub(crate) async fn change_ticket(
        &self,
        repository: &TangledRepository,
        ticket: &Record,
        expected: Option<&str>,
        change: impl Fn(&mut Map<String, Value>) -> Result<()>,
    ) -> Result<bool> {
        let did = repository.did.clone().unwrap_or_default();
        let names = &self.settings.dialects;
        let (collection, stamp) = (&names.org.pull, &*names.fields.stamp);
        let knot = self.knot(repository).await?;
        let uri = forge_core::AtUri::parse(&ticket.uri)?;
        let mut lost: Option<Error> = None;
        for attempt in 0..MAX_EDIT_ATTEMPTS {
            let old = records::get(&knot, &did, collection, ticket.rkey()).await;
            let old = old.map_err(|e| match lost {
                Some(_) => e
                    .with_retry(Retry::Ambiguous)
                    .with_context("uri", ticket.uri.clone()),
                None => e,
            })?;
            let new = write::changed(&uri, &old, &change)?;
            if new == old.value {
                // Equal values after a lost answer mean that our write has arrived.
                return Ok(lost.is_some());
            }
            if let Some(expected) = expected.filter(|e| *e != old.cid()) {
                return Err(write::stale(&uri, expected, old.cid()));
            }
            let sent = without_stamps(&new, stamp);
            let input = json!({
                "repo": did,
                "collection": collection,
                "rkey": ticket.rkey(),
                "record": sent,
                "swapRecord": old.cid(),
            });
            let answer = self
                .account_call(repository, "com.atproto.repo.putRecord", &input)
                .await;
            match answer {
                Ok(answer) => {
                    let now = records::get(&knot, &did, collection, ticket.rkey()).await;
                    let now = now.map_err(|e| unread_write_error(&ticket.uri, e))?;
                    let cid = answer.get("cid").and_then(Value::as_str);
                    // Compares only the version that forge wrote. A version with another CID is
                    // another writer's.
                    if cid.is_none_or(|cid| cid == now.cid()) {
                        check_fields_kept(&sent, &now)?;
                        check_fields_absent(&old.value, &sent, &now, stamp)?;
                    }
                    return Ok(true);
                }
                Err(e) if xrpc_error::is_conflict(&e) => {
                    if let Some(expected) = expected {
                        return Err(write::stale(&uri, expected, "another"));
                    }
                }
                // The next loop iteration shows whether the write arrived. Sending it again is
                // safe, because it applies only to the version that was read.
                Err(e) if xrpc_error::is_ambiguous(&e) && lost.is_none() => lost = Some(e),
                Err(e) => return Err(e),
            }
            let pause = Duration::from_millis(fastrand::u64(..20 << attempt.min(5)));
            self.http.settings().retry.wait(pause).await;
        }
        Err(write::stale(
            &uri,
            "the version that was read",
            "another each time",
        ))
    }

    /// Calls a write method of the knot, with a token for the one audience that the configuration
    /// names. The answer of a knot never leads to a token for another audience, because the owner of
    /// the repository chose the knot and the repository's DID.
    pub(crate) async fn account_call(
        &self,
        repository: &TangledRepository,
        method: &str,
        input: &Value,
    ) -> Result<Value> {
        self.owner_confirmed(repository).await?;
        let knot = self.knot(repository).await?;
        let audience = match self.settings.dialects.audience {
            Audience::Knot => repository.knot().service_did(),
            Audience::Repository => repository.did.clone().unwrap_or_default(),
        };
        let token = self.session.service_token(&audience, method).await?;
        let knot = knot.with_token(token).with_class(Idempotency::Write);
        match knot.procedure(method, input).await {
            Err(e) if xrpc_error::is_wrong_audience(&e) => Err(e.with_hint(self.other_audience())),
            answer => answer,
        }
    }

    /// Returns the hint for a knot that refuses the audience of a token.
    fn other_audience(&self) -> Hint {
        let other = match self.settings.dialects.audience {
            Audience::Knot => Audience::Repository,
            Audience::Repository => Audience::Knot,
        };
        let key = format!("hosts.{}.dialect.audience", self.settings.host);
        let set = Action::new(Call::ConfigSet)
            .with(Param::Key, key)
            .with(Param::Value, other.name());
        Hint::new("if you trust this knot, set the audience of its tokens to the other one")
            .with_action(set)
    }
}

/// Removes the fields that only the knot adds to a record. Their names begin with `stamp`.
fn without_stamps(value: &Value, stamp: &str) -> Value {
    let mut value = value.clone();
    if let Some(map) = value.as_object_mut() {
        map.retain(|name, _| !name.starts_with(stamp));
    }
    value
}

/// Checks that `read` has every field that was sent, also in nested objects and lists. The server
/// may add fields, and may write out types (`$type`).
///
/// # Errors
/// `protocol`. The message names the lost or changed fields, such as `title.text` or
/// `tangledLabels.0.key`.
pub(crate) fn check_fields_kept(sent: &Value, read: &Record) -> Result<()> {
    let mut lost = Vec::new();
    compare(sent, &read.value, "", &mut lost);
    match lost.is_empty() {
        true => Ok(()),
        false => Err(altered_record_error(&read.uri, &lost.join(", "))),
    }
}

/// Adds to `lost` the path of each field of `sent` that `read` lacks or has changed.
fn compare(sent: &Value, read: &Value, path: &str, lost: &mut Vec<String>) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match (sent, read) {
        (Value::Object(sent), Value::Object(read)) => {
            for (name, sent) in sent.iter().filter(|(name, _)| *name != "$type") {
                match read.get(name) {
                    Some(read) => compare(sent, read, &below(name), lost),
                    None => lost.push(format!("`{}`", one_line(&below(name)))),
                }
            }
        }
        (Value::Array(sent), Value::Array(read)) if sent.len() == read.len() => {
            for (n, (sent, read)) in sent.iter().zip(read).enumerate() {
                compare(sent, read, &below(&n.to_string()), lost);
            }
        }
        _ if sent == read => {}
        _ => lost.push(format!("`{}`", one_line(path))),
    }
}

/// Checks that `read` has none of the fields that an edit removed.
fn check_fields_absent(old: &Value, sent: &Value, read: &Record, stamp: &str) -> Result<()> {
    let fields = old.as_object().into_iter().flatten();
    let mut removed = fields
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with(stamp) && sent.get(name.as_str()).is_none());
    match removed.find(|name| read.value.get(name.as_str()).is_some()) {
        None => Ok(()),
        Some(name) => Err(altered_record_error(&read.uri, &format!("`{name}`"))),
    }
}

/// The error for a write that succeeded but could not be read back. The failed read is no reason to
/// repeat or to undo the write.
pub(crate) fn unread_write_error(uri: &str, error: Error) -> Error {
    let why = error.message();
    let message = format!("{uri} was written, but could not be read again: {why}");
    Error::new(error.kind().clone(), message)
        .with_retry(Retry::Ambiguous)
        .with_context("uri", uri)
        .with_hint("look at the record before you repeat the command")
        .with_source(error)
}

/// The error for a record that the knot reported as written, but does not have.
fn missing_after_write(uri: &str) -> Error {
    let message = format!("{uri} was written, but is missing when it is read back");
    Error::new(ErrorKind::Protocol, message).with_hint("look at the record on the web")
}

/// The error for a record that differs from what was sent.
pub(crate) fn altered_record_error(uri: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::Protocol,
        format!("{uri} was written, but {what} differs from what was sent"),
    )
    .with_hint("look at the record on the web")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Record {
        Record {
            uri: "at://did:plc:repo/org.tangled.track.ticket/t".into(),
            cid: None,
            value,
        }
    }

    #[test]
    fn written_fields_are_required_and_added_fields_allowed() {
        let sent = json!({
            "$type": "x", "title": {"$type": "t", "text": "T", "facets": [{"at": [0, 1]}]},
            "tangledLabels": [{"key": "a"}],
        });
        let whole = json!({
            "title": {"text": "T", "more": 1, "facets": [{"at": [0, 1]}]},
            "tangledLabels": [{"$type": "l", "key": "a"}], "x-tngl-editor": "did:plc:a",
        });
        assert!(check_fields_kept(&sent, &read(whole.clone())).is_ok());
        for (pointer, bad, named) in [
            ("/title/text", json!("t"), "title.text"),
            ("/title/facets/0", json!({}), "title.facets.0.at"),
            ("/title/facets/0/at/1", json!(2), "title.facets.0.at.1"),
            ("/title", json!("T"), "title"),
            ("/tangledLabels", json!([]), "tangledLabels"),
            ("/tangledLabels/0/key", json!("b"), "tangledLabels.0.key"),
        ] {
            let mut value = whole.clone();
            *value.pointer_mut(pointer).unwrap() = bad;
            let e = check_fields_kept(&sent, &read(value)).unwrap_err();
            assert!(e.message().contains(&format!("`{named}`")), "{e}");
        }
        let e = check_fields_kept(&sent, &read(json!({}))).unwrap_err();
        assert!(e.message().contains("`tangledLabels`, `title`"), "{e}");
    }

    #[test]
    fn removed_field_in_stored_record_is_an_error() {
        let old = json!({"body": {"text": "B"}, "x-tngl-editor": "did:plc:a"});
        let gone = read(json!({"x-tngl-editor": "did:plc:b"}));
        assert!(check_fields_absent(&old, &json!({}), &gone, "x-tngl-").is_ok());
        let e = check_fields_absent(&old, &json!({}), &read(old.clone()), "x-tngl-").unwrap_err();
        assert!(e.message().contains("`body`"), "{e}");
    }
}
