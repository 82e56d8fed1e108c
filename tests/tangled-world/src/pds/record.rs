//! Checks records before they are stored.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::state::AccountState;
use crate::{atproto::cid, xrpc::Failure};

/// Returns a record with its `$type`, after checking it against the data model.
pub(crate) fn prepare(record: Value, collection: &str) -> Result<Value, Failure> {
    prepare_at(record, collection, "$.record")
}

/// Checks a record as [`prepare`] does. `path` says where the record is in the request's body.
pub(super) fn prepare_at(record: Value, collection: &str, path: &str) -> Result<Value, Failure> {
    let Value::Object(mut fields) = record else {
        return Err(Failure::invalid(format!(
            "Expected object value type at {path}"
        )));
    };
    match fields.get("$type").and_then(Value::as_str) {
        None => {
            fields.insert("$type".to_owned(), collection.into());
        }
        Some(kind) if kind == collection => {}
        Some(kind) => {
            let message = format!("Invalid $type: expected {collection}, got {kind}");
            return Err(Failure::invalid(message));
        }
    }
    let record = Value::Object(fields);
    walk(&record, path)?;
    Ok(record)
}

fn walk(value: &Value, path: &str) -> Result<(), Failure> {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            Err(Failure::invalid(format!(
                "Expected one of null, boolean, integer, string, cid, bytes, array or object value type (got {number}) at {path}"
            )))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| walk(item, &format!("{path}[{index}]"))),
        Value::Object(fields) => {
            if let Some(cid) = legacy_blob(fields) {
                return Err(Failure::invalid(format!(
                    "Legacy blobs are not allowed ({cid})"
                )));
            }
            fields
                .iter()
                .try_for_each(|(name, field)| walk(field, &format!("{path}.{name}")))
        }
        _ => Ok(()),
    }
}

/// Returns the CID of a blob reference in the form that records had before 2023.
fn legacy_blob(fields: &Map<String, Value>) -> Option<&str> {
    let cid = fields.get("cid")?.as_str()?;
    (fields.len() == 2 && fields.contains_key("mimeType")).then_some(cid)
}

pub(crate) fn blobs(value: &Value) -> Vec<&Map<String, Value>> {
    match value {
        Value::Array(items) => items.iter().flat_map(blobs).collect(),
        Value::Object(fields) if fields.get("$type").is_some_and(|it| it == "blob") => {
            vec![fields]
        }
        Value::Object(fields) => fields.values().flat_map(blobs).collect(),
        _ => Vec::new(),
    }
}

/// Checks that the account has the blobs of a record, and returns their CIDs.
pub(crate) fn check_blobs(
    account: &AccountState,
    record: &Value,
) -> Result<BTreeSet<String>, Failure> {
    let mut found = BTreeSet::new();
    for blob in blobs(record) {
        let link = |it: &Value| it["$link"].as_str().map(str::to_owned);
        let id = blob.get("ref").and_then(link).unwrap_or_default();
        let Some(stored) = account.blobs.get(&id) else {
            return Err(Failure::new(
                400,
                "BlobNotFound",
                format!("Could not find blob: {id}"),
            ));
        };
        let mime = blob
            .get("mimeType")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let size = blob.get("size").and_then(Value::as_u64);
        let length = u64::try_from(stored.bytes.len()).ok();
        // The PDS checks the type of a blob only until a record refers to it.
        if !stored.permanent && mime != stored.mime {
            return Err(Failure::new(
                400,
                "InvalidMimeType",
                format!(
                    "Referenced Mimetype does not match stored blob. Expected: {}, Got: {mime}",
                    stored.mime
                ),
            ));
        }
        if !stored.permanent && size != length {
            let (expected, got) = (length.unwrap_or(0), size.unwrap_or(0));
            return Err(Failure::new(
                400,
                "InvalidSize",
                format!(
                    "Referenced Size does not match stored blob. Expected: {expected}, Got: {got}"
                ),
            ));
        }
        found.insert(id);
    }
    Ok(found)
}

/// Returns the CID of a record that [`prepare`] has returned.
pub(crate) fn id(record: &Value) -> Result<String, Failure> {
    cid::of_record(record).ok_or_else(|| Failure::invalid("Could not encode the record"))
}
