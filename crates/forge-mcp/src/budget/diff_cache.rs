//! Cache of recently read diffs, so that all pages of a diff come from one reading.

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

/// Maximum number of cached diffs.
const MAX_ENTRIES: usize = 4;

/// Maximum size of all cached diffs, in bytes.
const MAX_DIFF_BYTES: usize = 16 * 1024 * 1024;

/// How long a diff stays cached after its last use.
const TTL: Duration = Duration::from_secs(300);

/// Head and base of a diff, as its pull request has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffEnds {
    /// The head commit; empty if unknown.
    pub head: String,
    /// The base branch, with its commit if the forge reports it.
    pub base: String,
}

impl DiffEnds {
    /// The current head and base of a pull request.
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
pub(crate) struct DiffFile {
    /// The path at the head; at the base for a deleted file.
    pub path: String,
    /// The class of the file.
    pub class: FileClass,
    pub status: FileStatus,
    pub additions: u64,
    pub deletions: u64,
    /// The diff lacks the lines: the file is binary, or the forge left them out.
    pub binary: bool,
    /// A text file too large for the forge to send its lines.
    pub left_out: bool,
    /// The lines from `diff --git` to the first hunk.
    pub header: String,
    /// The hunks, each with its `@@` line.
    pub hunks: Vec<String>,
}

impl DiffFile {
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

/// A complete diff.
#[derive(Debug)]
pub(crate) struct FullDiff {
    pub ends: DiffEnds,
    pub files: Vec<DiffFile>,
    pub warnings: Vec<Warning>,
    /// The fate of the earlier head, for a diff since one.
    pub since: Option<SinceHead>,
    /// The end was not read, so more files may exist.
    pub cut: bool,
    /// The length in bytes.
    pub bytes: usize,
}

impl FullDiff {
    /// A hash of the content; file headers name the blobs of both sides.
    pub fn content(&self) -> u64 {
        let files = self.files.iter();
        let parts: Vec<_> = files
            .map(|f| (&f.header, f.hunks.len(), f.additions, f.deletions))
            .collect();
        fingerprint(&parts)
    }
}

struct CachedDiff {
    pr: String,
    whole: Arc<FullDiff>,
    read: Instant,
}

/// Diffs by pull request (and starting point, for a partial diff) and ends. One principal uses the
/// server, so sharing discloses nothing.
#[derive(Default)]
pub(crate) struct DiffCache(Mutex<Vec<CachedDiff>>);

impl DiffCache {
    /// The cached diff of a pull request between these ends.
    pub fn get(&self, pr: &str, ends: &DiffEnds) -> Option<Arc<FullDiff>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.read.elapsed() < TTL);
        let entry = entries
            .iter_mut()
            .find(|e| e.pr == pr && e.whole.ends == *ends)?;
        entry.read = Instant::now();
        Some(Arc::clone(&entry.whole))
    }

    /// Caches a diff, replacing those least recently used.
    pub fn put(&self, pr: &str, whole: &Arc<FullDiff>) {
        if whole.bytes > MAX_DIFF_BYTES || whole.ends.head.is_empty() {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.pr != pr && e.read.elapsed() < TTL);
        entries.sort_by_key(|e| std::cmp::Reverse(e.read));
        entries.truncate(MAX_ENTRIES - 1);
        let mut bytes = whole.bytes;
        entries.retain(|e| {
            bytes = bytes.saturating_add(e.whole.bytes);
            bytes <= MAX_DIFF_BYTES
        });
        entries.push(CachedDiff {
            pr: pr.to_owned(),
            whole: Arc::clone(whole),
            read: Instant::now(),
        });
    }
}
