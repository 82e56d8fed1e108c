//! The state of a pull request's branches in git.

use forge_core::{Action, Error, Hint, Noun, Op, Precondition, Result, Warning, text};
use forge_git::{CatFile, RemoteBranch, command_line, quoted};

use crate::{
    Local,
    store::{StoredPull, branch_ref},
};

/// What this repository knows about the commit of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeCommit {
    /// The base branch has it, here or on a remote; or there is no base branch any more.
    OnBase,
    /// The base branch had it before, or the repository has no other place where it could be.
    Undone(String),
    /// It never was on the base branch of this clone, which may be older than the merge.
    NotFetched { commit: String, remote: String },
}

/// The merge bases of the head and the base of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeBases {
    One(String),
    /// The branches were merged into each other, so no merge base has all changes that they share.
    /// The diff from any of them to the head can lack changes that a merge brings.
    Several {
        preferred: String,
    },
}

impl MergeBases {
    /// Returns the commit to record with a pull request that is closed or merged. With several
    /// merge bases, nothing is recorded, and readers compute them again.
    pub fn into_recorded(self) -> Option<String> {
        match self {
            Self::One(oid) => Some(oid),
            Self::Several { .. } => None,
        }
    }
}

impl Local {
    pub(crate) async fn merge_bases_of(&self, pull: &StoredPull) -> Result<MergeBases> {
        if let Some(recorded) = pull.snapshot.merge_base.clone().filter(|_| !pull.is_open()) {
            return Ok(MergeBases::One(recorded));
        }
        let number = pull.number;
        let (base, head) = (pull.base()?, pull.head()?);
        let found = self.git().merge_bases(base, head).await.map_err(|e| {
            Error::not_found(
                Noun::Commit,
                format!(
                    "a commit that #{number} needs is gone ({base} or {head}): {}",
                    e.message()
                ),
            )
            .with_hint("fetch the commit from a repository that has it")
        })?;
        let is_only = found.len() == 1;
        match found.into_iter().next() {
            Some(oid) if is_only => Ok(MergeBases::One(oid)),
            Some(preferred) => Ok(MergeBases::Several { preferred }),
            None => Err(Error::not_found(
                Noun::Commit,
                format!("the head and the base of #{number} no longer share any history"),
            )
            .with_hint("one of the branches was rewritten: see git log on both")),
        }
    }

    /// Returns the error for a change that needs the head of `pull`, if a newer head is known: the
    /// remote has it, or an event of the pull request does. `None` if the head is the newest.
    pub(crate) async fn old_head_error(&self, pull: &StoredPull) -> Result<Option<Error>> {
        let branch = &pull.snapshot.head_branch;
        let Some(head) = pull.head_oid.as_deref().filter(|_| pull.head_exists) else {
            return Ok(None);
        };
        let remote = self.git().remote_branch(branch).await?;
        if let Some(remote) = &remote
            && remote.oid != head
        {
            let continues = self.git().contains(&remote.oid, head).await?;
            if continues || self.git().was_tip(&remote.name, head).await? {
                return Ok(Some(old_head(pull, head, remote, continues)));
            }
        }
        if !self.store.is_old_head(pull, head).await? {
            return Ok(None);
        }
        let shown = text::one_line(branch);
        let newer = pull.snapshot.head_oid.as_deref().unwrap_or_default();
        let from = remote.as_ref().map_or("REMOTE", |it| it.remote.as_str());
        let place = command_line(["git", "fetch", from, &format!("{branch}:{branch}")]);
        let message = format!(
            "the branch '{shown}' of #{} is at {head}, which is older than {newer}, the head of its \
             last event",
            pull.number
        );
        Ok(Some(
            Error::precondition(Precondition::Rule, message).with_hint(format!(
                "run `{place}` and review the newer commits; if the older head is meant, commit on \
                 it, or close #{0} and open another pull request",
                pull.number
            )),
        ))
    }

