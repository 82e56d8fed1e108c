//! The stream of changes between the hosts: the commits of all repositories, in order.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::Value;

use super::host::lock;

#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) did: String,
    pub(crate) collection: String,
    pub(crate) rkey: String,
    /// CID and value of the record; `None` if the record was deleted.
    pub(crate) record: Option<(String, Value)>,
    /// Blobs that the record refers to, by CID.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    /// Time at which the change was made.
    pub(crate) at: Instant,
}

impl Change {
    pub(crate) fn uri(&self) -> String {
        format!("at://{}/{}/{}", self.did, self.collection, self.rkey)
    }
}

/// All changes so far, in order. Each index reads them when it is ready.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network(Arc<Mutex<Vec<Change>>>);

impl Network {
    pub(crate) fn publish(&self, changes: impl IntoIterator<Item = Change>) {
        lock(&self.0).extend(changes);
    }

    /// Returns the changes from number `from` on.
    pub(crate) fn since(&self, from: usize) -> Vec<Change> {
        lock(&self.0).get(from..).unwrap_or_default().to_vec()
    }

    /// Returns the last change of a record.
    pub(crate) fn last(&self, uri: &str) -> Option<Change> {
        let changes = lock(&self.0);
        changes.iter().rev().find(|it| it.uri() == uri).cloned()
    }
}
