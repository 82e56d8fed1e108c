//! A diff in files and hunks.

use std::sync::Arc;

use forge_core::{
    Error, ErrorKind, PrId, Repo, Result, Warning,
    model::{DiffReq, FileStatus, PrFields, PullRequest},
};
use futures::TryStreamExt;

use super::diff_cache::{DiffCache, Ends, Whole};
use crate::server::Call;

/// The longest diff that is read, in bytes; what is behind it is said to be left out.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// How often a diff is read whose ends move meanwhile.
const TRIES: usize = 2;

/// The diff of a pull request that was between `ends` when it was last looked at, from an earlier
/// reading where there was one. It says what it is between, for that can have moved. The client of
/// `call` hears of every mebibyte, and the clone that its server was started in helps where it can.
///
/// # Errors
/// As [`Repo::diff`]; `conflict` when an end moves each time that the diff is read.
pub(crate) async fn read(
    cache: &DiffCache,
    repo: &Repo,
    pr: &PrId,
    mut ends: Ends,
    call: Option<&Call>,
) -> Result<Arc<Whole>> {
    let key = pr.to_string();
    let mut before = ends.clone();
    for _ in 0..TRIES {
        if let Some(known) = cache.get(&key, &ends) {
            return Ok(known);
        }
        let mut whole = read_now(repo, pr, call).await?;
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
            expected: from.clone(),
            actual: to.clone(),
        },
        format!("the {what} has moved from {from} to {to} while the diff was read"),
    )
    .with_hint("call again when nobody pushes")
}

/// The diff as the forge sends it now; of its ends it knows the head at most.
async fn read_now(repo: &Repo, pr: &PrId, call: Option<&Call>) -> Result<Whole> {
    let clone = match call {
        Some(call) => call.server.clone_of(repo).await,
        None => None,
    };
    let req = DiffReq {
        clone,
        ..DiffReq::default()
    };
    let diff = repo.diff(pr, &req).await?;
    let (head, mut warnings, mut body) = (diff.head_oid, diff.warnings, diff.body);
    let mut bytes = Vec::new();
    let mut told = 0_u32;
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
            break;
        }
    }
    Ok(Whole {
        ends: Ends {
            head,
            ..Ends::default()
        },
        files: parse(&bytes),
        warnings,
        bytes: bytes.len(),
    })
}

/// A file of a diff, in the form that git writes.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path at the head; at the base where it is deleted.
    pub path: String,
    pub status: FileStatus,
    pub additions: usize,
    pub deletions: usize,
    /// Its lines are not in the diff: it is binary, or the forge left them out.
    pub binary: bool,
    /// It is text, and too large for the forge to send its lines.
    pub left_out: bool,
    /// From `diff --git` to the first hunk.
    pub header: String,
    /// Each with its `@@` line.
    pub hunks: Vec<String>,
}

