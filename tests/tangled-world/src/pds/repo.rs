//! Queries that read repositories.

use serde_json::{Value, json};

use super::{
    Pds,
    state::{AccountState, State},
};
use crate::{
    host::{Incoming, lock},
    xrpc::{Answer, Failure, is_nsid, is_record_key},
};

pub(super) fn param(request: &Incoming, nsid: &str, name: &str) -> Result<String, Failure> {
    request.param(name).ok_or_else(|| {
        Failure::invalid(format!(
            "Invalid {nsid} params: Missing required key \"{name}\""
        ))
    })
}

/// Returns the DID and the account of a repository, which a request names by DID or handle.
fn account<'a>(state: &'a State, repo: &str) -> Result<(String, &'a AccountState), Failure> {
    let missing = || Failure::invalid(format!("Could not find repo: {repo}"));
    let did = state.find(repo).ok_or_else(missing)?;
    let account = state
        .accounts
        .get(&did)
        .filter(|it| it.active)
        .ok_or_else(missing)?;
    Ok((did, account))
}

pub(crate) fn describe(pds: &Pds, request: &Incoming) -> Answer {
    let repo = param(request, "com.atproto.repo.describeRepo", "repo")?;
    let state = lock(&pds.state);
    let missing = || {
        Failure::new(
            400,
            "RepoNotFound",
            format!("Could not find repo for DID: {repo}"),
        )
    };
    let (did, account) = account(&state, &repo).map_err(|_| missing())?;
    let filled = account
        .records
        .iter()
        .filter(|(_, records)| !records.is_empty());
    let collections: Vec<&String> = filled.map(|(name, _)| name).collect();
    Ok(json!({
        "handle": account.handle,
        "did": did,
        "didDoc": pds.directory.document(&did),
        "collections": collections,
        "handleIsCorrect": true,
    }))
}

pub(crate) fn get(pds: &Pds, request: &Incoming) -> Answer {
    let nsid = "com.atproto.repo.getRecord";
    let repo = param(request, nsid, "repo")?;
    let collection = param(request, nsid, "collection")?;
    let rkey = param(request, nsid, "rkey")?;
    check_name(nsid, &collection, &rkey)?;
    let state = lock(&pds.state);
    let Some(did) = state.find(&repo) else {
        return Err(Failure::invalid("Could not locate record"));
    };
    let (did, account) = account(&state, &did)?;
    let uri = format!("at://{did}/{collection}/{rkey}");
    let wanted = request.param("cid");
    let stored = account
        .record(&collection, &rkey)
        .filter(|it| wanted.as_ref().is_none_or(|cid| *cid == it.cid));
    match stored {
        Some(stored) => Ok(json!({ "uri": uri, "cid": stored.cid, "value": stored.value })),
        None => Err(Failure::new(
            400,
            "RecordNotFound",
            format!("Could not locate record: {uri}"),
        )),
    }
}

fn check_name(nsid: &str, collection: &str, rkey: &str) -> Result<(), Failure> {
    if !is_nsid(collection) {
        let message = format!("Invalid {nsid} params: Invalid NSID (got \"{collection}\")");
        return Err(Failure::invalid(message));
    }
    if !is_record_key(rkey) {
        let message = format!("Invalid {nsid} params: Invalid record key (got \"{rkey}\")");
        return Err(Failure::invalid(message));
    }
    Ok(())
}

pub(crate) fn list(pds: &Pds, request: &Incoming) -> Answer {
    let nsid = "com.atproto.repo.listRecords";
    let repo = param(request, nsid, "repo")?;
    let collection = param(request, nsid, "collection")?;
    check_name(nsid, &collection, "self")?;
    let limit = limit(request, nsid, 50, 100)?.min(pds.options.largest_page);
    let ascending = request.param("reverse").is_some_and(|it| it == "true");
    let cursor = request.param("cursor");
    let state = lock(&pds.state);
    let (did, account) = account(&state, &repo)?;
    let entry = |(rkey, it): (&String, &super::state::Stored)| {
        json!({
            "uri": format!("at://{did}/{collection}/{rkey}"), "cid": it.cid, "value": it.value,
        })
    };
    let all = account.records.get(&collection).into_iter().flatten();
    let (page, last) = if ascending {
        let after = |(rkey, _): &(&String, _)| cursor.as_ref().is_none_or(|it| *rkey > it);
        pick(all.filter(after), limit, entry)
    } else {
        let before = |(rkey, _): &(&String, _)| cursor.as_ref().is_none_or(|it| *rkey < it);
        let all: Vec<_> = all.filter(before).collect();
        pick(all.into_iter().rev(), limit, entry)
    };
    let mut answer = json!({ "records": page });
    // Every page with a record has a cursor, even the last page. Only an empty page has none.
    if let Some(last) = last {
        answer["cursor"] = last.into();
    }
    Ok(answer)
}

/// Returns the first `limit` entries, and the key of the last one.
fn pick<'a, T>(
    entries: impl Iterator<Item = (&'a String, T)>,
    limit: usize,
    entry: impl Fn((&'a String, T)) -> Value,
) -> (Vec<Value>, Option<String>) {
    let mut last = None;
    let page = entries
        .take(limit)
        .inspect(|(rkey, _)| last = Some((*rkey).clone()))
        .map(entry)
        .collect();
    (page, last)
}

/// Returns the number of entries that a request asks for.
fn limit(request: &Incoming, nsid: &str, default: usize, most: usize) -> Result<usize, Failure> {
    let Some(text) = request.param("limit") else {
        return Ok(default);
    };
    let wrong = |what: String| Err(Failure::invalid(format!("Invalid {nsid} params: {what}")));
    match text.parse::<usize>() {
        Ok(number) if number > most => {
            wrong(format!("integer too big (maximum {most}, got {number})"))
        }
        Ok(0) => wrong("integer too small (minimum 1, got 0)".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => wrong(format!("Expected integer value type (got \"{text}\")")),
    }
}

pub(crate) fn latest_commit(pds: &Pds, request: &Incoming) -> Answer {
    let did = param(request, "com.atproto.sync.getLatestCommit", "did")?;
    let state = lock(&pds.state);
    match state.accounts.get(&did) {
        Some(account) => Ok(json!({ "cid": account.commit, "rev": account.rev })),
        None => Err(Failure::new(
            400,
            "RepoNotFound",
            format!("Could not find repo for DID: {did}"),
        )),
    }
}

pub(crate) fn status(pds: &Pds, request: &Incoming) -> Answer {
    let did = param(request, "com.atproto.sync.getRepoStatus", "did")?;
    let state = lock(&pds.state);
    match state.accounts.get(&did) {
        Some(account) if account.active => {
            Ok(json!({ "did": did, "active": true, "rev": account.rev }))
        }
        Some(_) => Ok(json!({ "did": did, "active": false, "status": "deactivated" })),
        None => Err(Failure::new(
            400,
            "RepoNotFound",
            format!("Could not find repo for DID: {did}"),
        )),
    }
}
