//! Records of a repository server: reading, and the writes that a personal data server takes.

use forge_core::{AtUri, Result, Timestamp, Warning};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{skipped::Skipped, tid, xrpc::Xrpc};

/// The most records that one page of `listRecords` has.
const PAGE: usize = 100;

/// A record as it is stored: unknown fields and all.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Record {
    pub uri: String,
    #[serde(default)]
    pub cid: Option<String>,
    #[serde(default)]
    pub value: Value,
}

#[derive(Debug, Deserialize)]
struct Listed {
    #[serde(default)]
    records: Vec<Value>,
    #[serde(default)]
    cursor: Option<String>,
}

impl Record {
    /// The DID of the account that it is in.
    pub fn author(&self) -> &str {
        self.uri
            .strip_prefix("at://")
            .and_then(|rest| rest.split('/').next())
            .unwrap_or_default()
    }

    /// An entry of a list; where it is no record, the at-uri that it claims.
    pub fn of_entry(entry: Value) -> Result<Self, Option<String>> {
        let uri = entry.get("uri").and_then(Value::as_str).map(str::to_owned);
        serde_json::from_value(entry).map_err(|_| uri)
    }

    /// Its key.
    pub fn rkey(&self) -> &str {
        self.uri.rsplit('/').next().unwrap_or_default()
    }

    /// Its CID, empty where the server did not say.
    pub fn cid(&self) -> &str {
        self.cid.as_deref().unwrap_or_default()
    }

    pub fn text(&self, field: &str) -> Option<&str> {
        self.value.get(field)?.as_str()
    }

    /// The text at the end of a path of keys.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        let mut at = &self.value;
        for name in path {
            at = at.get(name)?;
        }
        at.as_str()
    }

    /// When it says that it was made, else when its key was.
    pub fn created_at(&self, field: &str) -> Option<Timestamp> {
        self.text(field)
            .and_then(|t| t.parse().ok())
            .or_else(|| tid::time(self.rkey()))
    }

    /// A strong reference to this version of it.
    pub fn strong_ref(&self) -> Value {
        json!({ "uri": self.uri, "cid": self.cid() })
    }
}

/// One record.
pub(crate) async fn get(xrpc: &Xrpc, repo: &str, collection: &str, rkey: &str) -> Result<Record> {
    xrpc.query(
        "com.atproto.repo.getRecord",
        &[("repo", repo), ("collection", collection), ("rkey", rkey)],
    )
    .await
}

/// One record; `None` when it is not there.
pub(crate) async fn find(
    xrpc: &Xrpc,
    repo: &str,
    collection: &str,
    rkey: &str,
) -> Result<Option<Record>> {
    match get(xrpc, repo, collection, rkey).await {
        Ok(record) => Ok(Some(record)),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(e),
    }
}

/// The record of an at-uri, from the server of its account.
pub(crate) async fn get_uri(xrpc: &Xrpc, uri: &AtUri) -> Result<Record> {
    get(xrpc, &uri.authority, &uri.collection, &uri.rkey).await
}

/// The records of a collection, and what was passed over.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub records: Vec<Record>,
    pub warnings: Vec<Warning>,
}

/// All records of a collection, newest key first; of more than `most`, the newest.
///
/// A server may send a cursor on every page that is not empty, and a hostile one forever: the end
/// is an empty page, no cursor, or one that was there before. The reference implementation's
/// cursor is the key of the page's last record, and its page is short only at the end (seen on pds
/// 0.5.35): behind such a page nothing is asked for.
pub(crate) async fn all(xrpc: &Xrpc, repo: &str, collection: &str, most: usize) -> Result<Listing> {
    let mut records: Vec<Record> = Vec::new();
    let mut skipped = Skipped::default();
    let (mut seen, mut cursor): (usize, Option<String>) = (0, None);
    let limit = PAGE.to_string();
    loop {
        let mut params = vec![
            ("repo", repo),
            ("collection", collection),
            ("limit", limit.as_str()),
        ];
        if let Some(cursor) = &cursor {
            params.push(("cursor", cursor));
        }
        let page: Listed = xrpc.query("com.atproto.repo.listRecords", &params).await?;
        let got = page.records.len();
        for (place, entry) in page.records.into_iter().enumerate() {
            match Record::of_entry(entry) {
                Ok(record) => records.push(record),
                Err(uri) => {
                    let place = format!("entry {} of at://{repo}/{collection}", seen + place + 1);
                    skipped.add(uri.as_deref().unwrap_or(&place), "it is no record");
                }
            }
        }
        seen = seen.saturating_add(got);
        let next = page.cursor.filter(|next| cursor.as_ref() != Some(next));
        let is_last = |next: &String| {
            got < PAGE && records.last().is_some_and(|record| record.rkey() == next)
        };
        let Some(next) = next.filter(|next| got > 0 && !is_last(next)) else {
            break;
        };
        if seen >= most {
            skipped.rest(format!(
                "at://{repo}/{collection} has more than {most} records; only the newest were read"
            ));
            break;
        }
        cursor = Some(next);
    }
    Ok(Listing {
        records,
        warnings: skipped.warnings(),
    })
}

/// The bytes of a blob.
pub(crate) async fn blob(xrpc: &Xrpc, did: &str, cid: &str) -> Result<Vec<u8>> {
    xrpc.bytes("com.atproto.sync.getBlob", &[("did", did), ("cid", cid)])
        .await
}

/// A record to create under a key of our choice.
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

    /// The record as it is in the account `did`, once it was created; `cids` as the server named
    /// them, this one's first.
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

/// The input that creates `records` in the account `did`, all or none. It does not ask for
/// validation: a server that does not know a lexicon would refuse it.
pub(crate) fn creation(did: &str, records: &[NewRecord]) -> Value {
    let writes: Vec<Value> = records.iter().map(NewRecord::operation).collect();
    json!({ "repo": did, "writes": writes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_record_is_its_word_or_its_key() {
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
