//! The files of pull requests whose diff is being read, for who needs their list meanwhile.
//!
//! A diff that GitHub refuses is put together from the rows of its files. A view at the same time
//! would read the same files once more, by GraphQL and one page after another. It waits for the rows
//! instead. Nothing is kept: a diff that has ended shares nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use forge_core::PrId;
use tokio::sync::watch;

use super::files::RestFile;
use crate::gql::types as wire;

/// All files of a pull request.
type Rows = Arc<Vec<wire::File>>;

/// The diffs that are being read.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRows(Arc<Mutex<HashMap<String, watch::Receiver<Option<Rows>>>>>);

/// A diff that is being read. Who waits for its rows waits no longer than it lives.
#[derive(Debug)]
pub(super) struct RowsSender {
    all: SharedRows,
    key: String,
    rows: watch::Sender<Option<Rows>>,
}

impl SharedRows {
    /// Says that the diff of `pr` is being read.
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

    /// Whether the diff of `pr` is being read.
    pub(super) fn is_announced(&self, pr: &PrId) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains_key(&pr.to_string())
    }

    /// The files of `pr`, where its diff is being read and is put together from them.
    pub(super) async fn of(&self, pr: &PrId) -> Option<Rows> {
        let mut receiver = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(&pr.to_string())?.clone()
        };
        let rows = receiver.wait_for(Option::is_some).await.ok()?;
        rows.clone()
    }
}

impl RowsSender {
    /// Shares all files.
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
