//! Reads the records of a PDS or a knot, and builds the records to write.

use forge_core::{AtUri, Error, ErrorKind, Result, Timestamp, Warning};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    Origin,
    blocking::{self, MayBlock},
    cid,
    malformed::Skipped,
    page_trail::{NextPage, PageTrail},
    patch::PACKED_MAX,
    read_limits::{self, Budget},
    tid,
    xrpc::{Params, Xrpc},
    xrpc_error,
};

/// Maximum number of records on a page of `listRecords`.
pub(crate) const PAGE: usize = 100;
/// Number of records on a page of `listRecords` by default, according to its lexicon. No known
/// server sends smaller pages before the end of a list.
const DEFAULT_PAGE: usize = 50;
/// Number of pages that a list may have beyond those of [`DEFAULT_PAGE`] records.
const MORE_PAGES: usize = 10;

/// A record as stored, including unknown fields.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Record {
    pub uri: String,
    #[serde(default)]
    pub cid: Option<String>,
    pub value: Value,
}

#[derive(Debug, Deserialize)]
struct Listed {
    records: Vec<Value>,
    #[serde(default)]
    cursor: Option<String>,
}

impl Record {
    /// Returns the DID of the account that has the record.
    pub fn author(&self) -> &str {
        author_of(&self.uri)
    }

    /// Parses an entry of a list. If the entry is not a record, the error is the at-uri that the
    /// entry claims.
    pub fn of_entry(entry: Value) -> Result<Self, Option<String>> {
        let uri = entry.get("uri").and_then(Value::as_str).map(str::to_owned);
        serde_json::from_value(entry).map_err(|_| uri)
    }

    /// Checks the value that `origin` sent against its CID, and adds a CID that the server left
    /// out. A Tangled 1.0 record with stamps, which are fields that the knot added, is not checked.
    fn verify(&mut self, origin: &Origin) -> Result<()> {
        let actual = cid::check_record(self.cid.as_deref(), &self.value, origin, &self.uri)?;
        self.cid = actual.or(self.cid.take());
        Ok(())
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        self.uri.len() + self.cid().len() + read_limits::weight(&self.value)
    }

    /// Returns the collection of the record.
    pub fn collection(&self) -> &str {
        self.uri.split('/').nth(3).unwrap_or_default()
    }

    /// Returns the key of the record.
    pub fn rkey(&self) -> &str {
        self.uri.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the CID, or an empty text if the server sent none.
    pub fn cid(&self) -> &str {
        self.cid.as_deref().unwrap_or_default()
    }

    pub fn text(&self, field: &str) -> Option<&str> {
        self.value.get(field)?.as_str()
    }

    /// Returns the text at a path of keys.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        let mut at = &self.value;
        for name in path {
            at = at.get(name)?;
        }
        at.as_str()
    }

    /// Returns the creation time that the record claims, otherwise the time in the record key.
    pub fn created_at(&self, field: &str) -> Option<Timestamp> {
        self.text(field)
            .and_then(|t| t.parse().ok())
            .or_else(|| tid::time(self.rkey()))
    }

    /// Returns a strong reference to this version of the record.
    pub fn strong_ref(&self) -> Value {
        json!({ "uri": self.uri, "cid": self.cid() })
    }
}

/// Returns the DID of the account in an at-uri.
pub(crate) fn author_of(uri: &str) -> &str {
    uri.strip_prefix("at://")
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_default()
}

