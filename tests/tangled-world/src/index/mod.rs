//! An index that answers as tangled's own ("bobbin") does, or as older versions of it. It runs
//! together with an index of backlinks, and with the web pages that number pull requests.

mod backlinks;
mod firehose;
mod ingest;
mod query;
mod web;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;

use super::{
    host::{Host, lock},
    identities::Identities,
    knot::Repos,
    network::{Change, Network},
    worker::Worker,
};

/// How the index handles records. For an index that answers 429 or does not answer, use
/// [`Host::fault`] and [`Host::set_down`].
#[derive(Debug, Clone)]
pub struct Moods {
    /// Delay between the commit of a record and its ingestion.
    pub lag: Duration,
    /// True if the index ingests pull requests. In 2025 no index did.
    pub pulls: bool,
    /// True if the index ingests states of pull requests and issues. In May 2026 tangled's index
    /// did not.
    pub statuses: bool,
    /// True if the index drops states and labels that accounts without push access have set.
    pub drops_unauthorised: bool,
    /// True if only the author of a pull request or an issue, or the DID of the repository, sets
    /// its state in lists. Tangled's index did so in mid-2026 (`accept_state_source` in bobbin).
    pub counts_authors_only: bool,
    /// True if the index returns an older version's CID instead of the current one.
    pub other_cid: bool,
    /// True if the index lists pull requests in the forms of 2025, as bobbin did in October 2026.
    pub takes_legacy: bool,
    /// DIDs of accounts whose records the index cannot read, because their PDS is down. Lists lack
    /// their rows, but have the same pages and cursors.
    pub unreadable: BTreeSet<String>,
}

impl Default for Moods {
    fn default() -> Self {
        Self {
            lag: Duration::ZERO,
            pulls: true,
            statuses: true,
            drops_unauthorised: false,
            counts_authors_only: false,
            other_cid: false,
            takes_legacy: false,
            unreadable: BTreeSet::new(),
        }
    }
}

/// A record that the index has ingested.
#[derive(Debug, Clone)]
struct Entry {
    did: String,
    collection: String,
    rkey: String,
    cid: String,
    value: Value,
}

#[derive(Default)]
struct State {
    moods: Moods,
    /// Number of the first change that is not ingested yet.
    cursor: usize,
    /// Records that the index returns, by at-uri.
    records: BTreeMap<String, Entry>,
    /// At-uris of the records about a subject, by the at-uri of the subject.
    about: BTreeMap<String, BTreeSet<String>>,
    /// All records, including dropped ones, for the index of backlinks.
    all: BTreeMap<String, Entry>,
    /// Planned losses: the collection, and the number of records that are still to be lost.
    losses: Vec<(String, usize)>,
    /// At-uris of a repository's pull requests in order of arrival, which determines their numbers.
    numbers: BTreeMap<String, Vec<String>>,
    /// At-uris of a repository's issues in order of arrival.
    issues: BTreeMap<String, Vec<String>>,
    /// Patches of a pull request's rounds, by at-uri.
    patches: BTreeMap<String, Vec<String>>,
    /// Dropped records, each with the reason.
    dropped: Vec<(String, String)>,
}

pub(crate) struct Index {
    state: Mutex<State>,
    network: Network,
    identities: Identities,
    repos: Repos,
}

/// An index on loopback, with backlinks and web pages. It stops when it is dropped.
pub struct IndexDouble {
    host: Host,
    backlinks: Host,
    web: Host,
    index: Arc<Index>,
    _follower: Option<Worker>,
}

impl IndexDouble {
    pub(crate) fn start(
        network: Network,
        identities: Identities,
        repos: Repos,
    ) -> io::Result<Self> {
        let index = Arc::new(Index {
            state: Mutex::default(),
            network,
            identities,
            repos,
        });
        let host = Host::claim()?.serve("index-double", query::Answers(Arc::clone(&index)))?;
        let backlinks =
            Host::claim()?.serve("backlinks-double", backlinks::Answers(Arc::clone(&index)))?;
        let web = Host::claim()?.serve("web-double", web::Answers(Arc::clone(&index)))?;
        Ok(Self {
            host,
            backlinks,
            web,
            index,
            _follower: None,
        })
    }

