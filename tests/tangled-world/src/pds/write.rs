//! Writes to repositories. Each request makes one commit or none.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use serde_json::{Value, json};

use super::{
    Pds, auth, record,
    state::{AccountState, State, Stored},
};
use crate::{
    atproto::{cid, tid},
    host::{Incoming, lock},
    network::{Change, Network},
    xrpc::{Answer, Failure, Input, is_nsid, is_record_key},
};

const MAX_WRITES: usize = 200;

/// Effect of a write on its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Create,
    Update,
    Delete,
}

/// A write of one record.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    action: Action,
    collection: String,
    rkey: String,
    /// The record to write; `None` for a deletion.
    record: Option<Value>,
}

impl Write {
    /// Creates or replaces a record.
    pub(crate) fn put(
        state: &State,
        did: &str,
        collection: &str,
        rkey: &str,
        record: Value,
    ) -> Self {
        let account = state.accounts.get(did);
        let exists = account.is_some_and(|it| it.record(collection, rkey).is_some());
        Self {
            action: if exists {
                Action::Update
            } else {
                Action::Create
            },
            collection: collection.to_owned(),
            rkey: rkey.to_owned(),
            record: Some(record),
        }
    }

    pub(crate) fn delete(collection: &str, rkey: &str) -> Self {
        Self {
            action: Action::Delete,
            collection: collection.to_owned(),
            rkey: rkey.to_owned(),
            record: None,
        }
    }
}

/// Executes either all writes or none, and returns the CIDs of the written records.
pub(crate) fn commit(
    state: &mut State,
    network: &Network,
    did: &str,
    writes: Vec<Write>,
) -> Result<Vec<Option<String>>, Failure> {
    let account = state.accounts.get_mut(did).ok_or_else(Failure::internal)?;
    let mut seen = BTreeSet::new();
    let mut prepared = Vec::new();
    for write in writes {
        let exists = account.record(&write.collection, &write.rkey).is_some();
        let twice = !seen.insert((write.collection.clone(), write.rkey.clone()));
        // The reference implementation answers both errors with an internal error.
        if twice || (write.action == Action::Create) == exists {
            return Err(Failure::internal());
        }
        let stored = match &write.record {
            None => None,
            Some(value) => Some(Stored {
                cid: record::id(value)?,
                blobs: record::check_blobs(account, value)?,
                value: value.clone(),
            }),
        };
        prepared.push((write, stored));
    }
    let at = Instant::now();
    let mut changes = Vec::new();
    let mut released = BTreeSet::new();
    for (write, stored) in prepared {
        let records = account.records.entry(write.collection.clone()).or_default();
        let before = match &stored {
            Some(stored) => records.insert(write.rkey.clone(), stored.clone()),
            None => records.remove(&write.rkey),
        };
        released.extend(before.into_iter().flat_map(|it| it.blobs));
        let mut blobs = BTreeMap::new();
        for id in stored.iter().flat_map(|it| &it.blobs) {
            if let Some(blob) = account.blobs.get_mut(id) {
                blob.permanent = true;
                blobs.insert(id.clone(), blob.bytes.clone());
            }
        }
        changes.push(Change {
            did: did.to_owned(),
            collection: write.collection,
            rkey: write.rkey,
            record: stored.map(|it| (it.cid, it.value)),
            blobs,
            at,
        });
    }
    drop_unused(account, &released);
    account.advance(did);
    let ids = changes
        .iter()
        .map(|it| it.record.as_ref().map(|(cid, _)| cid.clone()))
        .collect();
    network.publish(changes);
    Ok(ids)
}

/// Deletes blobs that no record refers to any more.
fn drop_unused(account: &mut AccountState, released: &BTreeSet<String>) {
    for id in released {
        let used = account
            .records
            .values()
            .flat_map(|records| records.values())
            .any(|it| it.blobs.contains(id));
        if !used {
            account.blobs.remove(id);
        }
    }
}

/// Checks that the repository to write is the viewer's own.
fn own_repo(state: &State, viewer: &str, repo: &str) -> Result<(), Failure> {
    if state.find(repo).as_deref() == Some(viewer) {
        Ok(())
    } else {
        Err(Failure::new(403, "AccountNotFound", "Account not found"))
    }
}

fn check_collection(collection: &str, path: &str) -> Result<(), Failure> {
    if is_nsid(collection) {
        Ok(())
    } else {
        let message = format!("Invalid NSID (got \"{collection}\") at {path}.collection");
        Err(Failure::invalid(message))
    }
}

fn check_key(rkey: &str, path: &str) -> Result<(), Failure> {
    if is_record_key(rkey) {
        Ok(())
    } else {
        let message = format!("Invalid record key (got \"{rkey}\") at {path}.rkey");
        Err(Failure::invalid(message))
    }
}