/// Reads a record of the account with the DID `repo`.
///
/// # Errors
/// `protocol` if the server sends another record, or a record whose CID is not the stated one.
pub(crate) async fn get(xrpc: &Xrpc, repo: &str, collection: &str, rkey: &str) -> Result<Record> {
    let nsid = "com.atproto.repo.getRecord";
    let params = [("repo", repo), ("collection", collection), ("rkey", rkey)];
    let uri = format!("at://{repo}/{collection}/{rkey}");
    let read = xrpc.clone().for_record();
    let read = read.query::<Record>(nsid, &params).await;
    let mut record = read.map_err(|e| match forge_http::is_too_long(&e) {
        true => too_long(&uri, xrpc.limits().page, e),
        false => e,
    })?;
    if record.uri != uri {
        let why = format!("it was asked for {uri}, and sent {}", record.uri);
        return Err(xrpc_error::garbled(xrpc.origin(), nsid, &why, false));
    }
    record.verify(xrpc.origin())?;
    Ok(record)
}

/// Returns the error for an answer of more than `max` bytes.
fn too_long(what: &str, max: usize, error: Error) -> Error {
    let max = read_limits::human(max);
    let message = format!("{what} is not read: it is more than {max}");
    Error::new(ErrorKind::Protocol, message).with_source(error)
}

