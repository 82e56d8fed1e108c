//! Implements the queries of the index.

use std::sync::Arc;

use chrono::{DateTime, SecondsFormat};
use forge_double_wire::Reply;
use serde_json::{Value, json};

use super::{
    Entry, Index, State,
    ingest::{self, ISSUE, ISSUE_STATE, PULL, STATUS},
};
use crate::{
    atproto::{cid, tid},
    host::{Incoming, Service, lock},
    xrpc::{self, Answer, Failure},
};

const MAX_PAGE_SIZE: usize = 1_000;

pub(super) struct Answers(pub(super) Arc<Index>);

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        let mut state = lock(&self.0.state);
        ingest::catch_up(&self.0, &mut state);
        match request.nsid() {
            Some(nsid) => {
                let mut reply = xrpc::reply(call(&self.0, &state, nsid, request));
                // Unlike a PDS, the index names no character set (api.tangled.org, October 2026).
                reply.set("content-type", "application/json");
                reply
            }
            None => Reply::text(404, "text/plain", b"not found\n".to_vec()),
        }
    }
}

fn call(index: &Index, state: &State, nsid: &str, request: &Incoming) -> Answer {
    let subject = |pointers: &'static [&'static str], collections: &'static [&'static str]| {
        let subject = param(request, "subject")?;
        let fits = |it: &&Entry| {
            collections.contains(&it.collection.as_str())
                && pointers.iter().any(|pointer| it.text(pointer) == subject)
        };
        page(state, request, nsid, fits, item)
    };
    match nsid.strip_prefix("sh.tangled.").unwrap_or(nsid) {
        "repo.listPulls" => {
            let repo = did(request)?;
            pulls(state, request, nsid, |it| {
                names(state, it.text("/target/repo"), &repo)
            })
        }
        "repo.listPullsBy" => {
            let author = did(request)?;
            pulls(state, request, nsid, |it| it.did == author)
        }
        "repo.getPull" => get(index, state, &param(request, "pull")?, PULL),
        "repo.getPulls" => {
            let wanted = request.params("pulls");
            let found = wanted.iter().filter_map(|it| state.records.get(it));
            let items: Vec<Value> = found.map(|it| pull_item(state, it)).collect();
            Ok(json!({ "items": items }))
        }
        "repo.countPulls" => {
            let repo = did(request)?;
            let pulls = state.records.values();
            let count = pulls
                .filter(|it| it.collection == PULL)
                .filter(|it| names(state, it.text("/target/repo"), &repo));
            Ok(json!({ "count": count.count() }))
        }
        "repo.pull.listStatuses" => subject(&["/pull"], &[STATUS]),
        "repo.issue.listStates" => subject(&["/issue"], &[ISSUE_STATE]),
        "feed.listComments" => subject(
            &["/subject/uri", "/pull", "/issue"],
            &[
                "sh.tangled.feed.comment",
                "sh.tangled.repo.pull.comment",
                "sh.tangled.repo.issue.comment",
            ],
        ),
        "label.listOps" => subject(&["/subject"], &["sh.tangled.label.op"]),
        "label.listDefinitions" => {
            let owner = did(request)?;
            let fits =
                |it: &&Entry| it.collection == "sh.tangled.label.definition" && it.did == owner;
            page(state, request, nsid, fits, item)
        }
        "repo.listIssues" => {
            let repo = did(request)?;
            let author = request.param("author");
            let wanted = request.param("state");
            let fits = |it: &&Entry| {
                it.collection == ISSUE
                    && names(state, it.text("/repo"), &repo)
                    && author.as_ref().is_none_or(|author| it.did == *author)
                    && wanted
                        .as_ref()
                        .is_none_or(|wanted| issue_item(state, it)["state"] == wanted.as_str())
            };
            page(state, request, nsid, fits, issue_item)
        }
        "repo.getIssue" => get(index, state, &param(request, "issue")?, ISSUE),
        "repo.listRepos" => {
            let owner = did(request)?;
            let fits = |it: &&Entry| it.collection == "sh.tangled.repo" && it.did == owner;
            page(state, request, nsid, fits, item)
        }
        "repo.getRepo" => get(index, state, &param(request, "repo")?, "sh.tangled.repo"),
        "repo.getRepoByRepoDid" => {
            let did = param(request, "repoDid")?;
            let fits =
                |it: &&Entry| it.collection == "sh.tangled.repo" && it.text("/repoDid") == did;
            let found = state.records.values().find(fits).ok_or_else(not_found)?;
            Ok(item(state, found))
        }
        "repo.listCollaborators" => {
            let repo = index.repos.named(&did(request)?).ok_or_else(not_found)?;
            let items: Vec<Value> = repo
                .collaborators
                .iter()
                .map(|it| {
                    json!({ "subject": it, "addedBy": repo.owner, "createdAt": "2026-06-01T00:00:00Z" })
                })
                .collect();
            Ok(json!({ "items": items }))
        }
        "bobbin.getCoverage" => Ok(json!({
            "ready": true, "eventsProcessed": state.cursor, "lastCursor": state.cursor,
        })),
        _ => Err(Failure::new(
            501,
            "MethodNotImplemented",
            "Method Not Implemented",
        )),
    }
}

fn not_found() -> Failure {
    Failure::new(404, "RecordNotFound", "record not found")
}

fn param(request: &Incoming, name: &str) -> Result<String, Failure> {
    let missing = || Failure::invalid(format!("missing field `{name}`"));
    request.param(name).ok_or_else(missing)
}

