//! Three-way merges, without a work tree.

use forge_core::Result;

use crate::{Git, Version};

/// First version of git that reads attributes from the tree that `GIT_ATTR_SOURCE` names.
const ATTRIBUTE_SOURCE: Version = Version {
    major: 2,
    minor: 41,
};

/// Format of `git rev-list` with the ids of a commit, its tree, and its parents.
pub(crate) const COMMIT_IDS: &str = "--format=%H %T %P";

/// Result of merging two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The merge has no conflicts; this is its tree, hex.
    Clean(String),
    /// The files that conflict, sorted.
    Conflicts(Vec<String>),
}

impl Git {
    /// Merges the commit `theirs` into the commit `ours`. If `unrelated` is true, the two need no
    /// common ancestor. The attributes of `ours` decide how files merge. Refs and work trees do not
    /// change.
    ///
    /// # Errors
    /// `git` if a commit is missing, or if the histories have no common commit and `unrelated` is
    /// false; `timeout` if the computation takes too long, as it does for some histories with
    /// several merge bases.
    pub async fn merge_trees(&self, ours: &str, theirs: &str, unrelated: bool) -> Result<Merged> {
        self.merge_by_attributes_of(ours, [ours, theirs], unrelated)
            .await
    }

    /// Like [`Git::merge_trees`], but the attributes of the commit `source` decide.
    pub(crate) async fn merge_by_attributes_of(
        &self,
        source: &str,
        [ours, theirs]: [&str; 2],
        unrelated: bool,
    ) -> Result<Merged> {
        let mut args = vec![
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ];
        if unrelated {
            args.push("--allow-unrelated-histories");
        }
        args.extend(["--end-of-options", ours, theirs]);
        let git = self.without_drivers().await?;
        let git = git.with_attributes_of(source).await?;
        let output = git.run_computation(args).await?;
        if let Some(refusal) = self.driver_refusal(&output.stderr).await {
            return Err(refusal);
        }
        let mut fields = output.stdout.split(|b| *b == 0);
        let tree = fields
            .next()
            .map(|t| String::from_utf8_lossy(t).trim().to_owned());
        match (output.status, tree.filter(|t| !t.is_empty())) {
            (0, Some(tree)) => Ok(Merged::Clean(tree)),
            (1, Some(_)) => {
                let names = fields.take_while(|f| !f.is_empty());
                let mut files: Vec<String> = names
                    .map(|f| String::from_utf8_lossy(f).into_owned())
                    .collect();
                files.sort();
                files.dedup();
                Ok(Merged::Conflicts(files))
            }
            _ => Err(output.error("merge-tree")),
        }
    }

    /// Returns this git with the `.gitattributes` files of `source`, a commit or tree, in place of
    /// those of the work tree and its index. Otherwise the branch that happens to be checked out
    /// would decide how files merge.
    ///
    /// Git before 2.41 then reads no `.gitattributes` file.
    ///
    /// # Errors
    /// The errors of [`Git::version`] and [`Git::for_diffs`].
    pub(crate) async fn with_attributes_of(&self, source: &str) -> Result<Self> {
        match self.version().await? < ATTRIBUTE_SOURCE {
            true => self.for_diffs().await,
            false => Ok(self.clone().with_env("GIT_ATTR_SOURCE", source)),
        }
    }

    /// Returns the newest merge commit in `base..head` that adds changes of its own. The tree of
    /// such a merge differs from git's automatic merge of the two parents, so its changes are in no
    /// other commit. An octopus merge always counts as such a merge.
    ///
    /// # Errors
    /// `git` if a commit is missing.
    pub async fn find_evil_merge(&self, base: &str, head: &str) -> Result<Option<String>> {
        let range = format!("{base}..{head}");
        let args = [
            "rev-list",
            "--merges",
            "--no-commit-header",
            COMMIT_IDS,
            "--end-of-options",
            &range,
        ];
        let listed = self.run_ok(args).await?;
        self.first_evil_merge(&String::from_utf8_lossy(&listed))
            .await
    }

