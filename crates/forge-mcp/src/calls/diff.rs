//! The diff of a pull request, read for a call.

use std::sync::Arc;

use forge_core::{
    Changed, Error, ErrorKind, PrId, Repo, Result, Warning, diff,
    model::{DiffReq, PrFields, PullRequest},
};
use futures::TryStreamExt;

use super::Call;
use crate::budget::diff_cache::{DiffCache, Ends, File, Whole};

/// The longest diff that is read, in bytes; what is behind it is said to be left out.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// How often a diff is read whose ends move meanwhile.
const TRIES: usize = 2;

/// The diff of a pull request as `req` wants it, which was between `ends` when it was last looked at,
/// from an earlier reading where there was one. It says what it is between, for that can have moved.
/// The client of `call` hears of every mebibyte, and the clone that its server was started in helps
/// where it can.
///
/// # Errors
/// As [`Repo::diff`]; `conflict` when an end moves each time that the diff is read.
pub(crate) async fn read(
    cache: &DiffCache,
    repo: &Repo,
    pr: &PrId,
    mut ends: Ends,
    req: &DiffReq,
    call: Option<&Call>,
) -> Result<Arc<Whole>> {
    let key = match (&req.since, req.rounds) {
        (None, None) => pr.to_string(),
        (since, rounds) => format!("{pr} since {since:?} {rounds:?}"),
    };
    let mut before = ends.clone();
    for _ in 0..TRIES {
        if let Some(known) = cache.get(&key, &ends) {
            return Ok(known);
        }
        let mut whole = read_now(repo, pr, req, call).await?;
        if whole.ends.head.is_empty() || whole.ends.head != ends.head {
            // It does not say what it is of, or something else: a push may have come in between.
            let now = Ends::of(&repo.view(pr, PrFields::ROW).await?);
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

/// An end is another one than it was.
pub(crate) fn moved(from: &Ends, to: &Ends) -> Error {
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

/// The diff as the forge sends it now; of its ends it knows the head at most.
async fn read_now(repo: &Repo, pr: &PrId, req: &DiffReq, call: Option<&Call>) -> Result<Whole> {
    let clone = match call {
        Some(call) => call.server.clone_of(repo).await,
        None => None,
    };
    let req = DiffReq {
        clone,
        ..req.clone()
    };
    let sent = repo.diff(pr, &req).await?;
    let (head, since) = (sent.head_oid, sent.since);
    let (mut warnings, mut body) = (sent.warnings, sent.body);
    let mut bytes = Vec::new();
    let mut told = 0_u32;
    let mut cut = false;
    while let Some(chunk) = body.try_next().await? {
        bytes.extend_from_slice(&chunk);
        let mebibytes = u32::try_from(bytes.len() >> 20).unwrap_or(u32::MAX);
        if mebibytes > told {
            told = mebibytes;
            if let Some(call) = call {
                call.progress(told, None, &format!("{told} MiB of the diff read"))
                    .await;
            }
        }
        if bytes.len() > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            warnings.push(
                Warning::new(format!(
                    "the diff is longer than {most} MiB; what is behind is left out"
                ))
                .with_hint("fetch the head and use git diff for the rest"),
            );
            cut = true;
            // Half a line would name another file.
            bytes.truncate(
                bytes
                    .iter()
                    .rposition(|b| *b == b'\n')
                    .map_or(0, |at| at + 1),
            );
            break;
        }
    }
    Ok(Whole {
        ends: Ends {
            head,
            ..Ends::default()
        },
        files: diff::files(&bytes).iter().map(File::of).collect(),
        warnings,
        since,
        cut,
        bytes: bytes.len(),
    })
}

/// How many files the forge says there are beyond those of the diff. Of one since an earlier head
/// nobody counts them.
pub(crate) fn withheld(pull: &PullRequest, whole: &Whole) -> Option<u64> {
    let all = pull.changed_files.filter(|_| whole.since.is_none())?;
    let read = whole.files.len() as u64;
    all.checked_sub(read).filter(|n| *n > 0)
}

/// What of the changed files is not in the diff as it was read: of a path that it lacks, nobody knows
/// whether it is changed.
pub(crate) fn missing(pull: &PullRequest, whole: &Whole) -> Option<String> {
    match (whole.cut, withheld(pull, whole)) {
        (true, Some(n)) => Some(format!("{n} more files are behind what was read")),
        (true, None) => Some("more files may be behind what was read".to_owned()),
        (false, Some(n)) => Some(format!("{n} more files are not sent by the forge")),
        (false, None) => None,
    }
}
