//! A diff put together from the files that REST lists, for pull requests that are too large for
//! GitHub to send in one piece.

use std::fmt::Write;

use forge_core::{
    PrId, Result, Warning,
    model::{ByteStream, FileStatus},
};
use futures::{StreamExt, TryStreamExt, stream};

use super::files::RestFile;
use crate::{GitHub, paged::LONGEST};

/// GitHub lists no more files than this.
const MOST: usize = 3_000;
/// Past so many lines in one answer GitHub leaves patches out.
const LINES: usize = 15_000;
/// The page for those that were left out.
const SMALL: usize = 10;
/// How many pages are read at once.
const WIDTH: usize = 4;

pub(super) struct Rebuilt {
    pub files: Vec<RestFile>,
    pub warnings: Vec<Warning>,
}

impl GitHub {
    /// Every file of a pull request, with its patch where GitHub has one. Those without are counted.
    pub(super) async fn all_files(&self, pr: &PrId) -> Result<Rebuilt> {
        let (mut files, more) = self.rest_files(pr, LONGEST, 1).await?;
        if more {
            // How many pages there are is not known beforehand: groups are read until one ends.
            let mut page = 2;
            while files.len() < MOST {
                let group = stream::iter(page..page + WIDTH)
                    .map(|n| self.rest_files(pr, LONGEST, n))
                    .buffered(WIDTH)
                    .try_collect::<Vec<_>>()
                    .await?;
                page += WIDTH;
                let ends = group.iter().any(|(_, more)| !more);
                files.extend(group.into_iter().flat_map(|(f, _)| f));
                if ends {
                    break;
                }
            }
        }
        self.refill(pr, &mut files).await?;
        let mut warnings: Vec<Warning> = without_lines(&files).into_iter().collect();
        if files.len() >= MOST {
            warnings.push(Warning::new(format!(
                "GitHub lists {MOST} files at most; there may be more"
            )));
        }
        Ok(Rebuilt { files, warnings })
    }

    /// Asks again in small pages where a page was so large that GitHub left patches out of it.
    async fn refill(&self, pr: &PrId, files: &mut [RestFile]) -> Result<()> {
        for (index, page) in files.chunks_mut(LONGEST).enumerate() {
            let lines: usize = page
                .iter()
                .filter_map(|f| f.patch.as_ref())
                .map(|p| p.lines().count())
                .sum();
            if lines < LINES {
                continue;
            }
            for (part, slice) in page.chunks_mut(SMALL).enumerate() {
                if slice.iter().all(|f| f.patch.is_some() || is_pure(f)) {
                    continue;
                }
                let number = index * (LONGEST / SMALL) + part + 1;
                let (again, _) = self.rest_files(pr, SMALL, number).await?;
                for (old, new) in slice.iter_mut().zip(again) {
                    if old.filename == new.filename && new.patch.is_some() {
                        *old = new;
                    }
                }
            }
        }
        Ok(())
    }
}

/// How many files are named in one warning.
const NAMED: usize = 3;

/// Says which files came without their patches, however many there are.
fn without_lines(files: &[RestFile]) -> Option<Warning> {
    let lack = |f: &&RestFile| f.patch.is_none() && !is_pure(f);
    let names: Vec<&str> = files
        .iter()
        .filter(lack)
        .map(|f| f.filename.as_str())
        .collect();
    let (count, named) = (names.len(), names.get(..NAMED).unwrap_or(&names).join(", "));
    let what = match count {
        0 => return None,
        1 => format!("1 file came without its lines (binary or too large): {named}"),
        n if n <= NAMED => {
            format!("{n} files came without their lines (binary or too large): {named}")
        }
        n => format!(
            "{n} files came without their lines (binary or too large): {named} and {} more",
            n - NAMED
        ),
    };
    Some(Warning::new(what).with_hint("fetch the head and use git diff to see them"))
}

