//! Stores pull requests and issues in git; `docs/reference/local.md` describes the format.

mod attempts;
mod event;
mod format;
mod index;
mod issue;
mod issue_event;
mod log;
mod naming;
mod read;
mod refs;
mod shared;
mod snapshot;
mod transaction;
mod write;

pub(crate) use attempts::Attempts;
pub(crate) use event::{Edited, Entry, Event, Intent, OpenedThread};
pub(crate) use forge_core::search::same_login;
pub(crate) use format::{FORMAT, ISSUE_FORMAT, Unreadable};
pub(crate) use index::Index;
pub(crate) use issue::{IssueSnapshot, StoredIssue};
pub(crate) use issue_event::{IssueChanges, IssueEvent};
pub(crate) use log::{Log, Logged};
pub(crate) use read::{Pull, Read};
pub(crate) use refs::{LABELS, LABELS_FILE, branch as branch_ref, issue as issue_ref};
pub use shared::Shared;
pub(crate) use snapshot::{LabelRef, LatestReview, Snapshot};
pub(crate) use transaction::{Lost, RefChange};
pub(crate) use write::{Draft, IndexChange, Written};

use std::{path::PathBuf, sync::Arc};

use forge_git::{CatFile, Git};

/// The objects and refs of one repository.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub git: Git,
    /// The directory of loose refs and their locks, if the repository keeps refs as files.
    pub common_dir: PathBuf,
    /// The repository's name in errors.
    pub url: String,
    /// The server's cache, shared between calls.
    pub shared: Option<Arc<Shared>>,
}

impl Store {
    /// Starts a process for lookups.
    pub fn cat(&self) -> CatFile {
        self.git.cat_file()
    }
}
