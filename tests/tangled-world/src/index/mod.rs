//! An index that answers like tangled's own ("bobbin"), and can behave like older versions of
//! bobbin. The index comes with an index of backlinks, and with the web pages that number pull
//! requests.

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

/// How the index handles records. For an index that answers 429, or not at all, see [`Host::fault`]
/// and [`Host::set_down`].
#[derive(Debug, Clone)]
pub struct Moods {
    /// Delay between a commit and its ingestion.
    pub lag: Duration,
    /// The index ingests pull requests. In 2025 no index did.
    pub pulls: bool,
    /// The index ingests states of pull requests and issues. In May 2026 tangled's did not.
    pub statuses: bool,
    /// The index drops states and labels of accounts without push access.
    pub drops_unauthorised: bool,
    /// The index returns the CID of an older version instead of the current CID.
    pub other_cid: bool,
}

impl Default for Moods {
    fn default() -> Self {
        Self {
            lag: Duration::ZERO,
            pulls: true,
            statuses: true,
            drops_unauthorised: false,
            other_cid: false,
        }
    }
}

/// A record that the index knows.
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
    /// Number of the first change that is not yet ingested.
    cursor: usize,
    /// The records that the index returns, by at-uri.
    records: BTreeMap<String, Entry>,
    /// At-uris of the records about a subject, by the subject's at-uri.
    about: BTreeMap<String, BTreeSet<String>>,
    /// All records, for the backlinks.
    all: BTreeMap<String, Entry>,
    /// Planned losses: a collection, and the number of records to lose.
    losses: Vec<(String, usize)>,
    /// The pull requests of a repository in order of arrival, which determines their numbers.
    numbers: BTreeMap<String, Vec<String>>,
    /// The issues of a repository in order of arrival.
    issues: BTreeMap<String, Vec<String>>,
    /// The patches of the rounds of pull requests.
    patches: BTreeMap<String, Vec<String>>,
    /// Dropped records, with reasons.
    dropped: Vec<(String, String)>,
}

pub(crate) struct Index {
    state: Mutex<State>,
    network: Network,
    identities: Identities,
    repos: Repos,
}

/// An index on loopback, with backlinks and web pages. The index stops on drop.
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

    /// Also follows the firehose of a real PDS from its beginning:
    /// `ws://…/xrpc/com.atproto.sync.subscribeRepos`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be reached.
    pub(crate) fn follow(&mut self, firehose: &str) -> io::Result<()> {
        let network = self.index.network.clone();
        let identities = self.index.identities.clone();
        self._follower = Some(firehose::follower(firehose, network, identities)?);
        Ok(())
    }

    /// Returns the host of the index: its address, requests and faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the index of backlinks, which has all records whatever the behaviour of the index.
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
        // Records already due are ingested under the old moods.
        ingest::catch_up(&self.index, &mut state);
        state.moods = moods;
    }

    /// Loses the next `times` records of a collection: the index does not have a lost record until
    /// the record is written again with a change.
    pub fn lose_next(&self, collection: &str, times: usize) {
        lock(&self.index.state)
            .losses
            .push((collection.to_owned(), times));
    }

    /// Returns the dropped records: at-uri and reason.
    #[must_use]
    pub fn dropped(&self) -> Vec<(String, String)> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state.dropped.clone()
    }

    /// Returns the CID of a record in the index, if it is there.
    #[must_use]
    pub fn knows(&self, uri: &str) -> Option<String> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state.records.get(uri).map(|it| it.cid.clone())
    }

    /// Returns the number of a pull request on the web.
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

    /// Returns the records of a collection that are about another record.
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

    /// Returns the at-uri of the record that this record is about.
    fn subject(&self) -> &str {
        ["/pull", "/issue", "/subject/uri", "/subject"]
            .iter()
            .map(|it| self.text(it))
            .find(|it| !it.is_empty())
            .unwrap_or_default()
    }

    /// Returns the sort key: the time of creation, otherwise the time in the record's key.
    fn order(&self) -> (i64, String) {
        let made = ["/createdAt", "/performedAt"]
            .iter()
            .find_map(|it| chrono::DateTime::parse_from_rfc3339(self.text(it)).ok())
            .map(|it| it.timestamp_micros());
        let key = super::atproto::tid::micros(&self.rkey).and_then(|it| i64::try_from(it).ok());
        (made.or(key).unwrap_or(0), self.uri())
    }
}
