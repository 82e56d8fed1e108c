//! Shares the files of a diff in progress with concurrent readers of the same pull request.
//!
//! If GitHub refuses a diff, the diff is rebuilt from the pull request's files. A concurrent view
//! would read the same files again through GraphQL, page after page. The view waits for the files
//! of the diff instead. Files are shared only while the diff is in progress, and never cached.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use forge_core::PrId;
use tokio::sync::watch;

use super::files::RestFile;
use crate::gql::types as wire;

type SharedFiles = Arc<Vec<wire::File>>;

/// The diffs in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRows(Arc<Mutex<HashMap<String, watch::Receiver<Option<SharedFiles>>>>>);

/// A diff in progress. Dropping this value ends the wait of all readers.
#[derive(Debug)]
pub(super) struct RowsSender {
    all: SharedRows,
    key: String,
    rows: watch::Sender<Option<SharedFiles>>,
}

impl SharedRows {
    /// Registers a diff of `pr` as in progress.
    pub(super) fn announce(&self, pr: &PrId) -> RowsSender {
        let (rows, receiver) = watch::channel(None);
        let key = pr.to_string();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key.clone(), receiver);
        RowsSender {
            all: self.clone(),
            key,
            rows,
        }
    }

    /// Returns whether a diff of `pr` is in progress.
    pub(super) fn is_announced(&self, pr: &PrId) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains_key(&pr.to_string())
    }

    /// Waits until a diff of `pr` in progress shares its files. Returns `None` if no diff does.
    pub(super) async fn of(&self, pr: &PrId) -> Option<SharedFiles> {
        let mut receiver = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(&pr.to_string())?.clone()
        };
        let rows = receiver.wait_for(Option::is_some).await.ok()?;
        rows.clone()
    }
}

impl RowsSender {
    /// Sends all files to the waiting readers.
    pub fn share(&self, files: &[RestFile]) {
        let files = files.iter().map(RestFile::node).collect();
        self.rows.send_replace(Some(Arc::new(files)));
    }
}

impl Drop for RowsSender {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = |known: &watch::Receiver<_>| known.same_channel(&self.rows.subscribe());
        if all.get(&self.key).is_some_and(is_own) {
            all.remove(&self.key);
        }
    }
}
