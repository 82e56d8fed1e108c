//! The diffs that were read last, so that the pages of one are the pages of one.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge::context::FileClass;
use forge_core::{
    Warning,
    diff::FileDiff,
    fingerprint,
    model::{FileStatus, PullRequest, SinceHead},
};

/// How many are kept.
const KEPT: usize = 4;

/// The longest diff that is kept, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long one is kept after it was last read.
const TTL: Duration = Duration::from_secs(300);

/// What a diff is between, as its pull request has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The id of the head; empty where nobody knows it.
    pub head: String,
    /// The base branch, and its commit where the forge says it.
    pub base: String,
}

impl Ends {
    /// Those of a pull request now.
    pub fn of(pull: &PullRequest) -> Self {
        let oid = pull.base_oid.as_ref();
        let at = oid.map_or(String::new(), |oid| format!(" at {oid}"));
        Self {
            head: pull.head_id().unwrap_or_default().to_owned(),
            base: format!("{}{at}", pull.base_branch),
        }
    }
}

/// A file of a diff, as text. Bytes that are not UTF-8 are replaced.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path at the head; at the base where it is deleted.
    pub path: String,
    /// What it is for.
    pub class: FileClass,
    pub status: FileStatus,
    pub additions: u64,
    pub deletions: u64,
    /// Its lines are not in the diff: it is binary, or the forge left them out.
    pub binary: bool,
    /// It is text, and too large for the forge to send its lines.
    pub left_out: bool,
    /// From `diff --git` to the first hunk.
    pub header: String,
    /// Each with its `@@` line.
    pub hunks: Vec<String>,
}

impl File {
    pub fn of(file: &FileDiff<'_>) -> Self {
        let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
        Self {
            path: file.header.path().to_owned(),
            class: FileClass::of(file.header.path()),
            status: file.header.status,
            additions: file.additions,
            deletions: file.deletions,
            binary: file.header.binary,
            left_out: file.header.lines_left_out,
            header: text(file.head),
            hunks: file.hunks.iter().map(|hunk| text(hunk.raw)).collect(),
        }
    }
}

/// A diff as a whole.
#[derive(Debug)]
pub(crate) struct Whole {
    pub ends: Ends,
    pub files: Vec<File>,
    pub warnings: Vec<Warning>,
    /// What became of the commits, of a diff since an earlier head alone.
    pub since: Option<SinceHead>,
    /// Its end was not read, so that other files may be in it.
    pub cut: bool,
    /// Its length in bytes.
    pub bytes: usize,
}

impl Whole {
    /// What another diff differs in: the headers name the contents of both sides.
    pub fn content(&self) -> u64 {
        let files = self.files.iter();
        let parts: Vec<_> = files
            .map(|f| (&f.header, f.hunks.len(), f.additions, f.deletions))
            .collect();
        fingerprint(&parts)
    }
}

struct Entry {
    pr: String,
    whole: Arc<Whole>,
    read: Instant,
}

/// Diffs by pull request (with from where on they are, where they are not whole) and its ends. One server has one principal, so nobody can see another's.
#[derive(Default)]
pub(crate) struct DiffCache(Mutex<Vec<Entry>>);

impl DiffCache {
    /// The diff of a pull request between these ends.
    pub fn get(&self, pr: &str, ends: &Ends) -> Option<Arc<Whole>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.read.elapsed() < TTL);
        let entry = entries
            .iter_mut()
            .find(|e| e.pr == pr && e.whole.ends == *ends)?;
        entry.read = Instant::now();
        Some(Arc::clone(&entry.whole))
    }

    /// Keeps one, in the place of the one that was not read for the longest time.
    pub fn put(&self, pr: &str, whole: &Arc<Whole>) {
        if whole.bytes > LONGEST || whole.ends.head.is_empty() {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.pr != pr && e.read.elapsed() < TTL);
        entries.sort_by_key(|e| std::cmp::Reverse(e.read));
        entries.truncate(KEPT - 1);
        entries.push(Entry {
            pr: pr.to_owned(),
            whole: Arc::clone(whole),
            read: Instant::now(),
        });
    }
}