    /// Like [`Git::find_evil_merge`], for the commits in `listed`: output of git in the format
    /// [`COMMIT_IDS`], the newest commit first.
    pub(crate) async fn first_evil_merge(&self, listed: &str) -> Result<Option<String>> {
        for line in listed.lines() {
            let ids: Vec<&str> = line.split(' ').collect();
            let is_plain = match ids.as_slice() {
                // The commit has at most one parent.
                [_, _, _] => true,
                [_, tree, ours, theirs] => {
                    let made = self.merge_trees(ours, theirs, true).await?;
                    made == Merged::Clean((*tree).to_owned())
                }
                _ => false,
            };
            if !is_plain {
                return Ok(ids.first().map(|merge| (*merge).to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the merge bases of two commits, the one that git prefers first. Empty if the commits
    /// share no history. Several are the result of branches that were merged into each other.
    ///
    /// # Errors
    /// `git` if a commit is missing.
    pub async fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>> {
        let found = self.run(["merge-base", "--all", "--", one, other]).await?;
        if found.status == 1 && found.stderr.is_empty() {
            return Ok(Vec::new());
        }
        let printed = found.ok("merge-base")?;
        let printed = String::from_utf8_lossy(&printed);
        Ok(printed.lines().map(str::to_owned).collect())
    }

    /// Returns true if `commit` was the tip of the ref `name` before, according to the log of the
    /// ref in this repository. False if there is no such log.
    ///
    /// # Errors
    /// `git` if the program cannot be run, or if another ref could be meant.
    pub async fn was_tip(&self, name: &str, commit: &str) -> Result<bool> {
        // git prints the merge base of the commit and all former tips, if it is one of the tips.
        let found = self
            .run(["merge-base", "--fork-point", name, commit])
            .await?;
        // Next to a tag of the same name, git does not say which log it would read.
        if String::from_utf8_lossy(&found.stderr).contains("mbiguous") {
            return Err(found.error("merge-base"));
        }
        Ok(found.stdout.trim_ascii() == commit.as_bytes())
    }

    /// Returns true if `commit` is the commit `tip` or one of its ancestors.
    ///
    /// # Errors
    /// `git` if the program cannot be run.
    pub async fn contains(&self, tip: &str, commit: &str) -> Result<bool> {
        let asked = self
            .run(["merge-base", "--is-ancestor", "--", commit, tip])
            .await?;
        Ok(asked.status == 0)
    }

    /// Like [`Git::contains`], for commits that an event names. Many events may name old commits,
    /// for each of which git walks the whole history, so the time is limited for all of them.
    ///
    /// # Errors
    /// `git` if the program cannot be run; `timeout` after the limit for the computations of a call.
    pub async fn contains_within_limit(&self, tip: &str, commit: &str) -> Result<bool> {
        let args = vec!["merge-base", "--is-ancestor", "--", commit, tip];
        Ok(self.run_computation(args).await?.status == 0)
    }

    /// Writes an object of the kind `blob` or `commit`, and returns its id, hex.
    ///
    /// # Errors
    /// `git` if the data is invalid for that kind, or cannot be written.
    pub async fn put(&self, kind: &str, data: &[u8]) -> Result<String> {
        let args = ["hash-object", "-w", "-t", kind, "--stdin"];
        let oid = self.run_ok_with_stdin(args, data).await?;
        Ok(String::from_utf8_lossy(&oid).trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use forge_core::{ErrorKind, call::together};

    use super::*;

    /// Creates `main` and `topic`, whose histories cross `levels` times in `width` branches. Each
    /// level has `width` merge bases, and git merges those of each level before it merges them.
    async fn criss_cross(width: usize, levels: usize) -> (tempfile::TempDir, Git) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q", "-b", "main"]).await.unwrap();
        let commit = |mark: usize, parents: &[usize], text: &str| {
            let mut parents = parents.iter();
            let first = parents.next().map(|mark| format!("from :{mark}\n"));
            let others: String = parents.map(|mark| format!("merge :{mark}\n")).collect();
            let first = first.unwrap_or_default();
            let (size, who) = (text.len(), "committer A <a@example.com> 1 +0000");
            format!(
                "commit refs/heads/b{mark}\nmark :{mark}\n{who}\ndata 1\nx\n{first}{others}\
                 M 100644 inline f\ndata {size}\n{text}\n"
            )
        };
        let mut stream = commit(1, &[], "base\n");
        let mut tips = vec![1; width];
        let mut mark = 1;
        for level in 0..levels {
            let mut next = Vec::new();
            for branch in 0..width {
                mark += 1;
                let mut parents = tips.clone();
                parents.rotate_left(branch);
                parents.dedup();
                stream += &commit(mark, &parents, &format!("{level} {branch}\n"));
                next.push(mark);
            }
            tips = next;
        }
        stream += &format!("reset refs/heads/main\nfrom :{}\n\n", tips[0]);
        stream += &format!("reset refs/heads/topic\nfrom :{}\n\n", tips[1]);
        let import = ["fast-import", "--quiet", "--force"];
        git.run_ok_with_stdin(import, stream.as_bytes())
            .await
            .unwrap();
        (dir, git)
    }

    #[tokio::test]
    async fn endless_merge_ends_at_time_limit() {
        let (_dir, git) = criss_cross(3, 40).await;
        let limit = Duration::from_millis(200);
        let git = git.with_computation_limit(limit);
        for git in [&git, &git.for_write()] {
            let e = git.merge_trees("main", "topic", false).await.unwrap_err();
            assert_eq!(e.kind(), &ErrorKind::Timeout { after: limit }, "{e}");
            assert!(e.message().contains("git merge-tree may take 0.2 s"), "{e}");
            let hint = e.hint().unwrap().text();
            assert!(hint.contains("git merge -s resolve"), "{hint}");
        }
        // The histories that a person has are merged.
        let (_dir, git) = criss_cross(2, 40).await;
        assert!(git.merge_trees("main", "topic", false).await.is_ok());
    }

    /// A list computes a merge for each row.
    #[tokio::test]
    async fn merges_of_one_read_share_time_limit() {
        let (_dir, git) = criss_cross(3, 40).await;
        let git = git.with_computation_limit(Duration::from_millis(200));
        together(async {
            let merge = async |git: &Git| git.merge_trees("main", "topic", false).await;
            assert!(merge(&git).await.is_err());
            // The limit is used up, so a merge without work is not started either.
            let e = git.merge_trees("main", "main", false).await.unwrap_err();
            assert!(matches!(e.kind(), ErrorKind::Timeout { .. }), "{e}");
            // A merge that is asked for has its own limit.
            let asked = git.for_write().merge_trees("main", "main", false).await;
            assert!(asked.is_ok(), "{asked:?}");
        })
        .await;
    }
}
