//! Determines whether tangled's index, from which other people read, shows a written record.

use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat};
use forge_core::{AtUri, Error, ErrorKind, ForgeKind, Ingestion, RepoId, RepoPath, Result};
use serde_json::{Map, Value};

use crate::{
    Ingests, ShFields, Tangled,
    declaration::Undeclared,
    ingested_collections::{RecordWrite, instead_of},
    page_trail::{NextPage, PageTrail},
    pulls::status::{self, Status},
    read_limits,
    records::{self, PAGE, Record},
    repository::TangledRepository,
    sources::{Items, Kind, MAX_PAGES, MAX_SUBJECT_RECORDS},
    xrpc_error,
};

/// Maximum pause between two requests to the index.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Timeout for the check whether the index drops a record.
const PROOF_MAX: Duration = Duration::from_secs(10);

/// The list in which the index shows a record.
///
/// A list has only records that the index has ingested. A request for the record itself proves
/// nothing: the index then fetches a record that it lacks from the author's server (`resolve` in
/// tangled's bobbin).
#[derive(Clone, Debug)]
pub(crate) enum Seen<'a> {
    /// Lists the record's author's pull requests to this repository, given by DID.
    Pull(&'a str),
    /// Lists the record's author's issues of this repository, given by DID.
    Issue(&'a str),
    /// Lists the records of this kind about a pull request or an issue, given by at-uri.
    About(Kind, &'a str),
    /// Lists the label definitions of this account.
    Definition(&'a str),
    /// Lists the repositories of the record's account.
    Repository,
}

/// Result of waiting for ingestion: the ingestion state, and the record's current CID.
#[derive(Clone, Debug)]
pub(crate) struct IngestionOutcome {
    pub ingestion: Ingestion,
    pub cid: String,
}

/// What the index shows of a record.
#[derive(Debug)]
pub(crate) enum IndexProbe {
    /// The requested version of the record.
    Shown,
    /// Another version of the record, by CID.
    Other(String),
    /// The index answers, and does not have the record.
    Absent,
    /// The index did not answer, or does not know the method.
    Silent(Error),
}

impl Tangled {
    /// Polls the index until it shows this version of the record, or the wait is over.
    ///
    /// If the index lacks this version after half of the wait, the record is written once more. The
    /// reason is that tangled's index drops a record that it fails to ingest, and reads it again
    /// only after a change (tangled.org core issue 533).
    pub(crate) async fn ingestion(
        &self,
        repository: &TangledRepository,
        seen: Seen<'_>,
        record: &Record,
    ) -> IngestionOutcome {
        let write = RecordWrite::New;
        self.ingestion_after(write, repository, seen, record).await
    }

    /// As [`Self::ingestion`], for a record that the write changed.
    pub(crate) async fn ingestion_of_edit(
        &self,
        repository: &TangledRepository,
        seen: Seen<'_>,
        record: &Record,
    ) -> IngestionOutcome {
        let write = RecordWrite::Edit;
        self.ingestion_after(write, repository, seen, record).await
    }

    /// As [`Self::ingestion`], after a write of any kind.
    pub(crate) async fn ingestion_after(
        &self,
        write: RecordWrite,
        repository: &TangledRepository,
        seen: Seen<'_>,
        record: &Record,
    ) -> IngestionOutcome {
        // Repository records are never rewritten to trigger ingestion.
        let put_for = (!matches!(seen, Seen::Repository)).then_some(repository);
        self.wait_for_index(put_for, write, seen, record).await
    }

    /// Waits until the index shows a record that already had the requested content. The command
    /// wrote nothing, but the index may still lack the record. The record is not rewritten.
    pub(crate) async fn ingestion_as_found(&self, seen: Seen<'_>, record: &Record) -> Ingestion {
        let write = RecordWrite::Edit;
        self.wait_for_index(None, write, seen, record)
            .await
            .ingestion
    }

    /// Waits until the index shows a state that was already set. The state is in the status record
    /// that decides it or, without a status record, in the record of the pull request or issue.
    pub(crate) async fn ingestion_of_state(
        &self,
        kind: Kind,
        statuses: &[Status],
        subject: (Seen<'_>, &Record),
    ) -> Ingestion {
        let (seen, about) = subject;
        let Some(decides) = status::winner(statuses) else {
            return self.ingestion_as_found(seen, about).await;
        };
        let found = async {
            let uri = AtUri::parse(&decides.uri)?;
            let pds = self.identities.pds(&uri.authority).await?;
            records::get_uri(&pds, &uri).await
        };
        match found.await {
            Ok(record) => {
                let seen = Seen::About(kind, &about.uri);
                self.ingestion_as_found(seen, &record).await
            }
            Err(_) => pending(&decides.uri, Duration::ZERO),
        }
    }

    /// Returns the collection that is known to keep this index from showing a new version of a
    /// record. It is the collection of the record or of the record's subject.
    pub(crate) fn not_taken_in(&self, seen: Option<&Seen<'_>>, at: &AtUri) -> Option<String> {
        let ingested = &self.settings.ingested;
        if ingested.misses(&at.collection) {
            return Some(at.collection.clone());
        }
        let Some(Seen::About(_, subject)) = seen else {
            return None;
        };
        let subject = AtUri::parse(subject).ok()?.collection;
        // An index that stopped to ingest a collection still has the older records of it.
        ingested.lacks(&subject).then_some(subject)
    }

    /// As [`Self::ingestion`], but rewrites the record only if `put_for` is set.
    async fn wait_for_index(
        &self,
        put_for: Option<&TangledRepository>,
        write: RecordWrite,
        seen: Seen<'_>,
        record: &Record,
    ) -> IngestionOutcome {
        let mut cid = record.cid().to_owned();
        let uri = record.uri.clone();
        let Ok(at) = AtUri::parse(&uri) else {
            let ingestion = pending(&uri, Duration::ZERO);
            return IngestionOutcome { ingestion, cid };
        };
        if self.not_taken_in(Some(&seen), &at).is_some() {
            let instead = instead_of(&at.collection, write, &self.settings.dialects).to_owned();
            let ingestion = Ingestion::PdsOnly { instead };
            return IngestionOutcome { ingestion, cid };
        }
        let fault = self.fault_on_its_face(record);
        if let Some(reason) = fault.clone()
            && self.settings.ingested.has_proved_rules()
        {
            let ingestion = Ingestion::Ineffective { uri, reason };
            return IngestionOutcome { ingestion, cid };
        }
        let begun = Instant::now();
        let wait = self.settings.wait;
        if wait.is_zero() {
            let ingestion = doubted(&uri, wait, self.doubt_of(&at.collection, fault));
            return IngestionOutcome { ingestion, cid };
        }
        let mut look = self.watch(wait / 2, &seen, &uri, &cid).await;
        let left = wait.saturating_sub(begun.elapsed());
        // A neutral change does not mend a record that breaks a rule.
        if fault.is_none()
            && matches!(look, IndexProbe::Absent | IndexProbe::Other(_))
            && let Some(repository) = put_for
            && let Ok(Ok(undeclared)) =
                tokio::time::timeout(left, self.undeclared(repository)).await
            && let Ok(again) = self.put_changed(undeclared, &at, &cid).await
        {
            cid = again;
        }
        if !matches!(look, IndexProbe::Shown) {
            let left = wait.saturating_sub(begun.elapsed());
            look = self.watch(left, &seen, &uri, &cid).await;
        }
        let ingestion = match look {
            IndexProbe::Shown => Ingestion::Confirmed {
                by: self.settings.index.host().to_owned(),
                after: begun.elapsed(),
            },
            look => {
                let waited = begun.elapsed();
                match self.find_drop_reason(record).await {
                    Some(reason) if self.is_drop_shown(&look) => {
                        Ingestion::Ineffective { uri, reason }
                    }
                    reason => doubted(&uri, waited, self.doubt_of(&at.collection, reason)),
                }
            }
        };
        IngestionOutcome { ingestion, cid }
    }

    /// Polls the index until it no longer shows a deleted record, or the wait is over.
    ///
    /// An index that does not ingest a collection misses the deletion of its records. It therefore
    /// continues to show a deleted record that it already had.
    pub(crate) async fn ingestion_of_removal(&self, seen: Seen<'_>, uri: &AtUri) -> Ingestion {
        if self.not_taken_in(Some(&seen), uri).is_some() {
            let instead = "check on its web page whether it is still shown".to_owned();
            return Ingestion::PdsOnly { instead };
        }
        let uri = uri.to_string();
        let begun = Instant::now();
        let mut pause = self.settings.poll;
        loop {
            let left = self.settings.wait.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return pending(&uri, begun.elapsed().min(self.settings.wait));
            }
            let look = tokio::time::timeout(left, self.probe(&seen, &uri, "")).await;
            if let Ok(IndexProbe::Absent) = look {
                return Ingestion::Confirmed {
                    by: self.settings.index.host().to_owned(),
                    after: begun.elapsed(),
                };
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Returns true if a record that breaks a rule counts as dropped: a list of the index lacks it,
    /// or this index is known to have the rule. The rules are those of one ingester at one date,
    /// and an index may have others.
    pub(crate) fn is_drop_shown(&self, look: &IndexProbe) -> bool {
        matches!(look, IndexProbe::Absent) || self.settings.ingested.has_proved_rules()
    }

    /// Returns why a record may stay invisible: a rule of another ingester that it breaks, or that
    /// nothing is known about its collection.
    pub(crate) fn doubt_of(&self, collection: &str, reason: Option<String>) -> Option<String> {
        if let Some(reason) = reason {
            return Some(format!(
                "an index of July 2026 ignored such a record ({reason}), and this one may do the \
                 same"
            ));
        }
        let is_unknown = self.settings.ingested.of(collection) == Some(Ingests::Unknown);
        is_unknown.then(|| {
            let host = self.settings.index.host();
            format!("it is unknown whether {host} ingests {collection}")
        })
    }

    /// Returns the rule that a record breaks, if a short check finds one.
    pub(crate) async fn find_drop_reason(&self, record: &Record) -> Option<String> {
        tokio::time::timeout(PROOF_MAX, self.proof(record))
            .await
            .ok()
            .flatten()
    }

    /// Returns why a record that the index lists does not count, if a short check finds a reason.
    pub(crate) async fn find_subject_fault(&self, record: &Record) -> Option<String> {
        let proof = self.proof_of_subject(record);
        tokio::time::timeout(PROOF_MAX, proof).await.ok().flatten()
    }

    /// Rewrites one of the viewer's records with a meaningless change, and returns the new CID. The
    /// change is needed because the same bytes would make no commit, so no index would see them.
    pub(crate) async fn put_changed(
        &self,
        undeclared: Undeclared,
        uri: &AtUri,
        cid: &str,
    ) -> Result<String> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let has_mentions = uri.collection == names.pull || uri.collection == names.issue;
        let record = self
            .edit_record(undeclared, uri, Some(cid), |value| {
                if has_mentions {
                    change_mentions(value, fields);
                } else {
                    change_time(value, fields);
                }
                Ok(())
            })
            .await?;
        Ok(record.cid().to_owned())
    }

    /// Polls the index until it shows the record or `wait` is over. Returns the last result.
    async fn watch(&self, wait: Duration, seen: &Seen<'_>, uri: &str, cid: &str) -> IndexProbe {
        let begun = Instant::now();
        let mut pause = self.settings.poll;
        let mut last = IndexProbe::Silent(Error::new(ErrorKind::Network, "it was not asked"));
        loop {
            let left = wait.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return last;
            }
            // A request that hangs must not exceed the wait.
            match tokio::time::timeout(left, self.probe(seen, uri, cid)).await {
                Ok(IndexProbe::Shown) => return IndexProbe::Shown,
                Ok(look) => last = look,
                Err(_) => return last,
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Queries the index once.
    pub(crate) async fn probe(&self, seen: &Seen<'_>, uri: &str, cid: &str) -> IndexProbe {
        let methods = &self.settings.dialects.methods.index;
        let account = records::author_of(uri);
        let repo = match seen {
            Seen::Pull(name) | Seen::Issue(name) => match self.listed_under(name).await {
                Ok(repo) => repo,
                Err(e) => return IndexProbe::Silent(e),
            },
            _ => String::new(),
        };
        let (query, subject, author) = match seen {
            Seen::Pull(_) => (&*methods.list_pulls, &*repo, Some(account)),
            Seen::Issue(_) => (&*methods.list_issues, &*repo, Some(account)),
            Seen::Repository => (&*methods.list_repos, account, None),
            Seen::About(kind, subject) => (&*kind.query, *subject, None),
            Seen::Definition(account) => (&*methods.list_labels, *account, None),
        };
        self.look_among((query, subject, author), uri, cid).await
    }

    /// Returns the name under which the index lists the pull requests and issues of a repository: its
    /// DID if it has one, also if a record names the repository by its at-uri.
    async fn listed_under(&self, name: &str) -> Result<String> {
        let Ok(uri) = AtUri::parse(name) else {
            return Ok(name.to_owned());
        };
        let id = RepoId {
            kind: ForgeKind::TANGLED,
            host: self.settings.host.clone(),
            path: RepoPath::Record(uri),
        };
        match self.claimed_repository(&id).await {
            Ok(found) => Ok(found.target().to_owned()),
            Err(e) if e.is_not_found() => Ok(name.to_owned()),
            Err(e) => Err(e),
        }
    }

    /// Searches the index's records about `subject` for the record `uri`. If `author` is given,
    /// only that account's records are searched.
    async fn look_among(
        &self,
        (query, subject, author): (&str, &str, Option<&str>),
        uri: &str,
        cid: &str,
    ) -> IndexProbe {
        let index = self.index();
        let of = &self.settings.dialects.inputs.index;
        let text = |item: &Value, name: &str| item.get(name)?.as_str().map(str::to_owned);
        let unread = |why: String| IndexProbe::Silent(Error::new(ErrorKind::Protocol, why));
        let (mut seen, mut cursor): (usize, Option<String>) = (0, None);
        let (mut bytes, mut trail) = (0_usize, PageTrail::new(MAX_PAGES));
        // An index fetches rows that it has not cached, so a look for one record of an account
        // begins with few rows.
        let mut limit = if author.is_some() { PAGE } else { 1000 };
        loop {
            let mut params = vec![(&*of.subject, subject), ("order", "desc")];
            params.extend(author.map(|author| (&*of.author, author)));
            params.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = match records::page::<Items>(&index, query, &params, &mut limit).await {
                Ok(page) => page,
                Err(e) if xrpc_error::is_missing_record(&e) => return IndexProbe::Absent,
                Err(e) => return IndexProbe::Silent(e),
            };
            let found = page
                .items
                .iter()
                .find(|item| text(item, "uri").as_deref() == Some(uri));
            if let Some(item) = found {
                return version(text(item, "cid").as_deref(), cid);
            }
            let got = page.items.len();
            seen = seen.saturating_add(got);
            let weights = page.items.iter().map(read_limits::weight);
            bytes = weights.fold(bytes, usize::saturating_add);
            let next = match trail.next(page.cursor, got) {
                NextPage::End => return IndexProbe::Absent,
                NextPage::Cut { why, .. } => {
                    return unread(format!(
                        "its list of the records about {subject} does not end: {why}"
                    ));
                }
                NextPage::At(next) => next,
            };
            if bytes > self.settings.read_limits.list {
                let most = read_limits::human(self.settings.read_limits.list);
                return unread(format!(
                    "it has more than {most} of records about {subject}"
                ));
            }
            if seen >= MAX_SUBJECT_RECORDS {
                return unread(format!(
                    "it has more than {MAX_SUBJECT_RECORDS} records about {subject}, and the \
                     record is not among the newest"
                ));
            }
            cursor = Some(next);
        }
    }
}

fn pending(uri: &str, waited: Duration) -> Ingestion {
    doubted(uri, waited, None)
}

fn doubted(uri: &str, waited: Duration, doubt: Option<String>) -> Ingestion {
    Ingestion::Pending {
        uri: Some(uri.to_owned()),
        waited,
        doubt,
    }
}

fn version(found: Option<&str>, wanted: &str) -> IndexProbe {
    match found {
        Some(found) if found == wanted => IndexProbe::Shown,
        // Without a CID, nothing proves that the index shows this version.
        other => IndexProbe::Other(other.unwrap_or("without a CID").to_owned()),
    }
}

/// Adds or removes an empty list of mentions, which means the same as no list.
fn change_mentions(value: &mut Map<String, Value>, fields: &ShFields) {
    for name in [&*fields.mentions, &*fields.references] {
        match value.get(name).and_then(Value::as_array) {
            Some(list) if list.is_empty() => drop(value.remove(name)),
            Some(_) => continue,
            None => drop(value.insert(name.to_owned(), Value::Array(Vec::new()))),
        }
        return;
    }
}

/// Moves the time by a millisecond, which changes nothing for a reader.
fn change_time(value: &mut Map<String, Value>, fields: &ShFields) {
    for name in [&*fields.created_at, &*fields.op_at] {
        let Some(text) = value.get(name).and_then(Value::as_str) else {
            continue;
        };
        if let Ok(at) = DateTime::parse_from_rfc3339(text) {
            let later = at.to_utc() + chrono::TimeDelta::milliseconds(1);
            let text = later.to_rfc3339_opts(SecondsFormat::Millis, true);
            value.insert(name.to_owned(), Value::String(text));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(value: Value, how: fn(&mut Map<String, Value>, &ShFields)) -> Value {
        let Value::Object(mut map) = value else {
            panic!("no object");
        };
        how(&mut map, &ShFields::default());
        Value::Object(map)
    }

    #[test]
    fn repeated_put_changes_bytes_and_keeps_meaning() {
        for (before, after) in [
            (json!({}), json!({"mentions": []})),
            (json!({"mentions": []}), json!({})),
            (
                json!({"mentions": ["did:plc:a"]}),
                json!({"mentions": ["did:plc:a"], "references": []}),
            ),
            (
                json!({"mentions": ["did:plc:a"], "references": []}),
                json!({"mentions": ["did:plc:a"]}),
            ),
        ] {
            assert_eq!(changed(before, change_mentions), after);
        }
        let status = json!({"createdAt": "2026-11-01T00:00:00.999Z"});
        assert_eq!(
            changed(status, change_time),
            json!({"createdAt": "2026-11-01T00:00:01.000Z"})
        );
    }
}
