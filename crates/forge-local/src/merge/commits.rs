//! The commits that each method makes.

use forge_core::{Error, Noun, Precondition, Result, model::MergeReq, text};
use forge_git::CatFile;

use super::tree::{Merged, conflict};
use crate::{
    Local,
    ident::Identity,
    store::{Pull, RawCommit, signature},
};

impl Local {
    /// A commit with two parents.
    pub(super) async fn merge_commit(
        &self,
        pull: &Pull,
        req: &MergeReq,
        by: &Identity,
    ) -> Result<String> {
        let (base, head) = (pull.base()?, pull.head()?);
        let tree = self.clean(pull).await?;
        let s = &pull.snapshot;
        let subject = format!("Merge pull request #{} from {}", pull.number, s.head_branch);
        let message = message(req, subject, &s.title);
        self.commit(&tree, &[base, head], req, by, &message).await
    }

    /// One commit with all changes.
    pub(super) async fn squash_commit(
        &self,
        cat: &mut CatFile,
        pull: &Pull,
        req: &MergeReq,
        by: &Identity,
    ) -> Result<String> {
        let tree = self.clean(pull).await?;
        let body = match req.body {
            Some(_) => String::new(),
            None => {
                let commits = self.all_commits(cat, pull).await?;
                let lines: Vec<_> = commits
                    .iter()
                    .map(|c| format!("* {}", c.message_headline))
                    .collect();
                lines.join("\n")
            }
        };
        let subject = format!("{} (#{})", pull.snapshot.title, pull.number);
        let message = message(req, subject, &body);
        self.commit(&tree, &[pull.base()?], req, by, &message).await
    }

    /// Each commit again on top of the base; the last of them. Merges are left out, and so are
    /// commits whose change the base has.
    pub(super) async fn rebased(
        &self,
        cat: &mut CatFile,
        pull: &Pull,
        by: &Identity,
    ) -> Result<String> {
        let base = pull.base()?;
        let not_base = format!("^{base}");
        let args = [
            "rev-list",
            "--reverse",
            "--topo-order",
            "--no-merges",
            "--end-of-options",
        ];
        let args = args.into_iter().chain([pull.head()?, &not_base]);
        let listed = self.git().run_ok(args).await?;
        let who = signature(&by.actor, by.at);
        let mut tip = base.to_owned();
        let mut tip_tree = tree_of(cat, base).await?;
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
                author: who.as_bytes(),
                committer: who.as_bytes(),
                encoding: None,
                message: b"stand-in for a rebase\n",
            };
            let stand_in = self.store.put("commit", &stand_in.encode()).await?;
            let tree = match self.merge_trees(&stand_in, oid, parent.is_none()).await? {
                Merged::Clean(tree) => tree,
                Merged::Conflicts(files) => return Err(conflict(pull, files, Some(oid))),
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
                committer: who.as_bytes(),
                encoding: commit.encoding,
                message: commit.message,
            };
            tip = self.store.put("commit", &again.encode()).await?;
            tip_tree = tree;
        }
        if tip == base {
            return Err(Error::precondition(
                Precondition::NothingToMerge,
                format!(
                    "every change of #{} is in '{}' already, so a rebase leaves no commit",
                    pull.number,
                    text::one_line(&pull.snapshot.base_branch)
                ),
            )
            .with_hint(format!("close it with forge pr close {}", pull.number)));
        }
        Ok(tip)
    }

    /// The tree of a merge that does not conflict.
    async fn clean(&self, pull: &Pull) -> Result<String> {
        match self.merge_trees(pull.base()?, pull.head()?, false).await? {
            Merged::Clean(tree) => Ok(tree),
            Merged::Conflicts(files) => Err(conflict(pull, files, None)),
        }
    }

    async fn commit(
        &self,
        tree: &str,
        parents: &[&str],
        req: &MergeReq,
        by: &Identity,
        message: &str,
    ) -> Result<String> {
        let mut author = by.actor.clone();
        if let Some(email) = &req.author_email {
            author.email = Some(email.clone());
        }
        let commit = RawCommit {
            tree,
            parents: parents.to_vec(),
            author: signature(&author, by.at).as_bytes(),
            committer: signature(&by.actor, by.at).as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        }
        .encode();
        self.store.put("commit", &commit).await
    }
}

/// The message: what the request names, else the defaults.
fn message(req: &MergeReq, subject: String, body: &str) -> String {
    let subject = req.subject.clone().unwrap_or(subject);
    let body = req.body.as_deref().unwrap_or(body);
    // git ends a text at a NUL, and what follows would be lost.
    let message = match body.trim() {
        "" => format!("{}\n", subject.trim()),
        body => format!("{}\n\n{body}\n", subject.trim()),
    };
    message.replace('\0', "")
}

async fn tree_of(cat: &mut CatFile, commit: &str) -> Result<String> {
    let info = cat.info(&format!("{commit}^{{tree}}")).await?;
    info.map(|i| i.oid).ok_or_else(|| gone(commit))
}

fn gone(oid: &str) -> Error {
    Error::not_found(Noun::Commit, format!("the commit {oid} cannot be read"))
        .with_hint("git fsck names what is damaged")
}
