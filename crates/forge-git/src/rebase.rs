//! Commits again on top of another one, without a work tree.

use forge_core::{Error, Noun, Result};

use crate::{CatFile, Git, Merged, RawCommit, Signing};

/// A rebase to make.
#[derive(Clone, Copy, Debug)]
pub struct Rebase<'a> {
    /// What the commits are put on, hex.
    pub base: &'a str,
    /// The last of them, hex.
    pub head: &'a str,
    /// Who makes the new ones: `Name <email> seconds offset`.
    pub committer: &'a [u8],
    /// How the new ones are signed.
    pub signing: &'a Signing,
}

/// What a rebase came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// The last of the new commits, hex.
    Onto(String),
    /// Every change is in the base already.
    Nothing,
    /// A commit does not apply; nothing but objects was written.
    Conflicts {
        /// The files, sorted.
        files: Vec<String>,
        /// The commit, hex.
        commit: String,
    },
}

impl Git {
    /// Each commit that `head` has and `base` has not, again on top of `base`. Merges are left out,
    /// and so are commits whose change the base has; commits that are made anew lose their signature
    /// and get the committer's, where the configuration asks for one. Only objects are written.
    ///
    /// # Errors
    /// `git` when one of them is not there; `not_found` for a damaged commit; those of
    /// [`Git::put_landing_commit`].
    pub async fn rebase(&self, cat: &mut CatFile, what: Rebase<'_>) -> Result<Rebased> {
        let not_base = format!("^{}", what.base);
        let args = [
            "rev-list",
            "--reverse",
            "--topo-order",
            "--no-merges",
            "--end-of-options",
            what.head,
            &not_base,
        ];
        let listed = self.run_ok(args).await?;
        let mut tip = what.base.to_owned();
        let mut tip_tree = tree_of(cat, what.base).await?;
        for oid in String::from_utf8_lossy(&listed).lines() {
            let object = cat.get(oid).await?.ok_or_else(|| gone(oid))?;
            let commit = RawCommit::parse(&object.data).ok_or_else(|| gone(oid))?;
            let parent = commit.parents.first().copied();
            if parent == Some(tip.as_str()) {
                // It stands where it would be put.
                tip = oid.to_owned();
                tip_tree = commit.tree.to_owned();
                continue;
            }
            // A commit of the new tree with the old parent makes that parent the merge base.
            let stand_in = RawCommit {
                tree: &tip_tree,
                parents: parent.into_iter().collect(),
                author: what.committer,
                committer: what.committer,
                encoding: None,
                message: b"stand-in for a rebase\n",
            };
            let stand_in = self.put("commit", &stand_in.encode()).await?;
            let tree = match self.merge_trees(&stand_in, oid, parent.is_none()).await? {
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
    info.map(|i| i.oid).ok_or_else(|| gone(commit))
}

fn gone(oid: &str) -> Error {
    Error::not_found(Noun::Commit, format!("the commit {oid} cannot be read"))
        .with_hint("git fsck names what is damaged")
}
