//! Rebases commits without a work tree.

use forge_core::{Error, Noun, Result};

use crate::{CatFile, Git, Merged, RawCommit, Signing, merge::COMMIT_IDS};

/// A request to rebase commits.
#[derive(Clone, Copy, Debug)]
pub struct Rebase<'a> {
    /// The new base, hex.
    pub base: &'a str,
    /// The last commit to rebase, hex.
    pub head: &'a str,
    /// Committer of the new commits: `Name <email> seconds offset`.
    pub committer: &'a [u8],
    /// Settings for signing the new commits.
    pub signing: &'a Signing,
    /// True to refuse merge commits that [`Git::find_evil_merge`] finds. A rebase loses their
    /// changes.
    pub refuses_evil_merges: bool,
}

/// Result of a rebase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// Id of the last new commit, hex.
    Onto(String),
    /// The base already contains every change.
    Nothing,
    /// This merge commit, hex, adds changes of its own, and [`Rebase::refuses_evil_merges`] is set.
    /// Nothing was written.
    EvilMerge(String),
    /// A commit has conflicts. No ref was written.
    Conflicts {
        /// The conflicting files, sorted.
        files: Vec<String>,
        /// The commit with conflicts, hex.
        commit: String,
    },
}

impl Git {
    /// Recreates each commit of `base..head` on top of `base`. Leaves out merges, and commits whose
    /// change the base already contains. Recreated commits lose their signatures; the committer
    /// signs them if the configuration requires it. The attributes of `base` decide how files merge.
    /// Writes objects, but no refs.
    ///
    /// # Errors
    /// `git` if a commit is missing; `not_found` for a damaged commit; errors of
    /// [`Git::put_landing_commit`].
    pub async fn rebase(&self, cat: &mut CatFile, what: Rebase<'_>) -> Result<Rebased> {
        let not_base = format!("^{}", what.base);
        let args = [
            "rev-list",
            "--topo-order",
            "--no-commit-header",
            COMMIT_IDS,
            "--end-of-options",
            what.head,
            &not_base,
        ];
        let listed = self.run_ok(args).await?;
        let listed = String::from_utf8_lossy(&listed);
        if what.refuses_evil_merges
            && let Some(merge) = self.first_evil_merge(&listed).await?
        {
            return Ok(Rebased::EvilMerge(merge));
        }
        let mut tip = what.base.to_owned();
        let mut tip_tree = tree_of(cat, what.base).await?;
        for line in listed.lines().rev() {
            let oid = line.split_once(' ').map_or(line, |(oid, _)| oid);
            let object = cat
                .get(oid)
                .await?
                .ok_or_else(|| missing_commit_error(oid))?;
            let commit = RawCommit::parse(&object.data).ok_or_else(|| missing_commit_error(oid))?;
            if commit.parents.len() > 1 {
                continue;
            }
            let parent = commit.parents.first().copied();
            if parent == Some(tip.as_str()) {
                // The commit already has the right parent, so it is kept.
                tip = oid.to_owned();
                tip_tree = commit.tree.to_owned();
                continue;
            }
            // The commit is merged into the new tip as a cherry-pick. A temporary commit with the
            // new tree and the old parent makes the old parent the merge base.
            let stand_in = RawCommit {
                tree: &tip_tree,
                parents: parent.into_iter().collect(),
                author: what.committer,
                committer: what.committer,
                encoding: None,
                message: b"stand-in for a rebase\n",
            };
            let stand_in = self.put("commit", &stand_in.encode()).await?;
            let both = [stand_in.as_str(), oid];
            let merged = self.merge_by_attributes_of(what.base, both, parent.is_none());
            let tree = match merged.await? {
                Merged::Clean(tree) => tree,
                Merged::Conflicts(files) => {
                    let commit = oid.to_owned();
                    return Ok(Rebased::Conflicts { files, commit });
                }
            };
            let changed_something = match parent {
                Some(parent) => tree_of(cat, parent).await? != commit.tree,
                None => true,
            };
            if tree == tip_tree && changed_something {
                continue;
            }
            let again = RawCommit {
                tree: &tree,
                parents: vec![&tip],
                author: commit.author,
                committer: what.committer,
                encoding: commit.encoding,
                message: commit.message,
            };
            tip = self.put_landing_commit(&again, what.signing).await?;
            tip_tree = tree;
        }
        Ok(match tip == what.base {
            true => Rebased::Nothing,
            false => Rebased::Onto(tip),
        })
    }
}

async fn tree_of(cat: &mut CatFile, commit: &str) -> Result<String> {
    let info = cat.info(&format!("{commit}^{{tree}}")).await?;
    info.map(|i| i.oid)
        .ok_or_else(|| missing_commit_error(commit))
}

fn missing_commit_error(oid: &str) -> Error {
    Error::not_found(Noun::Commit, format!("the commit {oid} cannot be read"))
        .with_hint("run `git fsck`, which names the damaged objects")
}
