//! A light PDS: sessions, records, blobs and service auth as the reference implementation answers
//! them, over a store in memory. Repositories are maps, not trees: their commits have ids and
//! revisions, and no proofs.

mod auth;
pub(super) mod blob;
mod identity;
mod limits;
pub(super) mod record;
pub(super) mod repo;
mod server;
mod session;
pub(super) mod state;
pub(super) mod write;

use std::{
    io,
    sync::{Arc, Mutex},
};

use serde_json::Value;

use self::{limits::Limits, state::State, write::Write};
use super::{
    atproto::{cid, jwt, keys::Key, tid},
    directory::{DirectoryDouble, Entries},
    host::{Host, lock},
    network::Network,
};

/// How a PDS behaves.
#[derive(Debug, Clone)]
pub struct PdsOptions {
    /// Seconds that an access token lives.
    pub access_lifetime: i64,
    /// Requests are counted against limits, and answers state the remaining number.
    pub rate_limits: bool,
    /// Points of writing an hour, with `rate_limits`: a create costs 3, an update 2, a delete 1.
    pub write_points: u64,
    /// The largest blob, in bytes.
    pub largest_blob: usize,
}

impl Default for PdsOptions {
    fn default() -> Self {
        Self {
            access_lifetime: 7_200,
            rate_limits: false,
            write_points: 5_000,
            largest_blob: 5 << 20,
        }
    }
}

/// An account of a PDS.
#[derive(Debug, Clone)]
pub struct Account {
    /// `did:plc:…`
    pub did: String,
    /// Like `alice.test`.
    pub handle: String,
    /// The password of the account.
    pub password: String,
}

/// An access token of a session at a PDS with a known secret, real or not, that expires in
/// `seconds`; a negative number makes it expired.
#[must_use]
pub fn session_token(secret: &str, did: &str, seconds: i64) -> String {
    let now = chrono::Utc::now().timestamp();
    let claims = serde_json::json!({
        "scope": "com.atproto.access", "sub": did, "aud": auth::SELF,
        "iat": now.min(now + seconds) - 60, "exp": now + seconds,
    });
    jwt::session(secret.as_bytes(), "at+jwt", &claims)
}

pub(crate) struct Pds {
    pub(crate) state: Mutex<State>,
    pub(crate) limits: Mutex<Limits>,
    pub(crate) options: PdsOptions,
    pub(crate) directory: Entries,
    pub(crate) network: Network,
    pub(crate) url: String,
}

/// A PDS on loopback. The PDS stops on drop.
pub struct PdsDouble {
    host: Host,
    pds: Arc<Pds>,
}

impl PdsDouble {
    pub(crate) fn start(
        options: PdsOptions,
        directory: &DirectoryDouble,
        network: Network,
    ) -> io::Result<Self> {
        let claimed = Host::claim()?;
        let pds = Pds::new(options, directory.entries(), network, claimed.url());
        let pds = Arc::new(pds);
        let host = claimed.serve("pds-double", server::Answers(Arc::clone(&pds)))?;
        Ok(Self { host, pds })
    }

    /// Address, requests and faults of the PDS.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// A new account with a handle like `alice.test`. The same handle gives the same DID in every
    /// world.
    ///
    /// # Panics
    /// When the handle is taken.
    pub fn account(&self, handle: &str, password: &str) -> Account {
        let created = self.pds.new_account(handle, password, None, None);
        Account {
            did: created.expect("a free handle"),
            handle: handle.to_owned(),
            password: password.to_owned(),
        }
    }

    /// A new account whose DID is `did:web:` of this PDS, which serves its document. A PDS has one
    /// at most.
    ///
    /// # Panics
    /// When the handle is taken.
    pub fn web_account(&self, handle: &str, password: &str) -> Account {
        let did = self.host.did();
        let created = self.pds.new_account(handle, password, None, Some(&did));
        Account {
            did: created.expect("a free handle"),
            handle: handle.to_owned(),
            password: password.to_owned(),
        }
    }