/// Splits a unified diff of git's. Bytes that are not UTF-8 are replaced.
pub(crate) fn parse(diff: &[u8]) -> Vec<File> {
    let text = String::from_utf8_lossy(diff);
    let mut files: Vec<File> = Vec::new();
    // Lines of a hunk that are still to come: what looks like a header among them is content.
    let mut left = (0_usize, 0_usize);
    for line in text.split_inclusive('\n') {
        let in_hunk = left.0 > 0 || left.1 > 0;
        if !in_hunk && line.starts_with("diff --git ") {
            files.push(File {
                path: String::new(),
                status: FileStatus::Modified,
                additions: 0,
                deletions: 0,
                binary: false,
                left_out: false,
                header: line.to_owned(),
                hunks: Vec::new(),
            });
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        if in_hunk {
            match line.as_bytes().first() {
                Some(b'+') => {
                    file.additions += 1;
                    left.1 = left.1.saturating_sub(1);
                }
                Some(b'-') => {
                    file.deletions += 1;
                    left.0 = left.0.saturating_sub(1);
                }
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
            push(file, line);
        } else if let Some(counts) = line.strip_prefix("@@ ").and_then(counts) {
            left = counts;
            file.hunks.push(line.to_owned());
        } else if file.hunks.is_empty() {
            header(file, line);
        } else {
            push(file, line);
        }
    }
    for file in &mut files {
        if file.path.is_empty() {
            file.path = both_sides(&file.header);
        }
    }
    files
}

fn push(file: &mut File, line: &str) {
    if let Some(hunk) = file.hunks.last_mut() {
        hunk.push_str(line);
    }
}

/// `-12,3 +14 @@ …` as how many lines each side has.
fn counts(rest: &str) -> Option<(usize, usize)> {
    let mut words = rest.split(' ');
    let side = |word: &str, sign: char| -> Option<usize> {
        let range = word.strip_prefix(sign)?;
        match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        }
    };
    Some((side(words.next()?, '-')?, side(words.next()?, '+')?))
}

fn header(file: &mut File, line: &str) {
    let content = line.trim_end_matches(['\n', '\r']);
    if content.starts_with("new file mode") {
        file.status = FileStatus::Added;
    } else if content.starts_with("deleted file mode") {
        file.status = FileStatus::Deleted;
    } else if let Some(path) = content.strip_prefix("rename to ") {
        file.status = FileStatus::Renamed;
        file.path = unquoted(path);
    } else if let Some(path) = content.strip_prefix("copy to ") {
        file.status = FileStatus::Copied;
        file.path = unquoted(path);
    } else if content.starts_with("Binary files ") || content.starts_with("GIT binary patch") {
        file.binary = true;
    } else if content.starts_with("Files ") && content.ends_with(" differ") {
        file.left_out = true;
    } else if let Some(path) = content.strip_prefix("+++ ") {
        let path = unquoted(path.trim_end_matches('\t'));
        if let Some(path) = path.strip_prefix("b/") {
            file.path = path.to_owned();
        }
    } else if let Some(path) = content.strip_prefix("--- ") {
        let path = unquoted(path.trim_end_matches('\t'));
        if file.path.is_empty()
            && let Some(path) = path.strip_prefix("a/")
        {
            file.path = path.to_owned();
        }
    }
    file.header.push_str(line);
}

/// The path of `diff --git a/P b/P`, where nothing else names it.
fn both_sides(header: &str) -> String {
    let line = header.lines().next().unwrap_or_default();
    let paths = line.strip_prefix("diff --git ").unwrap_or_default();
    if paths.starts_with('"') {
        let second = paths
            .find("\" ")
            .and_then(|at| paths.get(at + 2..))
            .unwrap_or(paths);
        let path = unquoted(second);
        return path.strip_prefix("b/").map_or(path.clone(), str::to_owned);
    }
    // Both are the same, so the second begins in the middle.
    let half = paths.len().saturating_sub(1) / 2;
    let second = paths.get(half + 1..).unwrap_or(paths);
    second.strip_prefix("b/").unwrap_or(second).to_owned()
}

/// A path as git writes it: in C's quotes where it has characters that need them.
fn unquoted(path: &str) -> String {
    let Some(inner) = path.strip_prefix('"').and_then(|p| p.strip_suffix('"')) else {
        return path.to_owned();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes().peekable();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'v') => out.push(11),
            Some(b'f') => out.push(12),
            Some(digit @ b'0'..=b'3') => {
                let mut value = digit - b'0';
                for _ in 0..2 {
                    if let Some(d) = bytes.next_if(|d| (b'0'..=b'7').contains(d)) {
                        value = value.wrapping_mul(8).wrapping_add(d - b'0');
                    }
                }
                out.push(value);
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// How many files the forge says there are beyond those that it sent.
pub(crate) fn withheld(pull: &PullRequest, sent: &[File]) -> Option<u64> {
    let all = pull.changed_files?;
    all.checked_sub(sent.len() as u64).filter(|n| *n > 0)
}

/// Files that nobody reads line by line: what made them is elsewhere.
pub(crate) fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "Cargo.lock"
            | "package-lock.json"
            | "yarn.lock"
            | "pnpm-lock.yaml"
            | "bun.lock"
            | "go.sum"
            | "poetry.lock"
            | "uv.lock"
            | "Pipfile.lock"
            | "composer.lock"
            | "Gemfile.lock"
            | "flake.lock"
    ) || name.ends_with(".min.js")
        || name.ends_with(".min.css")
        || name.ends_with(".js.map")
        || name.ends_with(".pb.go")
        || path.split('/').any(|part| part == "node_modules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hunks_and_counts() {
        let diff = b"diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,3 @@ fn\n one\n+diff --git a/x b/x\n+two\n-gone\n@@ -9 +10 @@\n-a\n+b\n\\ No newline at end of file\ndiff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to new name\ndiff --git a/pic.png b/pic.png\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/pic.png differ\ndiff --git \"a/t\\303\\251\" \"b/t\\303\\251\"\ndeleted file mode 100644\nindex 1..0\n";
        let files = parse(diff);
        let of: Vec<_> = files
            .iter()
            .map(|f| {
                (
                    f.path.as_str(),
                    f.status,
                    f.hunks.len(),
                    f.additions,
                    f.deletions,
                    f.binary,
                )
            })
            .collect();
        assert_eq!(
            of,
            [
                ("src/a.rs", FileStatus::Modified, 2, 3, 2, false),
                ("new name", FileStatus::Renamed, 0, 0, 0, false),
                ("pic.png", FileStatus::Added, 0, 0, 0, true),
                ("té", FileStatus::Deleted, 0, 0, 0, false),
            ]
        );
        let all: String = files
            .iter()
            .map(|f| format!("{}{}", f.header, f.hunks.concat()))
            .collect();
        assert_eq!(all.as_bytes(), diff);
    }

    #[test]
    fn text_that_the_forge_left_out_is_not_binary() {
        let files =
            parse(b"diff --git a/t b/t\nnew file mode 100644\nFiles /dev/null and b/t differ\n");
        assert!(files[0].left_out && !files[0].binary);
        assert_eq!(files[0].path, "t");
    }

    #[test]
    fn lock_files_are_generated() {
        assert!(is_generated("a/Cargo.lock") && is_generated("web/node_modules/x/y.js"));
        assert!(!is_generated("src/lock.rs") && !is_generated("lock"));
    }
}
