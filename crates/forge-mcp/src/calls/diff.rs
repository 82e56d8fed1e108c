//! Reads the diff of a pull request for a call.

use std::sync::Arc;

use forge_core::{
    Changed, Error, ErrorKind, PrId, Repo, Result, Warning,
    call::keep,
    diff::{self, MAX_PARTS},
    model::{DiffReq, PrFields, PullRequest},
};
use futures::TryStreamExt;

use super::CallContext;
use crate::budget::diff_cache::{DiffCache, DiffEnds, DiffFile, FullDiff};

/// Maximum number of bytes that are read of a diff; a warning reports that the rest is missing.
/// GitHub's limit is lower. On tangled, a round (one submitted version of a pull request) has at
/// most 15 MiB.
const MAX_DIFF_BYTES: usize = 16 * 1024 * 1024;

/// Memory of a parsed file or hunk in addition to its lines, in bytes.
const BYTES_PER_PART: usize = 512;

/// Maximum number of attempts to read a diff whose head or base moves meanwhile.
const MAX_TRIES: usize = 2;

/// Reads the diff that `req` selects, or takes a cached diff with the same head and base (`ends`).
/// Reads from the server's clone if possible, and sends progress for each mebibyte. The result has
/// `ends` of its own, because head and base may have moved in the meantime.
///
/// # Errors
///
/// Fails as [`Repo::diff`] does, and with `conflict` if head or base move during every attempt.
pub(crate) async fn read(
    cache: &DiffCache,
    repo: &Repo,
    pr: &PrId,
    mut ends: DiffEnds,
    req: &DiffReq,
    call: Option<&CallContext>,
) -> Result<Arc<FullDiff>> {
    let key = match (&req.since, req.rounds) {
        (None, None) => pr.to_string(),
        (since, rounds) => format!("{pr} since {since:?} {rounds:?}"),
    };
    let mut before = ends.clone();
    for _ in 0..MAX_TRIES {
        if let Some(known) = cache.get(&key, &ends) {
            return Ok(known);
        }
        let mut whole = read_now(repo, pr, req, call).await?;
        if whole.ends.head.is_empty() || whole.ends.head != ends.head {
            // The diff states no head commit, or another one than `ends`. A push may have moved the
            // head.
            let now = DiffEnds::of(&repo.pull(pr, PrFields::ROW).await?);
            if now != ends {
                before = std::mem::replace(&mut ends, now);
                continue;
            }
        }
        whole.ends = ends;
        let whole = Arc::new(whole);
        cache.put(&key, &whole);
        return Ok(whole);
    }
    Err(moved(&before, &ends))
}

/// Returns the error for a head or base that has moved.
pub(crate) fn moved(from: &DiffEnds, to: &DiffEnds) -> Error {
    let (what, from, to) = match from.head == to.head {
        true => ("base", &from.base, &to.base),
        false => ("head", &from.head, &to.head),
    };
    Error::new(
        ErrorKind::Conflict {
            what: Changed::View,
            expected: from.clone(),
            actual: to.clone(),
        },
        format!("the {what} has moved from {from} to {to} while the diff was read"),
    )
    .with_hint("call again when no push is in progress")
}

/// Reads the diff from the forge. In the result, `ends.base` is empty, because the forge does not
/// report the base with a diff. `ends.head` may be empty as well.
async fn read_now(
    repo: &Repo,
    pr: &PrId,
    req: &DiffReq,
    call: Option<&CallContext>,
) -> Result<FullDiff> {
    let mut req = req.clone();
    req.clone = match call {
        Some(call) => call.server.clone_of(repo).await,
        None => None,
    };
    let sent = repo.diff(pr, &req).await?;
    let (head, since) = (sent.head_oid, sent.since);
    let (mut warnings, mut body) = (sent.warnings, sent.body);
    let mut buffer = DiffBuffer::default();
    let mut told = 0_u32;
    let mut cut = false;
    while let Some(chunk) = body.try_next().await? {
        buffer.add(&chunk)?;
        let mebibytes = u32::try_from(buffer.bytes.len() >> 20).unwrap_or(u32::MAX);
        if mebibytes > told {
            told = mebibytes;
            if let Some(call) = call {
                call.progress(told, None, &format!("{told} MiB of the diff read"))
                    .await;
            }
        }
        if let Some(excess) = buffer.excess() {
            warnings.push(
                Warning::new(format!("the diff {excess}; the rest is left out"))
                    .with_hint("fetch the head and use git diff for the rest"),
            );
            cut = true;
            // An incomplete last line is dropped: a cut file name could be the name of another
            // file.
            buffer.bytes.truncate(buffer.counted);
            break;
        }
    }
    let bytes = buffer.bytes;
    Ok(FullDiff {
        ends: DiffEnds {
            head,
            ..DiffEnds::default()
        },
        files: diff::files(&bytes).iter().map(DiffFile::of).collect(),
        warnings,
        since,
        cut,
        bytes: bytes.len(),
    })
}

