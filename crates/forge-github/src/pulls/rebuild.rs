//! Rebuilds a diff from the files in REST, if the diff of a pull request is too large for GitHub to
//! send.

use std::fmt::Write;

use forge_core::{
    PrId, Result, Warning,
    diff::quote_path,
    model::{ByteStream, FileStatus},
};
use futures::{StreamExt, TryStreamExt, stream};

use super::files::RestFile;
use crate::{GitHub, paged::MAX_PAGE_SIZE};

/// The maximum count of files that GitHub lists.
const MAX_LISTED_FILES: usize = 3_000;
/// How many pages are read concurrently.
const MAX_CONCURRENT_PAGES: usize = 4;

pub(super) struct RebuiltFiles {
    pub files: Vec<RestFile>,
    pub warnings: Vec<Warning>,
}

impl GitHub {
    /// Reads all files of a pull request with their patches, and warns about missing patches.
    pub(super) async fn all_files(&self, pr: &PrId) -> Result<RebuiltFiles> {
        let first = self.rest_files(pr, MAX_PAGE_SIZE, 1).await?;
        let (mut files, mut more) = (first.files, first.more);
        // Without a page count, groups of pages are read until one group has the last page.
        let group_size = first.last.map_or(MAX_CONCURRENT_PAGES, |last| {
            last.clamp(2, MAX_LISTED_FILES / MAX_PAGE_SIZE) - 1
        });
        let mut page = 2;
        while more && files.len() < MAX_LISTED_FILES {
            let group = stream::iter(page..page + group_size)
                .map(|n| self.rest_files(pr, MAX_PAGE_SIZE, n))
                .buffered(MAX_CONCURRENT_PAGES)
                .try_collect::<Vec<_>>()
                .await?;
            page += group_size;
            more = group.iter().all(|part| part.more);
            files.extend(group.into_iter().flat_map(|part| part.files));
        }
        let mut warnings = without_lines(&files);
        if files.len() >= MAX_LISTED_FILES {
            warnings.push(Warning::new(format!(
                "GitHub lists {MAX_LISTED_FILES} files at most; there may be more"
            )));
        }
        Ok(RebuiltFiles { files, warnings })
    }
}

/// Warns about files without patches: text files, and possible binary files.
fn without_lines(files: &[RestFile]) -> Vec<Warning> {
    let lack = files.iter().filter(|f| f.patch.is_none() && !f.is_pure());
    let (text, other): (Vec<&RestFile>, Vec<&RestFile>) = lack.partition(|f| is_text(f));
    let groups = [(text, "too large"), (other, "binary or too large")];
    groups
        .into_iter()
        .filter(|(files, _)| !files.is_empty())
        .map(|(files, why)| {
            let what = match files.len() {
                1 => "1 file is shown without its changed lines".to_owned(),
                n => format!("{n} files are shown without their changed lines"),
            };
            let names: Vec<&str> = files.iter().map(|f| f.filename.as_str()).collect();
            Warning::new(format!("{what} ({why}): {}", names.join(", ")))
                .with_hint("fetch the head and use `git diff` to see them")
        })
        .collect()
}

/// Returns whether the file is known to be text, because GitHub counts only lines of text files.
fn is_text(file: &RestFile) -> bool {
    file.additions + file.deletions > 0
}

pub(super) fn stream(files: Vec<RestFile>) -> ByteStream {
    Box::pin(stream::iter(files).map(|file| Ok(text(&file).into_bytes())))
}

/// Formats a file's diff as git does, but without object ids. Where the format needs a mode, the
/// mode is that of a regular file.
fn text(file: &RestFile) -> String {
    let new = &file.filename;
    let old = file.previous_filename.as_ref().unwrap_or(new);
    let quoted = |path: &str| quote_path(path).into_owned();
    let (a, b) = (quoted(&format!("a/{old}")), quoted(&format!("b/{new}")));
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
                quoted(old),
                quoted(new)
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
        None if file.is_pure() => {}
        // diff(1) prints these lines for files that it does not compare. git refuses to apply a
        // diff with such a line.
        None if is_text(file) || file.is_unsent || file.is_reread => {
            let _ = writeln!(out, "Files {from} and {to} differ");
        }
        None => {
            let _ = writeln!(out, "Binary files {from} and {to} differ");
        }
    }
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
    fn files_without_lines_are_all_named() {
        let said = |count: usize| -> Vec<String> {
            let names = (0..count).map(|n| format!("{n}.png"));
            let files: Vec<RestFile> = names.map(|n| file("modified", &n, None, None)).collect();
            let warnings = without_lines(&files).into_iter();
            warnings.map(|w| w.message).collect()
        };
        assert_eq!(said(0), [""; 0]);
        let why = "(binary or too large)";
        assert_eq!(
            said(1),
            [format!(
                "1 file is shown without its changed lines {why}: 0.png"
            )]
        );
        let many = said(400);
        assert_eq!(many.len(), 1);
        assert!(many[0].starts_with(&format!(
            "400 files are shown without their changed lines {why}: 0.png, 1.png, 2.png, "
        )));
        assert!(many[0].ends_with(", 398.png, 399.png"));
    }

    #[test]
    fn large_text_and_possible_binary_get_different_warnings() {
        let large = RestFile {
            additions: 70_000,
            ..file("added", "large.txt", None, None)
        };
        let files = [file("modified", "a.png", None, None), large];
        let said: Vec<String> = without_lines(&files)
            .into_iter()
            .map(|w| w.message)
            .collect();
        assert_eq!(
            said,
            [
                "1 file is shown without its changed lines (too large): large.txt",
                "1 file is shown without its changed lines (binary or too large): a.png",
            ]
        );
    }

    #[test]
    fn diff_headers_match_kind_of_change() {
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
                RestFile {
                    additions: 70_000,
                    ..file("added", "t", None, None)
                },
                "diff --git a/t b/t\nnew file mode 100644\nFiles /dev/null and b/t differ\n",
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
