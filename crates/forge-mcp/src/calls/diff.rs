//! Reads the diff of a pull request for a call.

use std::sync::Arc;

use forge_core::{
    Changed, Error, ErrorKind, PrId, Repo, Result, Warning,
    call::keep,
    diff,
    model::{DiffReq, PrFields, PullRequest},
};
use futures::TryStreamExt;

use super::CallContext;
use crate::budget::diff_cache::{DiffCache, DiffEnds, DiffFile, FullDiff};

/// Maximum number of bytes that are read of a diff; a warning reports the omission. GitHub's limit
/// is lower, and a round of tangled has at most 15 MiB.
const MAX_DIFF_BYTES: usize = 16 * 1024 * 1024;

/// How often a diff is read if head or base move during the read.
const MAX_TRIES: usize = 2;

/// Reads the diff that `req` selects, or takes a cached diff with the same `ends`. Reads from the
/// server's clone if possible, and sends progress for each mebibyte. The result has its own ends,
/// because head and base may have moved.
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
            // The diff names no head, or another one, so a push may have moved the head.
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
    .with_hint("call again when nobody pushes")
}

/// Reads the diff from the forge. The forge reports at most the head of the diff.
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
    let mut bytes = Vec::new();
    let mut told = 0_u32;
    let mut cut = false;
    while let Some(chunk) = body.try_next().await? {
        // The lines are in memory twice: as they arrive, and as files.
        keep(chunk.len().saturating_mul(2))?;
        bytes.extend_from_slice(&chunk);
        let mebibytes = u32::try_from(bytes.len() >> 20).unwrap_or(u32::MAX);
        if mebibytes > told {
            told = mebibytes;
            if let Some(call) = call {
                call.progress(told, None, &format!("{told} MiB of the diff read"))
                    .await;
            }
        }
        if bytes.len() > MAX_DIFF_BYTES {
            let most = MAX_DIFF_BYTES >> 20;
            warnings.push(
                Warning::new(format!(
                    "the diff is longer than {most} MiB; what is behind is left out"
                ))
                .with_hint("fetch the head and use git diff for the rest"),
            );
            cut = true;
            // An incomplete last line is dropped: a cut file name could be the name of another
            // file.
            bytes.truncate(
                bytes
                    .iter()
                    .rposition(|b| *b == b'\n')
                    .map_or(0, |at| at + 1),
            );
            break;
        }
    }
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

/// Returns how many files the diff lacks, by the forge's count. The forge gives no count for a diff
/// since an earlier head.
pub(crate) fn withheld(pull: &PullRequest, whole: &FullDiff) -> Option<u64> {
    let all = pull.changed_files.filter(|_| whole.since.is_none())?;
    let read = whole.files.len() as u64;
    all.checked_sub(read).filter(|n| *n > 0)
}

/// Returns a text about changed files that the diff lacks: a path that is not in the diff may still
/// have changed.
pub(crate) fn missing(pull: &PullRequest, whole: &FullDiff) -> Option<String> {
    match (whole.cut, withheld(pull, whole)) {
        (true, Some(n)) => Some(format!("{n} more files are behind what was read")),
        (true, None) => Some("more files may be behind what was read".to_owned()),
        (false, Some(n)) => Some(format!("{n} more files are not sent by the forge")),
        (false, None) => None,
    }
}
