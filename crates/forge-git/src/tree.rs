//! Reads and writes trees without a work tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
};

use forge_core::{Error, ErrorKind, Result};

use crate::Git;

const MAX_PATHS_PER_COMMAND: usize = 100;

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Mode: `0o100644`, `0o100755`, `0o120000`, `0o040000` or `0o160000`.
    pub mode: u32,
    /// Object id, hex.
    pub oid: String,
}

impl Git {
    /// Returns the entries of `tree` (the id of a tree or commit) at `paths`. No path may be inside
    /// another of the paths.
    ///
    /// # Errors
    /// `git` if there is no such tree.
    pub async fn tree_entries(
        &self,
        tree: &str,
        paths: &[&str],
    ) -> Result<BTreeMap<String, TreeEntry>> {
        let mut found = BTreeMap::new();
        for chunk in paths.chunks(MAX_PATHS_PER_COMMAND) {
            let args = ["ls-tree", "-z", "--full-tree", tree, "--"];
            let listed = self.run_ok(args.iter().chain(chunk)).await?;
            let entries = listed.split(|b| *b == 0).filter_map(|line| {
                let (about, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
                let mut fields = about.split(' ');
                let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
                let oid = fields.nth(1)?.to_owned();
                Some((path.to_owned(), TreeEntry { mode, oid }))
            });
            found.extend(entries);
        }
        Ok(found)
    }

    /// Writes a copy of `tree` (the id of a tree or commit) with `changes`. A change sets the entry
    /// of a path, or with `None` deletes the path. The index of the repository's work tree is not
    /// used.
    ///
    /// A file replaces a directory of the same name, and a directory replaces a file.
    /// [`Git::paths_between`] tells the caller which paths were lost.
    ///
    /// # Errors
    /// `git` if git refuses a path.
    pub async fn make_tree(
        &self,
        tree: &str,
        changes: &BTreeMap<&str, Option<TreeEntry>>,
    ) -> Result<String> {
        let dir = scratch()?;
        let git = self
            .without_hooks()
            .await?
            .with_env("GIT_INDEX_FILE", dir.path().join("index"));
        git.run_ok(with_plain_index(&["read-tree", tree])).await?;
        let nothing = "0".repeat(tree.len());
        let (mut gone, mut there) = (String::new(), String::new());
        for (path, entry) in changes {
            match entry {
                Some(entry) => {
                    there.push_str(&format!("{:o} {}\t{path}\0", entry.mode, entry.oid));
                }
                None => gone.push_str(&format!("0 {nothing}\t{path}\0")),
            }
        }
        let input = gone + &there;
        let update = with_plain_index(&["update-index", "-z", "--index-info"]);
        let output = git.run_with_stdin(update, input.as_bytes()).await?;
        // Git skips a path that it refuses, prints `Ignoring path`, and ends with status 0.
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status != 0 || said.contains("Ignoring path") {
            return Err(output.error("update-index"));
        }
        let written = git.run_ok(with_plain_index(&["write-tree"])).await?;
        Ok(String::from_utf8_lossy(&written).trim().to_owned())
    }

    /// Returns the paths in which two trees differ. A renamed file has two paths.
    ///
    /// # Errors
    /// `git` if a tree is missing.
    pub async fn paths_between(&self, old: &str, new: &str) -> Result<BTreeSet<String>> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-only",
            old,
            new,
        ];
        let listed = self.run_ok(args.map(OsStr::new)).await?;
        Ok(listed
            .split(|b| *b == 0)
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect())
    }
}

/// Creates a temporary directory for an index.
pub(crate) fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|e| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot create a temporary directory for an index of git: {e}"),
        )
        .with_source(e)
        .with_hint("make the directory of TMPDIR writable")
    })
}

/// Adds settings that keep git from writing extra files next to an index.
pub(crate) fn with_plain_index<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let plain = ["-c", "core.fsmonitor=false", "-c", "core.splitIndex=false"];
    plain.iter().chain(args).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn repository(options: &[&str]) -> (tempfile::TempDir, Git, String) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path()).opening_bare();
        let init = ["init", "-q", "--bare"];
        git.run_ok(init.iter().chain(options)).await.unwrap();
        let tree = git.run_ok_with_stdin(["mktree"], b"").await.unwrap();
        (dir, git, String::from_utf8(tree).unwrap().trim().to_owned())
    }

    async fn blob(git: &Git, text: &str) -> Option<TreeEntry> {
        let args = ["hash-object", "-w", "--stdin"];
        let oid = git.run_ok_with_stdin(args, text.as_bytes()).await.unwrap();
        Some(TreeEntry {
            mode: 0o100_644,
            oid: String::from_utf8(oid).unwrap().trim().to_owned(),
        })
    }

    #[tokio::test]
    async fn tree_is_built_in_each_object_format() {
        for options in [&[][..], &["--object-format=sha256"]] {
            let (_dir, git, empty) = repository(options).await;
            let one = blob(&git, "1\n").await;
            let two = blob(&git, "2\n").await;
            let changes = [("a/b", one.clone()), ("ä \"c", two.clone())];
            let first = git.make_tree(&empty, &changes.into()).await.unwrap();
            let found = git
                .tree_entries(&first, &["a/b", "ä \"c", "d"])
                .await
                .unwrap();
            assert_eq!(found.get("a/b"), one.as_ref());
            assert_eq!(found.get("ä \"c"), two.as_ref());
            assert_eq!(found.len(), 2);

            // The file `a` replaces the directory `a`, and `paths_between` shows the lost `a/b`.
            let changes = [("a", two.clone()), ("ä \"c", None)];
            let second = git.make_tree(&first, &changes.into()).await.unwrap();
            let between = git.paths_between(&first, &second).await.unwrap();
            assert_eq!(between, ["a", "a/b", "ä \"c"].map(str::to_owned).into());
            assert!(
                git.make_tree(&empty, &[(".git/x", two)].into())
                    .await
                    .is_err()
            );
        }
    }
}
