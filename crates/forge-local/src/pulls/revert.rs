//! Opens a pull request that reverts a merged one.

use forge_core::{
    Action, Error, ErrorKind, Hint, Noun, Op, Outcome, Precondition, Result,
    model::{CreatePull, MergeMethod, PrState, PullRequest, RevertPull},
    text,
};
use forge_git::{CatFile, Merged, RawCommit, command_line, signature};

use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    store::{StoredPull, branch_ref},
};

/// The change that a merge made to the base branch.
struct MergedRange<'a> {
    /// The tip of the base branch before the merge.
    onto: &'a str,
    /// The tip of the base branch after the merge.
    result: &'a str,
}

impl Local {
    pub(crate) async fn revert_pull(
        &self,
        number: u64,
        req: &RevertPull,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(body) = &req.body {
            LIMITS.check_text("body", body)?;
        }
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let merged = merged_range(&pull)?;
        let s = &pull.snapshot;
        let title = match &req.title {
            Some(title) => title.clone(),
            None => format!("Revert \"{}\"", s.title),
        };
        let title = LIMITS.check_title(&title)?.to_owned();
        let head = format!("revert-{number}-{}", s.head_branch);
        if cat.info(&branch_ref(&head)).await?.is_some() {
            return Err(self.reverted_before(&mut cat, number, &head).await);
        }
        let by = identity(self.user_git()).await?;
        let base = self.branch_tip(&mut cat, "base", &s.base_branch).await?;
        let tree = self
            .tree_without(&mut cat, &pull, &merged, &base, &by)
            .await?;
        let reverted = match s.merge_method {
            Some(MergeMethod::Rebase) => format!("commits {}..{}", merged.onto, merged.result),
            _ => format!("commit {}", merged.result),
        };
        let message = format!("{title}\n\nThis reverts {reverted}.\n");
        let who = signature(&by.actor, by.at);
        let commit = RawCommit {
            tree: &tree,
            parents: vec![base.as_str()],
            author: who.as_bytes(),
            committer: who.as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        };
        let commit = self
            .user_git()
            .put_landing_commit(&commit, &by.signing)
            .await?;
        let mut new = CreatePull::new(head, title);
        new.description = match &req.body {
            Some(body) => body.clone(),
            None => format!("Reverts #{number}"),
        };
        new.base = Some(s.base_branch.clone());
        new.draft = req.draft;
        self.open_pull(&new, Some(commit)).await
    }

    /// Returns the tree of the base branch after reverting the merge. Changes no ref.
    async fn tree_without(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        merged: &MergedRange<'_>,
        base: &str,
        by: &CommitIdentity,
    ) -> Result<String> {
        let number = pull.number;
        let branch = text::one_line(&pull.snapshot.base_branch);
        let nothing = |why: String| {
            Error::precondition(Precondition::NothingToMerge, why)
                .with_hint("look at the branch with `git log`")
        };
        if !self.git().contains(base, merged.result).await? {
            let merge = merged.result;
            return Err(nothing(format!(
                "#{number} cannot be reverted: '{branch}' does not have its merge {merge}"
            )));
        }
        let gone = || {
            Error::not_found(Noun::Commit, "an object of the merge is gone")
                .with_hint("look at the repository with `git fsck`")
        };
        let tree_of = |commit: &str| format!("{commit}^{{tree}}");
        let [onto, current] = [tree_of(merged.onto), tree_of(base)];
        let onto = cat.info(&onto).await?.ok_or_else(gone)?.oid;
        let current = cat.info(&current).await?.ok_or_else(gone)?.oid;
        // The revert is a three-way merge of the current base branch with the commit `back`, which
        // has the files from before the pull request was merged. The parent of `back` is the base
        // branch as it was right after that merge. This parent becomes the merge base, so the
        // three-way merge removes exactly the changes of the pull request.
        let who = signature(&by.actor, by.at);
        let back = RawCommit {
            tree: &onto,
            parents: vec![merged.result],
            author: who.as_bytes(),
            committer: who.as_bytes(),
            encoding: None,
            message: b"Before the merge\n",
        };
        let back = self.git().put("commit", &back.encode()).await?;
        let git = self.git().for_write();
        match git.merge_trees(base, &back, false).await? {
            Merged::Clean(tree) if tree == current => Err(nothing(format!(
                "#{number} cannot be reverted: '{branch}' has none of its changes"
            ))),
            Merged::Clean(tree) => Ok(tree),
            Merged::Conflicts(files) => {
                let named = files.iter().map(|f| text::one_line(f).into_owned());
                let named: Vec<String> = named.collect();
                let message = format!(
                    "#{number} cannot be reverted automatically: {} changed in '{branch}' since \
                     the merge; nothing was changed",
                    named.join(", ")
                );
                let hint = format!(
                    "run `git revert` of {} on a new branch, solve the conflicts, and open a pull \
                     request from that branch",
                    merged.result
                );
                Err(Error::precondition(Precondition::Conflicts(files), message).with_hint(hint))
            }
        }
    }

    /// Builds the error for a revert whose new branch already exists.
    async fn reverted_before(&self, cat: &mut CatFile, number: u64, head: &str) -> Error {
        let open = self.find_open(cat, |s| s.head_branch == head).await;
        let open = open.ok().flatten().map(|s| s.number);
        let shown = text::one_line(head);
        let message = format!(
            "#{number} cannot be reverted: the branch '{shown}', which a revert creates, already \
             exists"
        );
        let existing = open.map(|open| self.pr(open).to_string());
        let hint = match open {
            Some(open) => Hint::from(format!("look at #{open}, which reverts #{number}"))
                .with_action(Action::op(Op::PrView).on(open)),
            None => Hint::from(format!(
                "if the branch is not needed: {}",
                command_line(["git", "branch", "-D", head])
            )),
        };
        Error::new(ErrorKind::AlreadyExists { existing }, message).with_hint(hint)
    }
}

/// Returns the tips of the base branch before and after the merge. Refuses a pull request that is
/// not merged.
fn merged_range(pull: &StoredPull) -> Result<MergedRange<'_>> {
    let s = &pull.snapshot;
    let (why, state) = match (s.state, &s.merge_commit, &s.base_oid) {
        (PrState::Merged, Some(result), Some(onto)) => return Ok(MergedRange { onto, result }),
        (PrState::Merged, ..) => (
            Precondition::Merged,
            "its record does not say how it was merged",
        ),
        (PrState::Open, ..) => (Precondition::Open, "it is open, and not merged"),
        (PrState::Closed, ..) => (Precondition::Closed, "it is closed, and not merged"),
    };
    let message = format!("#{} cannot be reverted: {state}", pull.number);
    Err(Error::precondition(why, message).with_hint("name a pull request that was merged"))
}