    /// Makes the index follow the firehose of a real PDS from its beginning:
    /// `ws://…/xrpc/com.atproto.sync.subscribeRepos`.
    ///
    /// # Errors
    ///
    /// Fails if the firehose cannot be reached.
    pub(crate) fn follow(&mut self, firehose: &str) -> io::Result<()> {
        let network = self.index.network.clone();
        let identities = self.index.identities.clone();
        self._follower = Some(firehose::follower(firehose, network, identities)?);
        Ok(())
    }

    /// Returns the host of the index, with its address, its requests and its faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the host of the index of backlinks. It has all records, however the index behaves.
    #[must_use]
    pub fn backlinks(&self) -> &Host {
        &self.backlinks
    }

    /// Returns the host of the web pages.
    #[must_use]
    pub fn web(&self) -> &Host {
        &self.web
    }

    /// Sets how the index handles records from now on.
    pub fn set_moods(&self, moods: Moods) {
        let mut state = lock(&self.index.state);
        // Records that are already due are ingested under the old moods.
        ingest::catch_up(&self.index, &mut state);
        state.moods = moods;
    }

    /// Makes the index lose the next `times` records of a collection. It ingests a lost record only
    /// after a write that changes the record.
    pub fn lose_next(&self, collection: &str, times: usize) {
        lock(&self.index.state)
            .losses
            .push((collection.to_owned(), times));
    }

    /// Returns at-uri and reason of each dropped record.
    #[must_use]
    pub fn dropped(&self) -> Vec<(String, String)> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state.dropped.clone()
    }

    /// Returns the CID of an ingested record, or `None` if the index has not ingested the record.
    #[must_use]
    pub fn knows(&self, uri: &str) -> Option<String> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state.records.get(uri).map(|it| it.cid.clone())
    }

    /// Returns the number that the web pages give a pull request.
    #[must_use]
    pub fn number(&self, uri: &str) -> Option<usize> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state
            .numbers
            .values()
            .find_map(|all| all.iter().position(|it| it == uri))
            .map(|at| at + 1)
    }
}

impl State {
    fn insert(&mut self, entry: Entry) {
        let uri = entry.uri();
        self.remove(&uri);
        let about = self.about.entry(entry.subject().to_owned()).or_default();
        about.insert(uri.clone());
        self.records.insert(uri, entry);
    }

    fn remove(&mut self, uri: &str) {
        if let Some(entry) = self.records.remove(uri)
            && let Some(about) = self.about.get_mut(entry.subject())
        {
            about.remove(uri);
        }
    }

    /// Returns the records of a collection that refer to `uri` as their subject.
    fn about<'a>(&'a self, uri: &str, collection: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.about
            .get(uri)
            .into_iter()
            .flatten()
            .filter_map(|it| self.records.get(it))
            .filter(move |it| it.collection == collection)
    }
}

impl Entry {
    fn of(change: &Change) -> Option<Self> {
        let (cid, value) = change.record.clone()?;
        Some(Self {
            did: change.did.clone(),
            collection: change.collection.clone(),
            rkey: change.rkey.clone(),
            cid,
            value,
        })
    }

    fn uri(&self) -> String {
        format!("at://{}/{}/{}", self.did, self.collection, self.rkey)
    }

    fn text(&self, pointer: &str) -> &str {
        self.value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Returns the at-uri of the record's subject.
    fn subject(&self) -> &str {
        ["/pull", "/issue", "/subject/uri", "/subject"]
            .iter()
            .map(|it| self.text(it))
            .find(|it| !it.is_empty())
            .unwrap_or_default()
    }

    /// Returns the record's sort key: its time of creation, or the time in its record key if it
    /// names none.
    fn order(&self) -> (i64, String) {
        let made = ["/createdAt", "/performedAt"]
            .iter()
            .find_map(|it| chrono::DateTime::parse_from_rfc3339(self.text(it)).ok())
            .map(|it| it.timestamp_micros());
        let key = super::atproto::tid::micros(&self.rkey).and_then(|it| i64::try_from(it).ok());
        (made.or(key).unwrap_or(0), self.uri())
    }
}
