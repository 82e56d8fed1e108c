//! The state of a PDS.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::atproto::{cid, keys::Key, tid};

/// The current version of a record.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) cid: String,
    pub(crate) value: Value,
    /// CIDs of the blobs to which the record refers.
    pub(crate) blobs: BTreeSet<String>,
}

pub(crate) struct Blob {
    pub(crate) mime: String,
    pub(crate) bytes: Vec<u8>,
    /// True if a record refers to the blob.
    pub(crate) permanent: bool,
}

pub(crate) struct AccountState {
    pub(crate) handle: String,
    pub(crate) email: Option<String>,
    pub(crate) password: String,
    /// Name and password of each app password.
    pub(crate) app_passwords: Vec<(String, String)>,
    pub(crate) key: Key,
    pub(crate) active: bool,
    pub(crate) records: BTreeMap<String, BTreeMap<String, Stored>>,
    pub(crate) blobs: BTreeMap<String, Blob>,
    pub(crate) commit: String,
    pub(crate) rev: String,
}

impl AccountState {
    pub(crate) fn record(&self, collection: &str, rkey: &str) -> Option<&Stored> {
        self.records.get(collection)?.get(rkey)
    }

    pub(crate) fn add_app_password(&mut self, name: &str) -> String {
        let digest = cid::of_blob(format!("{name} of {}", self.handle).as_bytes());
        let letters: Vec<char> = digest.chars().rev().take(16).collect();
        let groups: Vec<String> = letters.chunks(4).map(|it| it.iter().collect()).collect();
        let password = groups.join("-");
        self.app_passwords.push((name.to_owned(), password.clone()));
        password
    }

    /// Stores a blob, and returns the reference with which records name it.
    pub(crate) fn add_blob(&mut self, mime: &str, bytes: Vec<u8>) -> Value {
        let id = cid::of_blob(&bytes);
        let size = bytes.len();
        let blob = self.blobs.entry(id.clone()).or_insert(Blob {
            mime: mime.to_owned(),
            bytes,
            permanent: false,
        });
        if !blob.permanent {
            mime.clone_into(&mut blob.mime);
        }
        json!({ "$type": "blob", "ref": { "$link": id }, "mimeType": mime, "size": size })
    }

    /// Creates a commit of the records as they are now.
    pub(crate) fn advance(&mut self, did: &str) {
        self.rev = tid::next();
        let commit = json!({ "did": did, "version": 3, "rev": self.rev, "prev": self.commit });
        self.commit = cid::of_record(&commit).unwrap_or_default();
    }
}

/// A session. The `jti` of its refresh token identifies it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) did: String,
    pub(crate) app_password: Option<String>,
    pub(crate) expires: i64,
    /// The `jti` of the refresh token that replaced this session's token, and the time until which
    /// the replaced token is still accepted.
    pub(crate) next: Option<(String, i64)>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) accounts: BTreeMap<String, AccountState>,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) clock_ahead: i64,
    /// Number of tokens issued so far.
    pub(crate) issued: u64,
}

impl State {
    /// Returns the time of this PDS's clock, in seconds since the epoch.
    pub(crate) fn now(&self) -> i64 {
        Utc::now().timestamp() + self.clock_ahead
    }

    /// Returns the time of this PDS's clock as text.
    pub(crate) fn time(&self) -> String {
        DateTime::from_timestamp(self.now(), 0)
            .unwrap_or_default()
            .to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
    }

    /// Returns the DID of an account that is named by its DID, handle or e-mail address.
    pub(crate) fn find(&self, name: &str) -> Option<String> {
        if self.accounts.contains_key(name) {
            return Some(name.to_owned());
        }
        self.accounts
            .iter()
            .find(|(_, it)| it.handle == name || it.email.as_deref() == Some(name))
            .map(|(did, _)| did.clone())
    }

    pub(crate) fn open(
        &mut self,
        did: &str,
        handle: &str,
        password: &str,
        email: Option<&str>,
        key: Key,
    ) {
        let mut account = AccountState {
            handle: handle.to_owned(),
            email: email.map(str::to_owned),
            password: password.to_owned(),
            app_passwords: Vec::new(),
            key,
            active: true,
            records: BTreeMap::new(),
            blobs: BTreeMap::new(),
            commit: String::new(),
            rev: String::new(),
        };
        account.advance(did);
        self.accounts.insert(did.to_owned(), account);
    }

    /// Ends the sessions of an account, or only those that an app password started.
    pub(crate) fn revoke_sessions(&mut self, did: &str, app_password: Option<&str>) {
        self.sessions.retain(|_, it| {
            it.did != did || app_password.is_some() && it.app_password.as_deref() != app_password
        });
    }
}