/// Returns the parameter `subject`, which must be a DID.
fn did(request: &Incoming) -> Result<String, Failure> {
    let subject = param(request, "subject")?;
    if subject.starts_with("did:") {
        Ok(subject)
    } else {
        Err(Failure::invalid("subject must be a DID"))
    }
}

/// Returns a record. The index fetches a record that it has not ingested from the author's PDS, as
/// bobbin does, so the answer does not show that lists have the record.
fn get(index: &Index, state: &State, uri: &str, collection: &str) -> Answer {
    let ingested = state.records.get(uri).cloned();
    let entry = ingested.or_else(|| Entry::of(&index.network.last(uri)?));
    let entry = entry.filter(|it| it.collection == collection);
    entry.map(|it| item(state, &it)).ok_or_else(not_found)
}

/// Returns the CID that the index reports for a record.
fn cid_of(state: &State, entry: &Entry) -> String {
    if state.moods.other_cid {
        cid::of_blob(entry.cid.as_bytes()).replacen("bafkrei", "bafyrei", 1)
    } else {
        entry.cid.clone()
    }
}

/// Returns true if `text`, the DID or at-uri of a repository in a record, names the repository
/// `repo`. The index lists older records, which have the at-uri, under the DID.
fn names(state: &State, text: &str, repo: &str) -> bool {
    let is_did_of = |it: &Entry| it.text("/repoDid") == repo;
    text == repo || state.records.get(text).is_some_and(is_did_of)
}

fn item(state: &State, entry: &Entry) -> Value {
    json!({ "uri": entry.uri(), "cid": cid_of(state, entry), "value": upgraded(entry) })
}

/// Returns a record as the index shows it: a repository without a time of creation gets the time in
/// its record key. The CID remains that of the record.
fn upgraded(entry: &Entry) -> Value {
    let mut value = entry.value.clone();
    if entry.collection == "sh.tangled.repo" && value.get("createdAt").is_none() {
        let micros = tid::micros(&entry.rkey).and_then(|it| i64::try_from(it).ok());
        if let Some(time) = micros.and_then(DateTime::from_timestamp_micros) {
            value["createdAt"] = time.to_rfc3339_opts(SecondsFormat::Micros, true).into();
        }
    }
    value
}

/// Returns the newest state record about a subject. It can be that of any account, unless the index
/// counts those of authors only.
fn newest<'a>(state: &'a State, subject: &Entry, collection: &'a str) -> Option<&'a Entry> {
    let uri = subject.uri();
    let accepted = [
        subject.did.as_str(),
        subject.text("/target/repo"),
        subject.text("/repo"),
    ];
    state
        .about(&uri, collection)
        .filter(|it| !state.moods.counts_authors_only || accepted.contains(&it.did.as_str()))
        .max_by_key(|it| it.order())
}

fn with_state(state: &State, entry: &Entry, status: Option<&Entry>, pointer: &str) -> Value {
    let uri = entry.uri();
    let comments = state.about(&uri, "sh.tangled.feed.comment");
    let mut answer = item(state, entry);
    let word = status.and_then(|it| it.text(pointer).rsplit('.').next());
    answer["state"] = word.unwrap_or("open").into();
    answer["commentCount"] = comments.count().into();
    if let Some(at) = status
        .map(|it| it.text("/createdAt"))
        .filter(|it| !it.is_empty())
    {
        answer["stateUpdatedAt"] = at.into();
    }
    answer
}

fn pull_item(state: &State, entry: &Entry) -> Value {
    let status = newest(state, entry, STATUS);
    with_state(state, entry, status, "/status")
}

fn issue_item(state: &State, entry: &Entry) -> Value {
    let status = newest(state, entry, ISSUE_STATE);
    with_state(state, entry, status, "/state")
}

fn pulls(state: &State, request: &Incoming, nsid: &str, fits: impl Fn(&Entry) -> bool) -> Answer {
    let author = request.param("author");
    let status = request.param("status");
    let all = |it: &&Entry| {
        it.collection == PULL
            && fits(it)
            && author.as_ref().is_none_or(|author| it.did == *author)
            && status
                .as_ref()
                .is_none_or(|status| pull_item(state, it)["state"] == status.as_str())
    };
    page(state, request, nsid, all, pull_item)
}

fn page(
    state: &State,
    request: &Incoming,
    nsid: &str,
    fits: impl Fn(&&Entry) -> bool,
    item: impl Fn(&State, &Entry) -> Value,
) -> Answer {
    let limit = match request.param("limit") {
        None => 50,
        Some(limit) => limit
            .parse()
            .ok()
            .filter(|it| (1..=MAX_PAGE_SIZE).contains(it))
            .ok_or_else(|| Failure::invalid(format!("limit must be 1 to {MAX_PAGE_SIZE}")))?,
    };
    let mut found: Vec<&Entry> = state.records.values().filter(fits).collect();
    found.sort_by_key(|it| it.order());
    if request.param("order").as_deref() != Some("asc") {
        found.reverse();
    }
    // A cursor is valid only for its own query.
    let subject = request.param("subject").unwrap_or_default();
    let question = format!("{nsid} {subject}");
    let mark = &cid::of_blob(question.as_bytes())[8..20];
    let from = match request.param("cursor") {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix(mark)
            .and_then(|it| it.strip_prefix('-')?.parse().ok())
            .ok_or_else(|| Failure::invalid("invalid cursor"))?,
    };
    let end = from + limit;
    let items: Vec<Value> = found
        .iter()
        .skip(from)
        .take(limit)
        .filter(|it| !state.moods.unreadable.contains(&it.did))
        .map(|it| item(state, it))
        .collect();
    let cursor = (end < found.len()).then(|| format!("{mark}-{end}"));
    Ok(json!({ "cursor": cursor, "items": items }))
}
