//! An index: what tangled's own ("bobbin") answers about the records of everybody, with the moods
//! that it has had. Beside it an index of backlinks, which knows records by what they refer to, and
//! the web pages that pull requests have their numbers on.

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

/// How an index treats what it hears of. For an index that answers 429, or nothing, see
/// [`Host::fault`] and [`Host::set_down`].
#[derive(Debug, Clone)]
pub struct Moods {
    /// How long after a commit the index knows of it.
    pub lag: Duration,
    /// The index ingests pull requests. In 2025 no index did.
    pub pulls: bool,
    /// The index ingests states of pull requests and issues. In May 2026 tangled's did not.
    pub statuses: bool,
    /// The index drops states and labels by accounts that may not push.
    pub drops_unauthorised: bool,
    /// The index names an older version's CID than the current.
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
    /// Number of the first change yet to be ingested.
    cursor: usize,
    /// The records that it answers with, by at-uri.
    records: BTreeMap<String, Entry>,
    /// At-uris of records about another record, by the latter's at-uri.
    about: BTreeMap<String, BTreeSet<String>>,
    /// Every record there is, for the backlinks.
    all: BTreeMap<String, Entry>,
    /// Planned losses: a collection, and how many times.
    losses: Vec<(String, usize)>,
    /// The pull requests of a repository in the order they arrived, which gives their numbers.
    numbers: BTreeMap<String, Vec<String>>,
    /// The same of issues.
    issues: BTreeMap<String, Vec<String>>,
    /// The patches of the rounds of pull requests.
    patches: BTreeMap<String, Vec<String>>,
    /// Dropped records, and the reasons.
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

    /// Follows the firehose of a real PDS besides, from its beginning: `ws://…/xrpc/com.atproto.sync.subscribeRepos`.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub(crate) fn follow(&mut self, firehose: &str) -> io::Result<()> {
        let network = self.index.network.clone();
        let identities = self.index.identities.clone();
        self._follower = Some(firehose::follower(firehose, network, identities)?);
        Ok(())
    }

    /// The index: its address, requests and faults.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The index of backlinks. Backlinks know all records, whatever the moods.
    #[must_use]
    pub fn backlinks(&self) -> &Host {
        &self.backlinks
    }

    /// The web pages.
    #[must_use]
    pub fn web(&self) -> &Host {
        &self.web
    }

    /// How it treats what it hears of from now on.
    pub fn set_moods(&self, moods: Moods) {
        let mut state = lock(&self.index.state);
        // Records already due are ingested under the old moods.
        ingest::catch_up(&self.index, &mut state);
        state.moods = moods;
    }

    /// Loses the next `times` records of a collection: the index does not know a lost record until
    /// it is written again, with a change.
    pub fn lose_next(&self, collection: &str, times: usize) {
        lock(&self.index.state)
            .losses
            .push((collection.to_owned(), times));
    }

    /// Dropped records: at-uri and reason.
    #[must_use]
    pub fn dropped(&self) -> Vec<(String, String)> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state.dropped.clone()
    }

    /// CID at which the index knows a record, if any.
    #[must_use]
    pub fn knows(&self, uri: &str) -> Option<String> {
        let mut state = lock(&self.index.state);
        ingest::catch_up(&self.index, &mut state);
        state.records.get(uri).map(|it| it.cid.clone())
    }

    /// The number that the web gives a pull request.
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

    /// Records of a collection that are about another record.
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

    /// The at-uri of the record that it is about.
    fn subject(&self) -> &str {
        ["/pull", "/issue", "/subject/uri", "/subject"]
            .iter()
            .map(|it| self.text(it))
            .find(|it| !it.is_empty())
            .unwrap_or_default()
    }

    /// Sort key: the time of creation, else the time in the record's key.
    fn order(&self) -> (i64, String) {
        let made = ["/createdAt", "/performedAt"]
            .iter()
            .find_map(|it| chrono::DateTime::parse_from_rfc3339(self.text(it)).ok())
            .map(|it| it.timestamp_micros());
        let key = super::atproto::tid::micros(&self.rkey).and_then(|it| i64::try_from(it).ok());
        (made.or(key).unwrap_or(0), self.uri())
    }
}
