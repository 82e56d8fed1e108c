//! Follows a thread's lines through later commits, and finds the lines on which a thread can be
//! opened.

use std::path::Path;

use crate::{
    git,
    graphql::{Ctx, Fail},
    state::{Pull, Thread},
};

/// Position of a thread in the newest commit of its pull request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) line: Option<u32>,
    pub(crate) start: Option<u32>,
    /// True if the lines are no longer part of the change.
    pub(crate) outdated: bool,
}

/// Returns the position of a thread in the newest commit of its pull request.
pub(crate) fn now(ctx: &Ctx<'_>, pull: &Pull, thread: &Thread) -> Result<Now, Fail> {
    let here = Now {
        line: thread.line,
        start: thread.start_line,
        outdated: false,
    };
    if thread.commit == pull.head_oid || thread.line.is_none() || thread.side == "LEFT" {
        return Ok(here);
    }
    let dir = ctx.repo(pull.repo)?.git_dir;
    let range = format!("{}..{}", thread.commit, pull.head_oid);
    let path = format!(":(literal){}", thread.path);
    let diff = git::run(&dir, &["diff", "-U0", "--no-color", &range, "--", &path])?;
    let hunks = hunks(&String::from_utf8_lossy(&diff));
    let follow = |line: Option<u32>| match line {
        Some(line) => follow(line, &hunks).map(Some),
        None => Some(None),
    };
    Ok(match (follow(thread.line), follow(thread.start_line)) {
        (Some(line), Some(start)) => Now {
            line,
            start,
            outdated: false,
        },
        _ => Now {
            outdated: true,
            ..Now::default()
        },
    })
}

/// A changed range of lines: its first line, and the numbers of lines before and after the change.
#[derive(Debug, Clone, Copy)]
struct Hunk {
    old: u32,
    old_count: u32,
    new: u32,
    new_count: u32,
}

fn hunks(diff: &str) -> Vec<Hunk> {
    diff.lines().filter_map(hunk).collect()
}

fn hunk(line: &str) -> Option<Hunk> {
    let ranges = line.strip_prefix("@@ -")?;
    let (old, rest) = ranges.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let (old, old_count) = range(old)?;
    let (new, new_count) = range(new)?;
    Some(Hunk {
        old,
        old_count,
        new,
        new_count,
    })
}

fn range(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// Returns the line's number after the hunks, or `None` if a hunk changed the line.
fn follow(line: u32, hunks: &[Hunk]) -> Option<u32> {
    let mut moved = i64::from(line);
    for hunk in hunks {
        if hunk.old_count > 0 && line >= hunk.old && line < hunk.old + hunk.old_count {
            return None;
        }
        if hunk.old < line {
            moved += i64::from(hunk.new_count) - i64::from(hunk.old_count);
        }
    }
    u32::try_from(moved).ok()
}

/// Returns the lines of the diff that GitHub shows above a thread.
///
/// Fails as GitHub does if the file or the line is not part of the diff.
pub(crate) fn place(
    dir: &Path,
    pull: &Pull,
    path: &str,
    line: Option<u32>,
    side: &str,
) -> Result<String, Fail> {
    let diff = git::diff(dir, &pull.base_oid, &pull.head_oid, Some(path))?;
    if diff.is_empty() {
        return Err(Fail::unprocessable("Path could not be resolved"));
    }
    let diff = String::from_utf8_lossy(&diff).into_owned();
    let Some(wanted) = line else {
        return Ok(String::new());
    };
    let mut shown = String::new();
    let mut old = 0;
    let mut new = 0;
    let mut inside = false;
    for text in diff.lines() {
        if let Some(start) = hunk(text) {
            (old, new, inside) = (start.old, start.new, true);
            text.clone_into(&mut shown);
            continue;
        }
        if !inside {
            continue;
        }
        shown.push('\n');
        shown.push_str(text);
        let (on_left, on_right) = match text.as_bytes().first() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            Some(b' ') | None => (true, true),
            _ => continue,
        };
        let hit = match side {
            "LEFT" => on_left && old == wanted,
            _ => on_right && new == wanted,
        };
        if hit {
            return Ok(shown);
        }
        old += u32::from(on_left);
        new += u32::from(on_right);
    }
    Err(Fail::unprocessable("Line could not be resolved"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_line_shifts_with_changes_above() {
        let diff = "@@ -2,0 +3,2 @@\n+a\n+b\n@@ -8,3 +11 @@\n-x\n-y\n-z\n+w\n";
        let hunks = hunks(diff);
        assert_eq!(follow(1, &hunks), Some(1));
        assert_eq!(follow(2, &hunks), Some(2));
        assert_eq!(follow(3, &hunks), Some(5));
        assert_eq!(follow(8, &hunks), None);
        assert_eq!(follow(10, &hunks), None);
        assert_eq!(follow(11, &hunks), Some(11));
    }
}