/// Reads a record; `None` if its server says that the record does not exist.
pub(crate) async fn find(
    xrpc: &Xrpc,
    repo: &str,
    collection: &str,
    rkey: &str,
) -> Result<Option<Record>> {
    match get(xrpc, repo, collection, rkey).await {
        Ok(record) => Ok(Some(record)),
        Err(e) if xrpc_error::is_missing_record(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Reads the record of an at-uri from the server of its account.
pub(crate) async fn get_uri(xrpc: &Xrpc, uri: &AtUri) -> Result<Record> {
    get(xrpc, &uri.authority, &uri.collection, &uri.rkey).await
}

/// The records of a collection, with warnings about skipped entries.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub records: Vec<Record>,
    pub warnings: Vec<Warning>,
    /// True if there are more records than were read.
    pub is_cut: bool,
}

/// Reads a page of at most `limit` rows. Lowers `limit` if the answer is too long.
pub(crate) async fn page<T: DeserializeOwned + Send + Sync>(
    xrpc: &Xrpc,
    nsid: &str,
    params: Params<'_>,
    limit: &mut usize,
) -> Result<T> {
    loop {
        let size = limit.to_string();
        let mut params = params.to_vec();
        params.push(("limit", size.as_str()));
        match xrpc.clone().bounded().query(nsid, &params).await {
            Err(e) if xrpc_error::is_too_long(&e) && *limit > 1 => *limit = (*limit / 10).max(1),
            answer => return answer,
        }
    }
}

/// Reads the records of a collection, newest key first. If there are more than `most`, only the
/// newest are read.
pub(crate) async fn all(xrpc: &Xrpc, repo: &str, collection: &str, most: usize) -> Result<Listing> {
    let budget = Budget::new(usize::MAX);
    list_matching(xrpc, repo, collection, most, &budget, |_| true).await
}

/// As [`all`], for the records that `keep` accepts, within the memory budget of a list.
///
/// A list ends:
/// - with an empty page, because a server may send a cursor with every page that has records
/// - with a page without a cursor
/// - with a cursor that was sent before, and after more pages than `most` records need, because a
///   hostile server may send cursors forever
/// - with a page of fewer than [`DEFAULT_PAGE`] records whose cursor is the key of its last record:
///   the reference implementation sends a cursor with the last page, too (seen on pds 0.5.35). A
///   server may send fewer records than requested, so a larger page does not end the list.
pub(crate) async fn list_matching(
    xrpc: &Xrpc,
    repo: &str,
    collection: &str,
    most: usize,
    budget: &Budget,
    keep: impl Fn(&Record) -> bool,
) -> Result<Listing> {
    let mut records: Vec<Record> = Vec::new();
    let mut skipped = Skipped::default();
    let (mut seen, mut cursor): (usize, Option<String>) = (0, None);
    let within = format!("at://{repo}/{collection}/");
    let (mut limit, mut bytes, mut cut) = (PAGE, 0_usize, None);
    let mut trail = PageTrail::new(most.div_ceil(DEFAULT_PAGE) + MORE_PAGES);
    while cut.is_none() {
        let mut params = vec![("repo", repo), ("collection", collection)];
        if let Some(cursor) = &cursor {
            params.push(("cursor", cursor));
        }
        let _room = budget.room_for_page().await;
        if seen > 0 && xrpc.is_out_of_time() {
            cut = Some(format!("there was no time for all records of {within}"));
            break;
        }
        let asked = page(xrpc, "com.atproto.repo.listRecords", &params, &mut limit);
        let page: Listed = match asked.await {
            Err(e) if seen > 0 && (xrpc_error::is_spent(&e) || is_late(xrpc, &e)) => {
                cut = Some(e.message().to_owned());
                break;
            }
            page => page?,
        };
        let got = page.records.len();
        let mut last = String::new();
        for (place, entry) in page.records.into_iter().enumerate() {
            let weight = read_limits::weight(&entry);
            bytes = bytes.saturating_add(weight);
            if bytes > xrpc.limits().account {
                let most = read_limits::human(xrpc.limits().account);
                cut = Some(format!("the records of {within} exceed {most}"));
                break;
            }
            match Record::of_entry(entry) {
                // A server must not pass off another account's record as this account's.
                Ok(record) if record.uri.strip_suffix(record.rkey()) != Some(&within) => {
                    skipped.add(&record.uri, format!("it is listed as one of {within}"));
                }
                Ok(mut record) => {
                    record.rkey().clone_into(&mut last);
                    if !keep(&record) || !trail.is_new_row(&record.uri) {
                        continue;
                    }
                    // The lexicon requires a CID for each record of a list, but not in the answer
                    // for a single record.
                    if record.cid.is_none() {
                        skipped.add(&record.uri, "it is listed without its CID");
                        continue;
                    }
                    if !budget.take(weight) {
                        let most = read_limits::human(xrpc.limits().list);
                        cut = Some(format!(
                            "the records of {within} and of the accounts read before it exceed \
                             {most}"
                        ));
                        break;
                    }
                    match record.verify(xrpc.origin()) {
                        Ok(()) => records.push(record),
                        Err(e) => skipped.add(&record.uri, e.message()),
                    }
                }
                Err(uri) => {
                    let place = format!("entry {} of at://{repo}/{collection}", seen + place + 1);
                    skipped.add(uri.as_deref().unwrap_or(&place), "it is no record");
                }
            }
        }
        seen = seen.saturating_add(got);
        let is_last = |next: &String| got < limit.min(DEFAULT_PAGE) && last == *next;
        let next = page.cursor.filter(|next| got > 0 && !is_last(next));
        match trail.next(next, got) {
            NextPage::End => break,
            NextPage::Cut { why, .. } => {
                cut.get_or_insert(format!("the list {within} does not end: {why}"));
            }
            NextPage::At(_) if seen >= most => {
                cut.get_or_insert(format!("{within} has more than {most} records"));
            }
            NextPage::At(next) => cursor = Some(next),
        }
    }
    let is_cut = cut.is_some();
    if let Some(cut) = cut {
        skipped.add_rest(format!("{cut}; only the newest were read"));
    }
    Ok(Listing {
        records,
        warnings: skipped.warnings(),
        is_cut,
    })
}

/// Returns true if an answer did not come in time, and the caller goes on without it.
fn is_late(xrpc: &Xrpc, error: &Error) -> bool {
    xrpc.is_optional() && matches!(error.kind(), ErrorKind::Timeout { .. })
}

/// Maximum size of a blob that is read at the same time as other blobs. Few packed patches are
/// larger.
const SHORT_BLOB: usize = 4 * 1024 * 1024;
/// Long blobs are read one at a time, and all blobs are unpacked one at a time, because strangers
/// choose their number.
static LONG_BLOBS: Semaphore = Semaphore::const_new(1);
static UNPACKING: Semaphore = Semaphore::const_new(1);

/// Downloads a blob and parses it with `read`. The record `of` names the blob. `read` runs on a
/// thread that may block, because a patch can be long.
///
/// # Errors
/// `protocol` if the bytes have another CID, or are longer than a patch may be; the errors of
/// `read`.
pub(crate) async fn blob<T: Send + 'static>(
    xrpc: &Xrpc,
    of: &AtUri,
    cid: &str,
    read: impl FnOnce(&[u8], MayBlock) -> Result<T> + Send + 'static,
) -> Result<T> {
    let params = [("did", of.authority.as_str()), ("cid", cid)];
    let mut alone = None;
    let mut bytes = get_blob(xrpc, &params, SHORT_BLOB).await;
    if bytes.as_ref().is_err_and(forge_http::is_too_long) {
        // The semaphore is never closed.
        alone = LONG_BLOBS.acquire().await.ok();
        bytes = get_blob(xrpc, &params, PACKED_MAX).await;
    }
    let bytes = bytes.map_err(|e| match forge_http::is_too_long(&e) {
        true => too_long(&format!("the blob {cid} of {of}"), PACKED_MAX, e),
        false => e,
    })?;
    let _one = UNPACKING.acquire().await;
    let (cid, origin, of) = (cid.to_owned(), xrpc.origin().clone(), of.to_string());
    let work = move |may| {
        cid::check_blob(&cid, &bytes, &origin, &of)?;
        read(&bytes, may)
    };
    let read = blocking::run_long(work).await;
    drop(alone);
    read
}

async fn get_blob(xrpc: &Xrpc, params: Params<'_>, max: usize) -> Result<Vec<u8>> {
    let xrpc = xrpc.clone().for_blob(max);
    xrpc.bytes("com.atproto.sync.getBlob", params).await
}

/// A record to create under a key that forge chooses.
#[derive(Clone, Debug)]
pub(crate) struct NewRecord {
    pub collection: String,
    pub rkey: String,
    pub value: Value,
}

impl NewRecord {
    pub fn new(collection: &str, value: Value) -> Self {
        Self {
            collection: collection.to_owned(),
            rkey: tid::new(),
            value,
        }
    }

    pub fn uri(&self, did: &str) -> String {
        format!("at://{did}/{}/{}", self.collection, self.rkey)
    }

    /// Returns the record as stored in the account `did`. `cids` are the CIDs from the server's
    /// answer, beginning with that of this record.
    pub fn written(self, did: &str, cids: Vec<String>) -> Record {
        Record {
            uri: self.uri(did),
            cid: cids.into_iter().next(),
            value: self.value,
        }
    }

    fn operation(&self) -> Value {
        json!({
            "$type": "com.atproto.repo.applyWrites#create",
            "collection": self.collection,
            "rkey": self.rkey,
            "value": self.value,
        })
    }
}

/// Builds the input that creates all `records` in the account `did`, or none of them. The input
/// requests no validation, because a server would refuse an unknown lexicon.
pub(crate) fn creation(did: &str, records: &[NewRecord]) -> Value {
    let writes: Vec<Value> = records.iter().map(NewRecord::operation).collect();
    json!({ "repo": did, "writes": writes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_time_falls_back_to_record_key() {
        let record = |value| Record {
            uri: "at://did:plc:a/sh.tangled.repo.pull.status/3mkuuamwfj322".into(),
            cid: None,
            value,
        };
        let said = record(json!({"createdAt": "2026-06-01T00:00:00+03:00"}));
        assert_eq!(
            said.created_at("createdAt").unwrap().to_string(),
            "2026-06-01T00:00:00+03:00"
        );
        for junk in [
            json!({}),
            json!({"createdAt": 7}),
            json!({"createdAt": "x"}),
            json!(null),
        ] {
            assert_eq!(
                record(junk).created_at("createdAt").unwrap().date(),
                "2026-05-02"
            );
        }
        assert_eq!(said.author(), "did:plc:a");
        assert_eq!(said.rkey(), "3mkuuamwfj322");
    }
}