    /// Finds the commit of the merge of `pull`, which is merged.
    pub(crate) async fn find_merge_commit(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<MergeCommit> {
        let base = &pull.snapshot.base_branch;
        let own = branch_ref(base);
        let (Some(commit), Some(tip)) = (
            pull.snapshot.merge_commit.clone(),
            cat.info(&own).await?.map(|info| info.oid),
        ) else {
            return Ok(MergeCommit::OnBase);
        };
        if tip == commit || self.git().contains(&tip, &commit).await? {
            return Ok(MergeCommit::OnBase);
        }
        let Some(remote) = self.git().remote_branch(base).await? else {
            return Ok(MergeCommit::Undone(commit));
        };
        if self.git().contains(&remote.oid, &commit).await? {
            return Ok(MergeCommit::OnBase);
        }
        for name in [&own, &remote.name] {
            if self.git().was_tip(name, &commit).await? {
                return Ok(MergeCommit::Undone(commit));
            }
        }
        let remote = remote.remote;
        Ok(MergeCommit::NotFetched { commit, remote })
    }

    /// Returns a warning if `pull` is merged, and the base branch has not the commit of the merge.
    pub(crate) async fn missing_merge_warning(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Option<Warning>> {
        // A merge that is not recorded as done counts as done only if the base branch has it.
        if pull.snapshot.merge_commit.is_none() || pull.unrecorded_merge.is_some() {
            return Ok(None);
        }
        Ok(match self.find_merge_commit(cat, pull).await? {
            MergeCommit::OnBase => None,
            MergeCommit::Undone(commit) => {
                let warning = Warning::new(undone(pull, &commit));
                // In this section, the warning also keeps a merge from finishing late.
                Some(
                    warning
                        .with_hint(reopen_hint(pull.number))
                        .of_section("state"),
                )
            }
            MergeCommit::NotFetched { commit, remote } => {
                let base = &pull.snapshot.base_branch;
                let message = format!(
                    "#{} was merged as {commit}, but '{}' does not have this commit here",
                    pull.number,
                    text::one_line(base)
                );
                let fetch = format!(
                    "run `{}` and update {}",
                    command_line(["git", "fetch", &remote]),
                    quoted(base)
                );
                Some(Warning::new(message).with_hint(fetch))
            }
        })
    }

    /// Refuses a change of a merged pull request whose merge was undone.
    pub(crate) async fn refuse_undone_merge(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<()> {
        match self.find_merge_commit(cat, pull).await? {
            MergeCommit::OnBase | MergeCommit::NotFetched { .. } => Ok(()),
            MergeCommit::Undone(commit) => {
                let message = undone(pull, &commit);
                let error = Error::precondition(Precondition::Merged, message);
                Err(error.with_hint(reopen_hint(pull.number)))
            }
        }
    }

    /// Returns the state of the missing `branch`, and the hint that creates the branch: from its
    /// remote-tracking branch if this contains the recorded commit `oid`, otherwise at that commit.
    pub(crate) async fn explain_missing(
        &self,
        branch: &str,
        oid: &str,
    ) -> Result<(&'static str, String)> {
        Ok(match self.git().tracking_branch(branch, oid).await? {
            // The recorded commit may be older than the branch of the remote.
            Some(from) => (
                "is not in this repository",
                format!(
                    "create it with {}",
                    command_line(["git", "branch", branch, &from])
                ),
            ),
            None => (
                "is gone",
                format!(
                    "bring it back with {}",
                    command_line(["git", "branch", branch, oid])
                ),
            ),
        })
    }
}

fn old_head(pull: &StoredPull, head: &str, remote: &RemoteBranch, continues: bool) -> Error {
    let branch = &pull.snapshot.head_branch;
    let message = format!(
        "the branch '{}' of #{} is at {head}, which is older than {}, the branch of {}",
        text::one_line(branch),
        pull.number,
        remote.oid,
        text::one_line(&remote.remote)
    );
    let (force, pull_option) = match continues {
        true => ("", "--ff-only"),
        // The remote has another version of the same commits.
        false => ("+", "--rebase"),
    };
    let refspec = format!("{force}{branch}:{branch}");
    let fetch = command_line(["git", "fetch", &remote.remote, &refspec]);
    let pull_here = command_line(["git", "pull", pull_option]);
    Error::precondition(Precondition::Rule, message).with_hint(format!(
        "run `{fetch}` (where the branch is checked out: `{pull_here}`), review the newer commits, \
         and try again"
    ))
}

fn undone(pull: &StoredPull, commit: &str) -> String {
    format!(
        "#{} was merged as {commit}, but this commit is not on '{}' any more",
        pull.number,
        text::one_line(&pull.snapshot.base_branch)
    )
}

fn reopen_hint(number: u64) -> Hint {
    Hint::from(format!(
        "if the merge was undone on purpose, reopen #{number}"
    ))
    .with_action(Action::op(Op::PrReopen).on(number))
}
