//! Commits edits of whole files on top of a branch, and checks the names of new branches.

use std::collections::BTreeMap;

use forge_core::{Error, Result, Warning, model::FileEdit, text};
use forge_git::{CatFile, RawCommit, TreeEntry, branch_problem, signature};

use crate::{Local, ident::CommitIdentity, store::branch_ref};

/// The branch to commit to, and its tip.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitTarget<'a> {
    pub branch: &'a str,
    pub oid: &'a str,
}

impl Local {
    /// Commits the edits on top of `onto`. Changes no ref. Returns the commit, and a warning about
    /// edits that change nothing.
    pub(super) async fn commit_edits(
        &self,
        onto: CommitTarget<'_>,
        edits: &[FileEdit],
        title: &str,
        by: &CommitIdentity,
    ) -> Result<(String, Option<Warning>)> {
        let git = self.git();
        let paths = |written: bool| -> Vec<&str> {
            let chosen = edits.iter().filter(|e| e.content.is_some() == written);
            chosen.map(|e| e.path.as_str()).collect()
        };
        let (written, deleted) = (paths(true), paths(false));
        let (there, going) = tokio::try_join!(
            git.tree_entries(onto.oid, &written),
            git.tree_entries(onto.oid, &deleted)
        )?;
        let mut modes = Vec::with_capacity(edits.len());
        for edit in edits {
            let entries = match edit.content {
                Some(_) => &there,
                None => &going,
            };
            let mode = entries.get(&edit.path).map(|e| e.mode);
            modes.push(edit.mode_on(onto.branch, mode)?);
        }
        let (mut changes, mut unchanged) = (BTreeMap::new(), Vec::new());
        for (edit, mode) in edits.iter().zip(modes) {
            let entry = match (mode, &edit.content) {
                (Some(mode), Some(content)) => {
                    let oid = self.git().put("blob", content).await?;
                    Some(TreeEntry { mode, oid })
                }
                _ => None,
            };
            if entry.is_some() && there.get(&edit.path) == entry.as_ref() {
                unchanged.push(edit);
            } else {
                changes.insert(edit.path.as_str(), entry);
            }
        }
        let left_out = FileEdit::check_unchanged(&unchanged, edits, onto.branch)?;
        let tree = git.make_tree(onto.oid, &changes).await?;
        let between = git.paths_between(onto.oid, &tree).await?;
        if let Some(other) = between.iter().find(|p| !changes.contains_key(p.as_str())) {
            return Err(FileEdit::path_conflict_error(other, onto.branch));
        }
        let who = signature(&by.actor, by.at);
        let message = format!("{title}\n");
        let commit = RawCommit {
            tree: &tree,
            parents: vec![onto.oid],
            author: who.as_bytes(),
            committer: who.as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        };
        let oid = self
            .user_git()
            .put_landing_commit(&commit, &by.signing)
            .await?;
        Ok((oid, left_out))
    }

    /// Refuses a branch name that is invalid or already in use.
    pub(super) async fn check_new_branch(&self, cat: &mut CatFile, branch: &str) -> Result<()> {
        let shown = text::one_line(branch).into_owned();
        if let Some(problem) = branch_problem(branch) {
            return Err(Error::invalid(
                "head",
                format!("'{shown}' is not a branch name: {problem}"),
            )
            .with_hint("pass another name for the new branch, or no name"));
        }
        if cat.info(&branch_ref(branch)).await?.is_some() {
            return Err(branch_exists_error(&shown, &shown));
        }
        // In git, a branch `a` excludes every branch `a/b`, so no prefix of the new name may be a
        // branch.
        let slashes = branch.match_indices('/');
        let above: Vec<&str> = slashes.filter_map(|(at, _)| branch.get(..at)).collect();
        for name in above {
            if cat.info(&branch_ref(name)).await?.is_some() {
                return Err(branch_exists_error(&shown, &text::one_line(name)));
            }
        }
        let below = format!("{}/", branch_ref(branch));
        let args = ["for-each-ref", "--count=1", "--format=%(refname:lstrip=2)"];
        let found = self
            .git()
            .run_ok(args.into_iter().chain([below.as_str()]))
            .await?;
        match String::from_utf8_lossy(&found).trim() {
            "" => Ok(()),
            other => Err(branch_exists_error(&shown, &text::one_line(other))),
        }
    }
}

fn branch_exists_error(branch: &str, other: &str) -> Error {
    let error = if branch == other {
        let message =
            format!("the branch '{branch}' already exists, and the changes need a new one");
        Error::branch_exists("head", message)
    } else {
        let message =
            format!("the branch '{branch}' cannot exist together with the branch '{other}'");
        Error::invalid("head", message)
    };
    error.with_hint("pass another name for the new branch, or no name")
}