/// Returns the CID that a compare-and-swap requires. The outer `None` means that the input requests
/// none.
fn swap<'a>(input: &'a Input, name: &str) -> Result<Option<Option<&'a str>>, Failure> {
    match input.get(name) {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(None)),
        Some(_) => {
            let text = input.text(name)?;
            if cid::bytes(text).is_none() {
                let message = format!("Invalid CID string (got \"{text}\") at $.{name}");
                return Err(Failure::invalid(message));
            }
            Ok(Some(Some(text)))
        }
    }
}

fn check_commit(account: &AccountState, wanted: Option<Option<&str>>) -> Result<(), Failure> {
    match wanted.flatten() {
        Some(wanted) if wanted != account.commit => Err(Failure::new(
            400,
            "InvalidSwap",
            format!("Commit was at {}", account.commit),
        )),
        _ => Ok(()),
    }
}

fn check_record(current: Option<&Stored>, wanted: Option<Option<&str>>) -> Result<(), Failure> {
    let is = current.map(|it| it.cid.as_str());
    match wanted {
        Some(wanted) if wanted != is => Err(Failure::new(
            400,
            "InvalidSwap",
            format!("Record was at {}", is.unwrap_or("null")),
        )),
        _ => Ok(()),
    }
}

/// Refuses a request for validation, because this PDS does not know tangled's lexicons.
fn check_validation(input: &Input, collections: &[&str]) -> Result<Option<&'static str>, Failure> {
    match (input.get("validate"), collections) {
        (Some(Value::Bool(true)), [first, ..]) => {
            Err(Failure::invalid(format!("Unknown lexicon type: {first}")))
        }
        (Some(Value::Bool(false)), _) => Ok(None),
        _ => Ok(Some("unknown")),
    }
}

fn commit_of(state: &State, did: &str) -> Value {
    state
        .accounts
        .get(did)
        .map_or(Value::Null, |it| json!({ "cid": it.commit, "rev": it.rev }))
}

fn written(uri: &str, cid: &str, commit: Option<Value>, status: Option<&str>) -> Value {
    let mut answer = json!({ "uri": uri, "cid": cid });
    if let Some(commit) = commit {
        answer["commit"] = commit;
    }
    if let Some(status) = status {
        answer["validationStatus"] = status.into();
    }
    answer
}

pub(crate) fn create(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::writer(pds, request)?.did;
    let input = Input::read(request)?;
    let (repo, collection) = (input.text("repo")?, input.text("collection")?);
    check_collection(collection, "$")?;
    let rkey = match input.optional("rkey")? {
        Some(rkey) => rkey.to_owned(),
        None => tid::next(),
    };
    check_key(&rkey, "$")?;
    let swap_commit = swap(&input, "swapCommit")?;
    let value = input.need("record")?.clone();
    let mut state = lock(&pds.state);
    own_repo(&state, &viewer, repo)?;
    let status = check_validation(&input, &[collection])?;
    let value = record::prepare(value, collection)?;
    if let Some(account) = state.accounts.get(&viewer) {
        check_commit(account, swap_commit)?;
    }
    let write = Write {
        action: Action::Create,
        collection: collection.to_owned(),
        rkey: rkey.clone(),
        record: Some(value),
    };
    let ids = commit(&mut state, &pds.network, &viewer, vec![write])?;
    let uri = format!("at://{viewer}/{collection}/{rkey}");
    let cid = ids.into_iter().flatten().next().unwrap_or_default();
    Ok(written(
        &uri,
        &cid,
        Some(commit_of(&state, &viewer)),
        status,
    ))
}

pub(crate) fn put(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::writer(pds, request)?.did;
    let input = Input::read(request)?;
    let (repo, collection) = (input.text("repo")?, input.text("collection")?);
    let rkey = input.text("rkey")?;
    check_collection(collection, "$")?;
    check_key(rkey, "$")?;
    let swap_record = swap(&input, "swapRecord")?;
    let swap_commit = swap(&input, "swapCommit")?;
    let value = input.need("record")?.clone();
    let mut state = lock(&pds.state);
    own_repo(&state, &viewer, repo)?;
    let status = check_validation(&input, &[collection])?;
    let value = record::prepare(value, collection)?;
    let id = record::id(&value)?;
    let uri = format!("at://{viewer}/{collection}/{rkey}");
    let account = state.accounts.get(&viewer).ok_or_else(Failure::internal)?;
    let current = account.record(collection, rkey);
    if current.is_some_and(|it| it.cid == id) {
        // Writing an unchanged record checks nothing, and creates no commit.
        return Ok(written(&uri, &id, None, status));
    }
    check_record(current, swap_record)?;
    check_commit(account, swap_commit)?;
    let write = Write::put(&state, &viewer, collection, rkey, value);
    commit(&mut state, &pds.network, &viewer, vec![write])?;
    Ok(written(&uri, &id, Some(commit_of(&state, &viewer)), status))
}

