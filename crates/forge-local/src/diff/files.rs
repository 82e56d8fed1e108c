//! The changed files of a pull request.

use forge_core::{
    Error, ErrorKind, Page, PageReq, Result, Warning,
    call::{Charged, MAX_HELD, charge},
    model::{FileChange, FileStatus},
};

use super::diff_args;
use crate::{Local, paging, store::StoredPull};

/// Memory of a changed file in addition to its paths, in bytes.
const BYTES_PER_FILE: usize = 256;

/// The changed files of a pull request, sorted by path.
pub(crate) struct ChangedFiles {
    pub files: Charged<Vec<FileChange>>,
    /// The warning of the diff, as in [`DiffRange`](super::DiffRange).
    pub warning: Option<Warning>,
}

impl Local {
    pub(crate) async fn pull_files(&self, number: u64, page: &PageReq) -> Result<Page<FileChange>> {
        let pull = self.store.read(&mut self.store.cat(), number).await?;
        let changed = self.changed_files(&pull).await?;
        let mut page = paging::slice(changed.files.keep(), page, &("files", number))?;
        page.warnings.extend(changed.warning);
        Ok(page)
    }

    /// Returns the changed files. A small repository can list millions of files if nested trees
    /// contain the same tree many times.
    ///
    /// # Errors
    /// `protocol` if the call holds too much in memory; the errors of [`Local::range`].
    pub(crate) async fn changed_files(&self, pull: &StoredPull) -> Result<ChangedFiles> {
        let range = self.range(pull).await?;
        let args = diff_args(&["--raw", "--numstat", "-z"], &range);
        let printed = self.git_for_diffs().run_within(args, MAX_HELD).await?;
        let out = printed.ok_or_else(too_many_files)?;
        let mut files = parse(&out).ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                "the output of git diff-tree cannot be parsed",
            )
        })?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let charge = charge("the changed files", files.iter().map(weight_of_file).sum())?;
        Ok(ChangedFiles {
            files: Charged::new(files, charge),
            warning: range.warning,
        })
    }
}

/// Returns the memory that a changed file takes in a result, in bytes.
fn weight_of_file(file: &FileChange) -> usize {
    let previous = file.previous_path.as_ref().map_or(0, String::len);
    2 * (file.path.len() + previous) + BYTES_PER_FILE
}

fn too_many_files() -> Error {
    let most = MAX_HELD >> 20;
    let message = format!("the changed files of the pull request take more than {most} MiB");
    Error::new(ErrorKind::Protocol, message)
        .with_hint("read the diff, which is printed file by file")
}

/// Parses the output of `--raw --numstat -z`: first the raw records of all files, then their line
/// counts in the same order.
fn parse(out: &[u8]) -> Option<Vec<FileChange>> {
    let mut fields = out.split(|b| *b == 0);
    let mut files = Vec::new();
    let mut counted = 0;
    let path = |field: Option<&[u8]>| Some(String::from_utf8_lossy(field?).into_owned());
    while let Some(field) = fields.next() {
        if field.is_empty() {
            break;
        }
        if let Some(raw) = field.strip_prefix(b":") {
            let letter = raw.rsplit(|b| *b == b' ').next()?.first()?;
            let first = path(fields.next())?;
            let (status, previous_path) = match letter {
                b'A' => (FileStatus::Added, None),
                b'D' => (FileStatus::Deleted, None),
                b'R' => (FileStatus::Renamed, Some(first.clone())),
                b'C' => (FileStatus::Copied, Some(first.clone())),
                _ => (FileStatus::Modified, None),
            };
            let path = if previous_path.is_some() {
                path(fields.next())?
            } else {
                first
            };
            let mut file = FileChange::new(path, status);
            file.previous_path = previous_path;
            files.push(file);
            continue;
        }
        let mut columns = field.splitn(3, |b| *b == b'\t');
        let mut number = || std::str::from_utf8(columns.next()?).ok()?.parse().ok();
        let (additions, deletions) = (number(), number());
        if columns.next()?.is_empty() {
            // A rename has two more fields with its paths.
            fields.next()?;
            fields.next()?;
        }
        let file = files.get_mut(counted)?;
        (file.additions, file.deletions) = (additions, deletions);
        counted += 1;
    }
    (counted == files.len()).then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_and_numstat_records_are_parsed() {
        let z = "0".repeat(40);
        let text = format!(
            ":100644 100644 {z} {z} M\0a\nb\0:000000 100644 {z} {z} A\0-x\0:100644 100644 {z} {z} R090\0old\0new\0\
             3\t1\ta\nb\0-\t-\t-x\x001\t2\t\0old\0new\0"
        );
        let files = parse(text.as_bytes()).unwrap();
        assert_eq!(files.len(), 3);
        assert_eq!(
            (files[0].path.as_str(), files[0].additions),
            ("a\nb", Some(3))
        );
        assert_eq!(
            (files[1].status, files[1].additions),
            (FileStatus::Added, None)
        );
        assert_eq!(files[2].previous_path.as_deref(), Some("old"));
        assert_eq!(
            (files[2].path.as_str(), files[2].deletions),
            ("new", Some(2))
        );
        assert!(parse(b"").unwrap().is_empty());
        assert!(parse(b":100644 100644 a b M\0x\0").is_none());
    }
}