    /// A new app password of an account.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn app_password(&self, did: &str) -> String {
        let mut state = lock(&self.pds.state);
        let account = state.accounts.get_mut(did).expect("an account");
        account.add_app_password(&format!("test {}", account.app_passwords.len()))
    }

    /// Writes a record without a request, and returns its at-uri and CID. The `$type` is added.
    ///
    /// # Panics
    /// When there is no such account, or the record is none.
    pub fn put(&self, did: &str, collection: &str, rkey: &str, record: Value) -> (String, String) {
        let mut state = lock(&self.pds.state);
        let record = record::prepare(record, collection).expect("a record");
        let id = cid::of_record(&record).expect("a record of the data model");
        let write = Write::put(&state, did, collection, rkey, record);
        write::commit(&mut state, &self.pds.network, did, vec![write]).expect("a commit");
        (format!("at://{did}/{collection}/{rkey}"), id)
    }

    /// As [`Self::put`], with a new TID for the key.
    pub fn add(&self, did: &str, collection: &str, record: Value) -> (String, String) {
        self.put(did, collection, &tid::next(), record)
    }

    /// Deletes a record without a request.
    pub fn delete(&self, did: &str, collection: &str, rkey: &str) {
        let mut state = lock(&self.pds.state);
        let write = Write::delete(collection, rkey);
        // A missing record needs no deletion.
        let _ = write::commit(&mut state, &self.pds.network, did, vec![write]);
    }

    /// Stores a blob without a request, and returns it as records hold it.
    ///
    /// # Panics
    /// When there is no such account.
    pub fn blob(&self, did: &str, mime: &str, bytes: &[u8]) -> Value {
        let mut state = lock(&self.pds.state);
        let account = state.accounts.get_mut(did).expect("an account");
        account.add_blob(mime, bytes.to_vec())
    }

    /// The bytes of a blob that a record refers to.
    #[must_use]
    pub fn blob_bytes(&self, did: &str, cid: &str) -> Option<Vec<u8>> {
        let state = lock(&self.pds.state);
        let blob = state.accounts.get(did)?.blobs.get(cid)?;
        blob.permanent.then(|| blob.bytes.clone())
    }

    /// A record by its at-uri: its CID and value.
    #[must_use]
    pub fn record(&self, uri: &str) -> Option<(String, Value)> {
        let (did, rest) = uri.strip_prefix("at://")?.split_once('/')?;
        let (collection, rkey) = rest.split_once('/')?;
        let state = lock(&self.pds.state);
        let stored = state.accounts.get(did)?.record(collection, rkey)?;
        Some((stored.cid.clone(), stored.value.clone()))
    }

    /// Every version that a record has had, oldest first: its CID and value. Deleted versions are
    /// left out.
    #[must_use]
    pub fn versions(&self, uri: &str) -> Vec<(String, Value)> {
        let changes = self.pds.network.since(0).into_iter();
        let own = changes.filter(|it| it.uri() == uri);
        own.filter_map(|it| it.record).collect()
    }

    /// The records of a collection, oldest key first: at-uri, CID and value.
    #[must_use]
    pub fn records(&self, did: &str, collection: &str) -> Vec<(String, String, Value)> {
        let state = lock(&self.pds.state);
        let records = state
            .accounts
            .get(did)
            .and_then(|it| it.records.get(collection));
        let records = records.into_iter().flatten();
        records
            .map(|(rkey, it)| {
                let uri = format!("at://{did}/{collection}/{rkey}");
                (uri, it.cid.clone(), it.value.clone())
            })
            .collect()
    }

    /// Moves the clock of the PDS: tokens that it made then are too old, or made in the future.
    pub fn set_clock(&self, seconds_ahead: i64) {
        lock(&self.pds.state).clock_ahead = seconds_ahead;
    }

    /// Ends the sessions of an account: their refresh tokens are revoked, as when its password was
    /// changed elsewhere.
    pub fn revoke_sessions(&self, did: &str) {
        lock(&self.pds.state).revoke_sessions(did, None);
    }

    /// Switches an account off, or on again.
    pub fn set_active(&self, did: &str, active: bool) {
        if let Some(account) = lock(&self.pds.state).accounts.get_mut(did) {
            account.active = active;
        }
    }

    /// The secret that it seals sessions with, for [`session_token`].
    #[must_use]
    pub fn session_secret(&self) -> String {
        String::from_utf8_lossy(auth::SECRET).into_owned()
    }

    /// The key that the account signs with, in the form of DID documents.
    #[must_use]
    pub fn signing_key(&self, did: &str) -> Option<String> {
        let state = lock(&self.pds.state);
        Some(state.accounts.get(did)?.key.multikey())
    }

    /// A service token without a request, signed by the account: for `aud` and `lxm`, valid for
    /// `seconds`.
    ///
    /// # Panics
    /// When there is no such account.
    #[must_use]
    pub fn service_token(&self, did: &str, aud: &str, lxm: Option<&str>, seconds: i64) -> String {
        let state = lock(&self.pds.state);
        let account = state.accounts.get(did).expect("an account");
        session::service_token(
            &account.key,
            did,
            aud,
            lxm,
            state.now(),
            state.now() + seconds,
        )
    }
}

impl Pds {
    pub(crate) fn new(
        options: PdsOptions,
        directory: Entries,
        network: Network,
        url: String,
    ) -> Self {
        Self {
            state: Mutex::new(State::default()),
            limits: Mutex::new(Limits::new(&options)),
            options,
            directory,
            network,
            url,
        }
    }

    /// A new account, or `None` when its handle is taken. Without a DID it gets a `did:plc`.
    fn new_account(
        &self,
        handle: &str,
        password: &str,
        email: Option<&str>,
        did: Option<&str>,
    ) -> Option<String> {
        let mut state = lock(&self.state);
        if state.find(handle).is_some() {
            return None;
        }
        let key = Key::from_seed(&format!("key of {handle}"));
        let did = match did {
            Some(did) => {
                self.directory.register_as(did, Some(handle), &key);
                did.to_owned()
            }
            None => self.directory.register(handle, Some(handle), &key),
        };
        self.directory
            .set_service(&did, "#atproto_pds", "AtprotoPersonalDataServer", &self.url);
        state.open(&did, handle, password, email, key);
        Some(did)
    }
}