/// A change without lines: a new name, or an empty file.
fn is_pure(file: &RestFile) -> bool {
    let empty = file.sha.as_deref() == Some("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    file.additions + file.deletions == 0
        && (empty || matches!(file.kind(), FileStatus::Renamed | FileStatus::Copied))
}

/// The diff of these files.
pub(super) fn stream(files: Vec<RestFile>) -> ByteStream {
    Box::pin(stream::iter(files).map(|file| Ok(text(&file).into_bytes())))
}

/// One file's part, as git writes it as far as GitHub tells: without modes and object ids.
fn text(file: &RestFile) -> String {
    let new = &file.filename;
    let old = file.previous_filename.as_ref().unwrap_or(new);
    let (a, b) = (quoted("a/", old), quoted("b/", new));
    let mut out = format!("diff --git {a} {b}\n");
    let (mut from, mut to) = (a, b);
    match file.kind() {
        FileStatus::Added => {
            out.push_str("new file mode 100644\n");
            from = "/dev/null".to_owned();
        }
        FileStatus::Deleted => {
            out.push_str("deleted file mode 100644\n");
            to = "/dev/null".to_owned();
        }
        kind @ (FileStatus::Renamed | FileStatus::Copied) => {
            let word = if kind == FileStatus::Renamed {
                "rename"
            } else {
                "copy"
            };
            let _ = write!(
                out,
                "{word} from {}\n{word} to {}\n",
                quoted("", old),
                quoted("", new)
            );
        }
        FileStatus::Modified => {}
    }
    match &file.patch {
        Some(patch) => {
            let _ = write!(out, "--- {from}\n+++ {to}\n{patch}");
            if !patch.ends_with('\n') {
                out.push('\n');
            }
        }
        None if is_pure(file) => {}
        None => {
            let _ = writeln!(out, "Binary files {from} and {to} differ");
        }
    }
    out
}

/// A path as git quotes it: in quotes with escapes when it holds control characters, quotes or
/// backslashes.
fn quoted(prefix: &str, path: &str) -> String {
    if !path
        .chars()
        .any(|c| c.is_control() || matches!(c, '"' | '\\'))
    {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                for byte in c.to_string().bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(status: &str, name: &str, old: Option<&str>, patch: Option<&str>) -> RestFile {
        RestFile {
            filename: name.into(),
            status: status.into(),
            previous_filename: old.map(str::to_owned),
            patch: patch.map(str::to_owned),
            additions: u64::from(patch.is_some()),
            ..RestFile::default()
        }
    }

    #[test]
    fn files_without_lines_are_one_warning() {
        let said = |count: usize| {
            let names = (0..count).map(|n| format!("{n}.png"));
            let files: Vec<RestFile> = names.map(|n| file("modified", &n, None, None)).collect();
            without_lines(&files).map(|w| w.message)
        };
        assert_eq!(said(0), None);
        let why = "(binary or too large)";
        for (count, wanted) in [
            (1, format!("1 file came without its lines {why}: 0.png")),
            (
                3,
                format!("3 files came without their lines {why}: 0.png, 1.png, 2.png"),
            ),
            (
                400,
                format!(
                    "400 files came without their lines {why}: 0.png, 1.png, 2.png and 397 more"
                ),
            ),
        ] {
            assert_eq!(said(count).unwrap(), wanted);
        }
    }

    #[test]
    fn each_kind_of_change_has_its_headers() {
        for (file, wanted) in [
            (
                file("modified", "a", None, Some("@@ -1 +1 @@\n-x\n+y")),
                "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            (
                file("added", "a", None, Some("@@ -0,0 +1 @@\n+y")),
                "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+y\n",
            ),
            (
                file("removed", "a", None, Some("@@ -1 +0,0 @@\n-x")),
                "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            ),
            (
                file("renamed", "b", Some("a"), None),
                "diff --git a/a b/b\nrename from a\nrename to b\n",
            ),
            (
                file("modified", "p.png", None, None),
                "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n",
            ),
            (
                file("modified", "a\"\n", None, None),
                "diff --git \"a/a\\\"\\n\" \"b/a\\\"\\n\"\nBinary files \"a/a\\\"\\n\" and \"b/a\\\"\\n\" differ\n",
            ),
        ] {
            assert_eq!(text(&file), wanted);
        }
    }
}
