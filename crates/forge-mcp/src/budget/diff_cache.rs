//! Caches recently read diffs, so that all pages of a diff come from one read.

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

const MAX_ENTRIES: usize = 4;

/// Maximum memory of all cached diffs, in bytes. One diff of the maximum length fits, unless it has
/// very many hunks.
const MAX_CACHE_WEIGHT: usize = 20 * 1024 * 1024;

/// Memory of a text in addition to its content, in bytes.
const BYTES_PER_TEXT: usize = size_of::<String>() + 16;

/// How long a diff stays cached after its last use.
const DIFF_CACHE_TTL: Duration = Duration::from_secs(300);

/// The head and base of a diff, as the forge reports them for the pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffEnds {
    /// The head commit; empty if unknown.
    pub head: String,
    /// The base branch, with its commit if the forge reports it.
    pub base: String,
}

impl DiffEnds {
    /// Returns the current head and base of a pull request.
    pub fn of(pull: &PullRequest) -> Self {
        let oid = pull.base_oid.as_ref();
        let at = oid.map_or(String::new(), |oid| format!(" at {oid}"));
        Self {
            head: pull.head_id().unwrap_or_default().to_owned(),
            base: format!("{}{at}", pull.base_branch),
        }
    }
}

/// A file of a diff, as text. Bytes that are not valid UTF-8 are replaced.
#[derive(Debug)]
pub(crate) struct DiffFile {
    /// The file's path at the head; for a deleted file, the path at the base.
    pub path: String,
    pub class: FileClass,
    pub status: FileStatus,
    pub additions: u64,
    pub deletions: u64,
    /// True if the diff lacks the file's lines: the file is binary, or the forge omitted the lines.
    pub binary: bool,
    /// True if the forge omitted the lines of a text file because of its size.
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

/// A diff with all files that were read.
#[derive(Debug)]
pub(crate) struct FullDiff {
    pub ends: DiffEnds,
    pub files: Vec<DiffFile>,
    pub warnings: Vec<Warning>,
    /// For a diff since an earlier head commit: how the head has moved since then.
    pub since: Option<SinceHead>,
    /// True if the end of the diff was not read, so that its last files may be missing.
    pub cut: bool,
    pub bytes: usize,
}

impl FullDiff {
    /// Returns a hash of the content. It covers the old and the new version of each file, because
    /// the headers contain the blob ids of both.
    pub fn content(&self) -> u64 {
        let files = self.files.iter();
        let parts: Vec<_> = files
            .map(|f| (&f.header, f.hunks.len(), f.additions, f.deletions))
            .collect();
        fingerprint(&parts)
    }

    /// Returns the approximate size in memory, in bytes.
    fn weight(&self) -> usize {
        // The texts of a file are the path, the header and the hunks.
        let texts: usize = self.files.iter().map(|f| 2 + f.hunks.len()).sum();
        self.bytes + self.files.len() * size_of::<DiffFile>() + texts * BYTES_PER_TEXT
    }
}

struct CachedDiff {
    pr: String,
    whole: Arc<FullDiff>,
    read: Instant,
}

/// Caches diffs by pull request, head and base. The key of a diff since an earlier commit includes
/// that commit. All clients of a server use the same accounts, so sharing the cache discloses
/// nothing.
#[derive(Default)]
pub(crate) struct DiffCache(Mutex<Vec<CachedDiff>>);

impl DiffCache {
    /// Returns the cached diff of a pull request with this head and base.
    pub fn get(&self, pr: &str, ends: &DiffEnds) -> Option<Arc<FullDiff>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.read.elapsed() < DIFF_CACHE_TTL);
        let entry = entries
            .iter_mut()
            .find(|e| e.pr == pr && e.whole.ends == *ends)?;
        entry.read = Instant::now();
        Some(Arc::clone(&entry.whole))
    }

    /// Caches a diff, replacing the least recently used diffs.
    pub fn put(&self, pr: &str, whole: &Arc<FullDiff>) {
        let mut weight = whole.weight();
        if weight > MAX_CACHE_WEIGHT || whole.ends.head.is_empty() {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|e| e.pr != pr && e.read.elapsed() < DIFF_CACHE_TTL);
        entries.sort_by_key(|e| std::cmp::Reverse(e.read));
        entries.truncate(MAX_ENTRIES - 1);
        entries.retain(|e| {
            weight = weight.saturating_add(e.whole.weight());
            weight <= MAX_CACHE_WEIGHT
        });
        entries.push(CachedDiff {
            pr: pr.to_owned(),
            whole: Arc::clone(whole),
            read: Instant::now(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_of_many_hunks_is_not_cached() {
        let diff = |hunks: usize| {
            Arc::new(FullDiff {
                ends: DiffEnds {
                    head: "1a2b3c".to_owned(),
                    ..DiffEnds::default()
                },
                files: vec![DiffFile {
                    path: "a".to_owned(),
                    class: FileClass::of("a"),
                    status: FileStatus::Modified,
                    additions: 0,
                    deletions: 0,
                    binary: false,
                    left_out: false,
                    header: String::new(),
                    hunks: vec![String::new(); hunks],
                }],
                warnings: Vec::new(),
                since: None,
                cut: false,
                bytes: 1_000_000,
            })
        };
        let cache = DiffCache::default();
        for (hunks, is_cached) in [(1_000, true), (1_000_000, false)] {
            let whole = diff(hunks);
            cache.put(&hunks.to_string(), &whole);
            let cached = cache.get(&hunks.to_string(), &whole.ends);
            assert_eq!(cached.is_some(), is_cached, "{hunks}");
        }
    }
}
