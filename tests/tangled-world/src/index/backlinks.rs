//! An index of backlinks like Constellation: it finds the records that refer to a subject in a
//! given field. It stores references, not records.

use std::{collections::BTreeSet, sync::Arc};

use forge_double_wire::Reply;
use serde_json::{Value, json};

use super::{Entry, Index, ingest};
use crate::{
    host::{Incoming, Service, lock},
    xrpc::{self, Answer, Failure},
};

pub(super) struct Answers(pub(super) Arc<Index>);

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        match request.path.as_str() {
            "/xrpc/blue.microcosm.links.getBacklinks" => xrpc::reply(backlinks(&self.0, request)),
            "/xrpc/blue.microcosm.links.getBacklinkDids" => xrpc::reply(dids(&self.0, request)),
            "/links" => xrpc::reply(links(&self.0, request)),
            _ => Reply::text(404, "text/plain", b"not found\n".to_vec()),
        }
    }
}

fn need(request: &Incoming, name: &str) -> Result<String, Failure> {
    let missing = || Failure::invalid(format!("missing field `{name}`"));
    request.param(name).ok_or_else(missing)
}

fn backlinks(index: &Index, request: &Incoming) -> Answer {
    let source = need(request, "source")?;
    let (collection, path) = source
        .split_once(':')
        .ok_or_else(|| Failure::invalid("source must be collection:path"))?;
    let subject = need(request, "subject")?;
    answer(index, request, &subject, collection, path, "records")
}

/// Answers with the accounts of the records that refer to a subject, a hundred per page.
fn dids(index: &Index, request: &Incoming) -> Answer {
    let (subject, source) = (need(request, "subject")?, need(request, "source")?);
    let (collection, path) = source
        .split_once(':')
        .ok_or_else(|| Failure::invalid("source must be collection:path"))?;
    let mut state = lock(&index.state);
    ingest::catch_up(index, &mut state);
    let pointer = format!("/{}", path.replace('.', "/"));
    let linking = state
        .all
        .values()
        .filter(|it| it.collection == collection && it.text(&pointer) == subject);
    let all: BTreeSet<&String> = linking.map(|it| &it.did).collect();
    let (limit, from) = (limit(request), offset(request));
    let page: Vec<&&String> = all.iter().skip(from).take(limit).collect();
    let end = from + page.len();
    let cursor = (end < all.len()).then(|| end.to_string());
    Ok(json!({ "total": all.len(), "linking_dids": page, "cursor": cursor }))
}

fn limit(request: &Incoming) -> usize {
    let asked = request.param("limit").and_then(|it| it.parse().ok());
    asked.unwrap_or(16_usize).min(100)
}

fn offset(request: &Incoming) -> usize {
    let asked = request.param("cursor").and_then(|it| it.parse().ok());
    asked.unwrap_or(0)
}

fn links(index: &Index, request: &Incoming) -> Answer {
    let (target, collection) = (need(request, "target")?, need(request, "collection")?);
    let path = need(request, "path")?;
    let path = path.trim_start_matches('.');
    answer(
        index,
        request,
        &target,
        &collection,
        path,
        "linking_records",
    )
}

fn answer(
    index: &Index,
    request: &Incoming,
    subject: &str,
    collection: &str,
    path: &str,
    name: &str,
) -> Answer {
    let mut state = lock(&index.state);
    ingest::catch_up(index, &mut state);
    let pointer = format!("/{}", path.replace('.', "/"));
    let dids = request.params("did");
    let mut found: Vec<&Entry> = state
        .all
        .values()
        .filter(|it| it.collection == collection && it.text(&pointer) == subject)
        .filter(|it| dids.is_empty() || dids.contains(&it.did))
        .collect();
    found.sort_by_key(|it| std::cmp::Reverse(it.rkey.clone()));
    let (limit, from) = (limit(request), offset(request));
    let page: Vec<Value> = found
        .iter()
        .skip(from)
        .take(limit)
        .map(|it| json!({ "did": it.did, "collection": it.collection, "rkey": it.rkey }))
        .collect();
    let end = from + page.len();
    let cursor = (end < found.len()).then(|| end.to_string());
    let mut answer = json!({ "total": found.len(), "cursor": cursor });
    answer[name] = page.into();
    Ok(answer)
}
