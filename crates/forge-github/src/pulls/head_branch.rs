//! Finds the repository of a pull request's head branch, and deletes the branch.

use forge_core::{
    Error, PrId, RepoId, Step, Warning,
    model::{CreatePull, PullRequest},
    text::one_line,
};
use serde_json::{Value, json};

use crate::{
    GitHub,
    gql::{mutation::DELETE_REF, selections, types as wire},
    mutate::or_read_back,
    owner_and_name,
};

/// Returns owner and name of the head's repository, if it is not `repo`.
pub(super) fn fork<'a>(repo: &'a RepoId, req: &'a CreatePull) -> Option<(&'a str, &'a str)> {
    let (owner, name) = owner_and_name(repo).ok()?;
    let head_owner = req.head.owner.as_deref()?;
    let head_name = req.head.repo.as_deref().unwrap_or(name);
    let same = head_owner.eq_ignore_ascii_case(owner) && head_name.eq_ignore_ascii_case(name);
    (!same).then_some((head_owner, head_name))
}

/// Quotes a branch name for a message, since the name may contain any character.
pub(super) fn quote_branch(branch: &str) -> String {
    format!("'{}'", one_line(branch))
}

impl GitHub {
    /// Like [`Self::delete_head`], for a closed pull request. Keeps a branch that has moved or is
    /// in a fork.
    pub(super) async fn delete_left_head(
        &self,
        pr: &PrId,
        pull: &PullRequest,
        before: &wire::Pull,
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> bool {
        if let Some(kept) = branch_kept_warning(pr, pull, before) {
            warnings.push(kept);
            return false;
        }
        self.delete_head(pr, before, steps, warnings).await
    }

    /// Deletes the head branch in a separate request after the change. In one document, GitHub
    /// would delete the branch even if the change failed.
    pub(super) async fn delete_head(
        &self,
        pr: &PrId,
        before: &wire::Pull,
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> bool {
        let name = "delete head branch".to_owned();
        let Some(head) = &before.head_ref else {
            warnings.push(Warning::new(format!(
                "the head branch of {pr} is gone already"
            )));
            return false;
        };
        let written = self
            .send_one::<Value>(DELETE_REF, json!({ "refId": head.id }))
            .await
            .map(drop);
        let gone = |e: &Error| e.is_not_found();
        let written = match written {
            Err(e) if gone(&e) => Ok(()),
            other => other,
        };
        let done = or_read_back(written, || async {
            let (now, _) = self.lookup(pr, selections::HEAD_BRANCH).await?;
            Ok(now.head_ref.is_none().then_some(()))
        })
        .await;
        steps.push(Step::new(name, done.is_ok()));
        match done {
            Ok(_) => true,
            Err(e) => {
                let warning = Warning::new(format!(
                    "the head branch could not be deleted: {}",
                    e.message()
                ));
                warnings.push(
                    warning.with_hint("delete it with `git push <remote> --delete <branch>`"),
                );
                false
            }
        }
    }
}

/// Returns the warning for a closed pull request whose branch is kept because it is in a fork or
/// has moved.
fn branch_kept_warning(pr: &PrId, pull: &PullRequest, wire: &wire::Pull) -> Option<Warning> {
    if wire.is_cross_repository {
        return Some(kept_in_fork(pr));
    }
    let tip = wire.head_ref.as_ref()?.target.as_ref();
    let tip = tip.and_then(|tip| tip.oid.0.as_ref());
    if tip.is_some() && tip == pull.head_oid.as_ref() {
        return None;
    }
    Some(head_moved_warning(
        &pull.head_branch,
        tip.map(String::as_str),
    ))
}

/// Returns the warning for a branch that is kept because it moved to `tip`.
pub(super) fn head_moved_warning(branch: &str, tip: Option<&str>) -> Warning {
    let tip = tip.unwrap_or("a commit that was not read");
    Warning::new(format!(
        "the branch {} was not deleted: it has moved to {tip}",
        quote_branch(branch)
    ))
    .with_hint("delete it with git if its commits are not needed")
}

/// Returns the warning for a branch that is kept because it is in someone else's repository.
pub(super) fn kept_in_fork(pr: &PrId) -> Warning {
    Warning::new(format!(
        "the head branch of {pr} is in a fork, and was kept"
    ))
}
