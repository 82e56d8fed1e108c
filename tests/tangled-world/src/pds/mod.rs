//! A light PDS in memory: sessions, records, blobs and service tokens as in the reference
//! implementation. Repositories are maps instead of trees, so their commits have ids and revisions
//! but no proofs.

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

/// Configuration of a PDS.
#[derive(Debug, Clone)]
pub struct PdsOptions {
    /// Time for which an access token is valid, in seconds.
    pub access_lifetime: i64,
    /// True if requests are rate-limited and answers state the remaining points.
    pub rate_limits: bool,
    /// Points per hour for writes, if `rate_limits` is true. A create costs 3 points, an update 2,
    /// and a delete 1.
    pub write_points: u64,
    /// Maximum size of a blob, in bytes.
    pub largest_blob: usize,
    /// Maximum number of records on a page. The reference implementation sends up to 100, but
    /// another server may send fewer than requested.
    pub largest_page: usize,
}

impl Default for PdsOptions {
    fn default() -> Self {
        Self {
            access_lifetime: 7_200,
            rate_limits: false,
            write_points: 5_000,
            largest_blob: 5 << 20,
            largest_page: 100,
        }
    }
}

/// An account on a PDS.
#[derive(Debug, Clone)]
pub struct Account {
    /// DID of the account, a `did:plc` or a `did:web`.
    pub did: String,
    /// Handle of the account, such as `alice.test`.
    pub handle: String,
    /// Password of the account.
    pub password: String,
}

/// Creates an access token for a session at a PDS with a known secret. The PDS may be a double or a
/// real one. The token expires in `seconds`; a negative number makes it expired.
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

/// A PDS on loopback. It stops when it is dropped.
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

    /// Returns the host of the PDS, with its address, its requests and its faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Creates an account with a handle such as `alice.test`. The same handle always leads to the
    /// same DID.
    ///
    /// # Panics
    ///
    /// Panics if the handle is taken.
    pub fn account(&self, handle: &str, password: &str) -> Account {
        let created = self.pds.new_account(handle, password, None, None);
        Account {
            did: created.expect("a free handle"),
            handle: handle.to_owned(),
            password: password.to_owned(),
        }
    }

    /// Creates an account with the `did:web` of this PDS as its DID. The PDS serves the account's
    /// DID document, and can have only one such account.
    ///
    /// # Panics
    ///
    /// Panics if the handle is taken.
    pub fn web_account(&self, handle: &str, password: &str) -> Account {
        let did = self.host.did();
        let created = self.pds.new_account(handle, password, None, Some(&did));
        Account {
            did: created.expect("a free handle"),
            handle: handle.to_owned(),
            password: password.to_owned(),
        }
    }

    /// Creates an app password for an account.
    ///
    /// # Panics
    ///
    /// Panics if the account does not exist.
    pub fn app_password(&self, did: &str) -> String {
        let mut state = lock(&self.pds.state);
        let account = state.accounts.get_mut(did).expect("an account");
        account.add_app_password(&format!("test {}", account.app_passwords.len()))
    }

    /// Writes a record without a request, adding its `$type`. Returns the at-uri and the CID.
    ///
    /// # Panics
    ///
    /// Panics if the account does not exist, or if `record` is invalid.
    pub fn put(&self, did: &str, collection: &str, rkey: &str, record: Value) -> (String, String) {
        let mut state = lock(&self.pds.state);
        let record = record::prepare(record, collection).expect("a record");
        let id = cid::of_record(&record).expect("a record of the data model");
        let write = Write::put(&state, did, collection, rkey, record);
        write::commit(&mut state, &self.pds.network, did, vec![write]).expect("a commit");
        (format!("at://{did}/{collection}/{rkey}"), id)
    }

    /// Writes a record as [`Self::put`] does, with a new TID as its key.
    pub fn add(&self, did: &str, collection: &str, record: Value) -> (String, String) {
        self.put(did, collection, &tid::next(), record)
    }

    /// Deletes a record without a request.
    pub fn delete(&self, did: &str, collection: &str, rkey: &str) {
        let mut state = lock(&self.pds.state);
        let write = Write::delete(collection, rkey);
        // A record that is missing need not be deleted, so the error is ignored.
        let _ = write::commit(&mut state, &self.pds.network, did, vec![write]);
    }

    /// Stores a blob without a request, and returns the reference with which records name it.
    ///
    /// # Panics
    ///
    /// Panics if the account does not exist.
    pub fn blob(&self, did: &str, mime: &str, bytes: &[u8]) -> Value {
        let mut state = lock(&self.pds.state);
        let account = state.accounts.get_mut(did).expect("an account");
        account.add_blob(mime, bytes.to_vec())
    }

    /// Returns the content of a blob to which a record refers.
    #[must_use]
    pub fn blob_bytes(&self, did: &str, cid: &str) -> Option<Vec<u8>> {
        let state = lock(&self.pds.state);
        let blob = state.accounts.get(did)?.blobs.get(cid)?;
        blob.permanent.then(|| blob.bytes.clone())
    }

    /// Returns CID and value of the record with this at-uri.
    #[must_use]
    pub fn record(&self, uri: &str) -> Option<(String, Value)> {
        let (did, rest) = uri.strip_prefix("at://")?.split_once('/')?;
        let (collection, rkey) = rest.split_once('/')?;
        let state = lock(&self.pds.state);
        let stored = state.accounts.get(did)?.record(collection, rkey)?;
        Some((stored.cid.clone(), stored.value.clone()))
    }

    /// Returns CID and value of every version of a record, oldest first, without deletions.
    #[must_use]
    pub fn versions(&self, uri: &str) -> Vec<(String, Value)> {
        let changes = self.pds.network.since(0).into_iter();
        let own = changes.filter(|it| it.uri() == uri);
        own.filter_map(|it| it.record).collect()
    }

    /// Returns at-uri, CID and value of the records in a collection, oldest key first.
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

    /// Sets the clock of the PDS ahead by `seconds_ahead`. Earlier tokens are then expired, or,
    /// with a negative number, issued in the future.
    pub fn set_clock(&self, seconds_ahead: i64) {
        lock(&self.pds.state).clock_ahead = seconds_ahead;
    }

    /// Ends the sessions of an account by revoking their refresh tokens, as a change of the
    /// password does.
    pub fn revoke_sessions(&self, did: &str) {
        lock(&self.pds.state).revoke_sessions(did, None);
    }

    /// Deactivates or reactivates an account.
    pub fn set_active(&self, did: &str, active: bool) {
        if let Some(account) = lock(&self.pds.state).accounts.get_mut(did) {
            account.active = active;
        }
    }

    /// Returns the secret with which the PDS signs session tokens, for [`session_token`].
    #[must_use]
    pub fn session_secret(&self) -> String {
        String::from_utf8_lossy(auth::SECRET).into_owned()
    }

    /// Returns the public signing key of an account, as DID documents contain it.
    #[must_use]
    pub fn signing_key(&self, did: &str) -> Option<String> {
        let state = lock(&self.pds.state);
        Some(state.accounts.get(did)?.key.multikey())
    }

    /// Creates a service token for audience `aud` and method `lxm` without a request. The account
    /// signs the token, which is valid for `seconds`.
    ///
    /// # Panics
    ///
    /// Panics if the account does not exist.
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

    /// Creates an account, or returns `None` if the handle is taken. Without a given DID, the
    /// account gets a `did:plc`.
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