/// The part of a diff that has arrived.
#[derive(Default)]
struct DiffBuffer {
    bytes: Vec<u8>,
    /// The number of files and hunks.
    parts: usize,
    /// Length in bytes of the complete lines that were searched for files and hunks. The search
    /// ends after [`MAX_PARTS`] files and hunks.
    counted: usize,
}

impl DiffBuffer {
    /// Adds a chunk, and charges its memory to the call.
    fn add(&mut self, chunk: &[u8]) -> Result<()> {
        // The lines are in memory twice: as received bytes, and as parsed files.
        keep(chunk.len().saturating_mul(2))?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(chunk);
        let Some(last) = chunk.iter().rposition(|b| *b == b'\n') else {
            return Ok(());
        };
        let before = self.parts;
        let lines = self.bytes.get(self.counted..start + last + 1);
        for line in lines.unwrap_or_default().split_inclusive(|b| *b == b'\n') {
            let begins_part = line.starts_with(b"diff --") || line.starts_with(b"@@ -");
            self.parts += usize::from(begins_part);
            if self.parts > MAX_PARTS {
                break;
            }
            self.counted += line.len();
        }
        keep((self.parts - before).saturating_mul(BYTES_PER_PART))
    }

    /// Returns which limit the diff exceeds.
    fn excess(&self) -> Option<String> {
        if self.parts > MAX_PARTS {
            return Some(format!("has more than {MAX_PARTS} files and hunks"));
        }
        let is_long = self.bytes.len() > MAX_DIFF_BYTES;
        is_long.then(|| format!("is longer than {} MiB", MAX_DIFF_BYTES >> 20))
    }
}

/// Returns how many files the diff lacks, compared with the forge's count of changed files. For a
/// diff since an earlier head commit, the forge has no such count.
pub(crate) fn withheld(pull: &PullRequest, whole: &FullDiff) -> Option<u64> {
    let all = pull.changed_files.filter(|_| whole.since.is_none())?;
    let read = whole.files.len() as u64;
    all.checked_sub(read).filter(|n| *n > 0)
}

/// Returns a text about changed files that the diff lacks, if there are any. The text warns that a
/// path outside the diff may still have changed.
pub(crate) fn missing(pull: &PullRequest, whole: &FullDiff) -> Option<String> {
    match (whole.cut, withheld(pull, whole)) {
        (true, Some(n)) => Some(format!("{n} more files come after the part that was read")),
        (true, None) => Some("more files may come after the part that was read".to_owned()),
        (false, Some(n)) => Some(format!("the forge did not send {n} more files")),
        (false, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use forge_core::call;

    use super::*;

    /// Without the limit on files and hunks, five diffs of tiny hunks took 286 MB.
    #[tokio::test]
    async fn diff_of_tiny_hunks_is_charged_and_cut() {
        let hunk = b"@@ -1 +1 @@\n";
        let diff = hunk.repeat(MAX_PARTS + 2);
        let read = async {
            let mut buffer = DiffBuffer::default();
            for chunk in diff.chunks(100_000) {
                assert_eq!(buffer.excess(), None);
                buffer.add(chunk).unwrap();
            }
            assert!(buffer.excess().unwrap().contains("files and hunks"));
            assert_eq!(buffer.counted, MAX_PARTS * hunk.len());
            call::kept_weight()
        };
        let (weight, _) = call::kept(false, read).await;
        assert!(weight > MAX_PARTS * BYTES_PER_PART, "{weight}");
    }
}
