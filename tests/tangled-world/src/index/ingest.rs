//! Ingests records as tangled's own index does: it drops a record with any defect, and reports
//! nothing.

use std::{io::Read, time::Instant};

use chrono::DateTime;
use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use super::{Entry, Index, State};
use crate::network::Change;

pub(super) const PULL: &str = "sh.tangled.repo.pull";
pub(super) const STATUS: &str = "sh.tangled.repo.pull.status";
pub(super) const ISSUE: &str = "sh.tangled.repo.issue";
pub(super) const ISSUE_STATE: &str = "sh.tangled.repo.issue.state";
const LABEL_OP: &str = "sh.tangled.label.op";

/// Maximum size of a patch after decompression, in bytes.
const MAX_PATCH_BYTES: u64 = 15 << 20;

/// Ingests the changes that are due.
pub(super) fn catch_up(index: &Index, state: &mut State) {
    let now = Instant::now();
    for change in index.network.since(state.cursor) {
        if now < change.at + state.moods.lag {
            return;
        }
        state.cursor += 1;
        take(index, state, &change);
    }
}

fn take(index: &Index, state: &mut State, change: &Change) {
    let uri = change.uri();
    let Some(entry) = Entry::of(change) else {
        state.all.remove(&uri);
        state.remove(&uri);
        return;
    };
    state.all.insert(uri.clone(), entry.clone());
    if let Err(reason) = accept(index, state, change, &entry) {
        state.dropped.push((uri, reason));
        return;
    }
    if entry.collection == PULL {
        let target = entry.text("/target/repo").to_owned();
        let numbers = state.numbers.entry(target).or_default();
        if !numbers.contains(&uri) {
            numbers.push(uri.clone());
        }
        state
            .patches
            .insert(uri.clone(), patches(change, &entry).unwrap_or_default());
    }
    if entry.collection == ISSUE {
        let numbers = state
            .issues
            .entry(entry.text("/repo").to_owned())
            .or_default();
        if !numbers.contains(&uri) {
            numbers.push(uri);
        }
    }
    state.insert(entry);
}

fn accept(index: &Index, state: &mut State, change: &Change, entry: &Entry) -> Result<(), String> {
    let collection = entry.collection.as_str();
    let loss = state
        .losses
        .iter_mut()
        .find(|(it, left)| it == collection && *left > 0);
    if let Some((_, left)) = loss {
        *left -= 1;
        return Err("lost".to_owned());
    }
    match collection {
        PULL if !state.moods.pulls => Err("the index does not ingest pull requests".to_owned()),
        PULL if state.moods.takes_legacy => Ok(()),
        PULL => pull(state, change, entry),
        STATUS | ISSUE_STATE if !state.moods.statuses => {
            Err("the index does not ingest states".to_owned())
        }
        STATUS => status(index, state, entry, "/pull"),
        ISSUE_STATE => status(index, state, entry, "/issue"),
        LABEL_OP if state.moods.drops_unauthorised => {
            let subject = state.all.get(entry.text("/subject")).cloned();
            authorised(index, entry, subject.as_ref(), false)
        }
        _ => Ok(()),
    }
}

fn is_time(text: &str) -> Result<(), String> {
    DateTime::parse_from_rfc3339(text)
        .map(drop)
        .map_err(|_| format!("bad time {text:?}"))
}

fn pull(state: &State, change: &Change, entry: &Entry) -> Result<(), String> {
    is_time(entry.text("/createdAt"))?;
    if !entry.text("/target/repo").starts_with("did:") {
        return Err("target.repo is no DID".to_owned());
    }
    if entry.value.pointer("/source/repo").is_some()
        && !entry.text("/source/repo").starts_with("did:")
    {
        return Err("source.repo is no DID".to_owned());
    }
    if entry.text("/title").trim().is_empty() {
        return Err("empty title".to_owned());
    }
    patches(change, entry)?;
    let below = entry.text("/dependentOn");
    let uri = entry.uri();
    let taken = |(it, other): (&String, &Entry)| {
        *it != uri && other.collection == PULL && other.text("/dependentOn") == below
    };
    if !below.is_empty() && state.records.iter().any(taken) {
        return Err("another pull request depends on the same one".to_owned());
    }
    Ok(())
}

/// Returns the patches of a pull request's rounds.
fn patches(change: &Change, entry: &Entry) -> Result<Vec<String>, String> {
    let rounds = entry.value["rounds"].as_array().ok_or("no rounds")?;
    rounds.iter().map(|round| patch(change, round)).collect()
}

fn patch(change: &Change, round: &Value) -> Result<String, String> {
    is_time(round["createdAt"].as_str().unwrap_or_default())?;
    let cid = round
        .pointer("/patchBlob/ref/$link")
        .and_then(Value::as_str);
    let bytes = cid
        .and_then(|it| change.blobs.get(it))
        .ok_or("a round without a patch")?;
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(bytes.as_slice())
        .take(MAX_PATCH_BYTES + 1)
        .read_to_end(&mut text);
    match read {
        Err(_) => Err("the patch is not gzip".to_owned()),
        Ok(length) if length as u64 > MAX_PATCH_BYTES => Err("the patch is too large".to_owned()),
        Ok(_) => String::from_utf8(text).map_err(|_| "the patch is no text".to_owned()),
    }
}

fn status(index: &Index, state: &State, entry: &Entry, subject: &str) -> Result<(), String> {
    is_time(entry.text("/createdAt"))?;
    if !state.moods.drops_unauthorised {
        return Ok(());
    }
    let subject = state.all.get(entry.text(subject));
    authorised(index, entry, subject, true)
}

/// Returns true if an account may set a state or a label. The author of the subject may set a
/// state, but not a label.
fn authorised(
    index: &Index,
    entry: &Entry,
    subject: Option<&Entry>,
    author_may: bool,
) -> Result<(), String> {
    let subject = subject.ok_or("unknown subject")?;
    let repo = [subject.text("/target/repo"), subject.text("/repo")]
        .into_iter()
        .find_map(|it| index.repos.named(it));
    let may =
        author_may && subject.did == entry.did || repo.is_some_and(|it| it.may_push(&entry.did));
    if may {
        Ok(())
    } else {
        Err("not authorised".to_owned())
    }
}
