//! Stores pull requests and issues in git.
//!
//! Each pull request and each issue has a ref that points to a chain of commits. Each commit after
//! the root is one event, such as a comment, and its tree contains the state after this event. The
//! index is a blob that lists the open pull requests. `docs/reference/local.md` describes the
//! format.

mod event;
mod event_mentions;
mod format;
mod index;
mod issue;
mod issue_event;
mod log;
mod read;
mod refs;
mod shared;
mod snapshot;
mod transaction;
mod write;
mod write_retry;

pub(crate) use event::{Edited, LogEntry, MergeIntent, OpenedThread, PullEvent};
pub(crate) use forge_core::pull_filter::same_login;
pub(crate) use format::{FORMAT, ISSUE_FORMAT, LABELS_FORMAT, PULL_FORMAT, Unreadable, check_room};
pub(crate) use index::{Index, NumberRanges};
pub(crate) use issue::{IssueSnapshot, STORED_ISSUES, StoredIssue};
pub(crate) use issue_event::{IssueChanges, IssueEvent};
pub(crate) use log::{Log, LoggedEvent, events_of_pull};
pub(crate) use read::{LoadedIndex, MAX_IN_MEMORY, PullRead, STORED_PULLS, StoredPull};
pub(crate) use refs::{LABELS, LABELS_FILE, branch as branch_ref, issue as issue_ref};
pub use shared::StoreCache;
pub(crate) use snapshot::{LabelRef, LatestReview, NamedIssue, Snapshot};
pub(crate) use transaction::{RefChange, RefConflict};
pub(crate) use write::{AppendOutcome, IndexChange, NewEvent};
pub(crate) use write_retry::{WriteRetry, random};

use std::{path::PathBuf, sync::Arc};

use forge_git::{CatFile, Git};

/// Reads and writes the objects and refs of one repository.
#[derive(Clone, Debug)]
pub(crate) struct EventStore {
    pub git: Git,
    /// The directory of loose refs and their lock files, if the repository stores refs as files.
    pub common_dir: PathBuf,
    /// The name of the repository in error messages.
    pub url: String,
    /// The cache that all calls of a server share.
    pub shared: Option<Arc<StoreCache>>,
}

impl EventStore {
    /// Returns a `git cat-file` process that looks up objects.
    pub fn cat(&self) -> CatFile {
        self.git
            .cat_file()
            .with_common_dir(self.common_dir.as_path())
    }
}