pub(crate) fn delete(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::writer(pds, request)?.did;
    let input = Input::read(request)?;
    let (repo, collection) = (input.text("repo")?, input.text("collection")?);
    let rkey = input.text("rkey")?;
    check_collection(collection, "$")?;
    check_key(rkey, "$")?;
    let swap_record = swap(&input, "swapRecord")?;
    let swap_commit = swap(&input, "swapCommit")?;
    let mut state = lock(&pds.state);
    own_repo(&state, &viewer, repo)?;
    let account = state.accounts.get(&viewer).ok_or_else(Failure::internal)?;
    let Some(current) = account.record(collection, rkey) else {
        return Ok(json!({}));
    };
    check_record(Some(current), swap_record.filter(Option::is_some))?;
    check_commit(account, swap_commit)?;
    let write = Write::delete(collection, rkey);
    commit(&mut state, &pds.network, &viewer, vec![write])?;
    Ok(json!({ "commit": commit_of(&state, &viewer) }))
}

pub(crate) fn apply(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::writer(pds, request)?.did;
    let input = Input::read(request)?;
    let repo = input.text("repo")?;
    let listed = input
        .need("writes")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    let swap_commit = swap(&input, "swapCommit")?;
    let mut state = lock(&pds.state);
    own_repo(&state, &viewer, repo)?;
    if listed.len() > MAX_WRITES {
        let message = format!("Too many writes. Max: {MAX_WRITES}");
        return Err(Failure::invalid(message));
    }
    let mut writes = Vec::new();
    for (index, listed) in listed.iter().enumerate() {
        writes.push(member(listed, index)?);
    }
    let created: Vec<&str> = writes
        .iter()
        .filter(|it| it.action != Action::Delete)
        .map(|it| it.collection.as_str())
        .collect();
    let status = check_validation(&input, &created)?;
    if let Some(account) = state.accounts.get(&viewer) {
        check_commit(account, swap_commit)?;
    }
    let ids = commit(&mut state, &pds.network, &viewer, writes.clone())?;
    let results: Vec<Value> = writes
        .iter()
        .zip(ids)
        .map(|(write, id)| {
            let uri = format!("at://{viewer}/{}/{}", write.collection, write.rkey);
            let named =
                |name: &str| json!({ "$type": format!("com.atproto.repo.applyWrites#{name}") });
            let mut result = match write.action {
                Action::Create => named("createResult"),
                Action::Update => named("updateResult"),
                Action::Delete => return named("deleteResult"),
            };
            result["uri"] = uri.into();
            result["cid"] = id.into();
            if let Some(status) = status {
                result["validationStatus"] = status.into();
            }
            result
        })
        .collect();
    Ok(json!({ "commit": commit_of(&state, &viewer), "results": results }))
}

fn member(listed: &Value, index: usize) -> Result<Write, Failure> {
    let path = format!("$.writes[{index}]");
    let action = match listed["$type"]
        .as_str()
        .and_then(|it| it.strip_prefix("com.atproto.repo.applyWrites#"))
    {
        Some("create") => Action::Create,
        Some("update") => Action::Update,
        Some("delete") => Action::Delete,
        _ => {
            let names = listed
                .as_object()
                .into_iter()
                .flat_map(|it| it.keys())
                .take(2);
            let shown: String = names.map(|it| format!("\"{it}\": ..., ")).collect();
            return Err(Failure::invalid(format!(
                "Expected an object which includes the \"$type\" property value type (got {{{shown}...}}) at {path}"
            )));
        }
    };
    let text = |name: &str| {
        let missing = || Failure::invalid(format!("Missing required key \"{name}\" at {path}"));
        listed[name].as_str().map(str::to_owned).ok_or_else(missing)
    };
    let collection = text("collection")?;
    check_collection(&collection, &path)?;
    let rkey = match (listed.get("rkey"), action) {
        (None, Action::Create) => tid::next(),
        _ => text("rkey")?,
    };
    check_key(&rkey, &path)?;
    let record = match action {
        Action::Delete => None,
        _ => {
            let path = format!("{path}.value");
            Some(record::prepare_at(
                listed["value"].clone(),
                &collection,
                &path,
            )?)
        }
    };
    Ok(Write {
        action,
        collection,
        rkey,
        record,
    })
}
